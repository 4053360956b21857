/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "abi/rsocket/table.h"

#include <errno.h>
#include <stdlib.h>

#include "base/sys.h"
#include "abi/rsocket/config.h"

#define CHUNK	1024
#define MAX_FD	(1 << 20)
#define CHUNKS	(MAX_FD / CHUNK)
#define PARENTS (&parents_mark)

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct adv_rsocket **chunks[CHUNKS];
/* The table's entry for a number whose rsocket belongs to the parent of this process. */
static struct adv_rsocket parents_mark;

int adv_rs_error(int err)
{
	errno = err;
	return -1;
}

/* Returns the table's entry for a number; NULL: there is none. If `make`, allocates it. Call it
 * with the table locked. */
static struct adv_rsocket **table_entry(int fd, bool make)
{
	if (fd < 0 || fd >= MAX_FD)
		return NULL;
	if (!chunks[fd / CHUNK] && make)
		chunks[fd / CHUNK] = calloc(CHUNK, sizeof(struct adv_rsocket *));
	return chunks[fd / CHUNK] ? &chunks[fd / CHUNK][fd % CHUNK] : NULL;
}

void adv_rs_table_forget(void)
{
	pthread_mutex_init(&table_lock, NULL);
	for (unsigned i = 0; i < CHUNKS; i++) {
		for (unsigned j = 0; chunks[i] && j < CHUNK; j++) {
			if (chunks[i][j])
				chunks[i][j] = PARENTS;
		}
	}
}

/*
 * The locks are recursive. A program may leave a call by longjmp() from a signal handler and then
 * close its rsockets; the close must not deadlock on a lock that the same thread still holds.
 */
static void init_locks(struct adv_rsocket *rs)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&rs->send_lock, &attr);
	pthread_mutex_init(&rs->recv_lock, &attr);
	pthread_mutex_init(&rs->lock, &attr);
	pthread_mutexattr_destroy(&attr);
}

struct adv_rsocket *adv_rs_new(int domain, int type, const struct adv_rs_ops *ops,
			       const struct adv_rs_options *from)
{
	const struct adv_rs_config *config = adv_rs_config();
	struct adv_rsocket *rs = calloc(1, sizeof(*rs));

	if (!rs)
		return NULL;
	rs->ops = ops;
	rs->fd = -1;
	rs->watched_fd = -1;
	rs->type = type;
	rs->domain = domain;
	atomic_init(&rs->refs, 1);
	init_locks(rs);
	adv_list_init(&rs->watches);
	rs->options = from ? *from
			   : (struct adv_rs_options){
				     .rcvbuf = config->rcvbuf,
				     .sndbuf = config->sndbuf,
				     .sq_size = config->sq_size,
				     .rq_size = config->rq_size,
				     .inline_size = config->inline_size,
				     .mappings = config->mappings,
				     .keepintvl = 75,
				     .keepcnt = 9,
			     };
	return rs;
}

int adv_rs_enter(struct adv_rsocket *rs, int fd)
{
	struct adv_rsocket **entry;

	pthread_mutex_lock(&table_lock);
	entry = table_entry(fd, true);
	if (entry) {
		adv_rs_hold(rs);
		rs->fd = fd;
		*entry = rs;
	}
	pthread_mutex_unlock(&table_lock);
	return entry ? 0 : adv_rs_error(fd >= MAX_FD ? EMFILE : ENOMEM);
}

struct adv_rsocket *adv_rs_find(int fd)
{
	struct adv_rsocket **entry;
	struct adv_rsocket *rs;

	pthread_mutex_lock(&table_lock);
	entry = table_entry(fd, false);
	rs = entry && *entry != PARENTS ? *entry : NULL;
	if (rs)
		adv_rs_hold(rs);
	pthread_mutex_unlock(&table_lock);
	return rs;
}

struct adv_rsocket *adv_rs_get(int fd)
{
	struct adv_rsocket *rs = adv_rs_find(fd);

	if (!rs)
		errno = EBADF;
	return rs;
}

struct adv_rsocket *adv_rs_take(int fd)
{
	struct adv_rsocket **entry;
	struct adv_rsocket *rs = NULL;

	pthread_mutex_lock(&table_lock);
	entry = table_entry(fd, false);
	if (entry && *entry != PARENTS) {
		rs = *entry;
		*entry = NULL;
	}
	pthread_mutex_unlock(&table_lock);
	return rs;
}

bool adv_rs_is_inherited(int fd)
{
	struct adv_rsocket **entry;
	bool inherited;

	pthread_mutex_lock(&table_lock);
	entry = table_entry(fd, false);
	inherited = entry && *entry == PARENTS;
	pthread_mutex_unlock(&table_lock);
	return inherited;
}

void adv_rs_forget_inherited(int fd)
{
	struct adv_rsocket **entry;

	pthread_mutex_lock(&table_lock);
	entry = table_entry(fd, false);
	if (entry && *entry == PARENTS) {
		*entry = NULL;
		adv_sys_close(fd);
	}
	pthread_mutex_unlock(&table_lock);
}

void adv_rs_hold(struct adv_rsocket *rs)
{
	atomic_fetch_add(&rs->refs, 1);
}

void adv_rs_put(struct adv_rsocket *rs)
{
	if (atomic_fetch_sub(&rs->refs, 1) != 1)
		return;
	rs->ops->destroy(rs);
	pthread_mutex_destroy(&rs->lock);
	pthread_mutex_destroy(&rs->recv_lock);
	pthread_mutex_destroy(&rs->send_lock);
	free(rs);
}
