/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/daemon/daemon.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"
#include "runtime/keeper/carrier.h"
#include "runtime/keeper/counters_file.h"
#include "runtime/keeper/descriptors.h"
#include "runtime/steering/gid_publish.h"
#include "runtime/keeper/given.h"
#include "runtime/steering/group.h"
#include "runtime/keeper/sealed.h"

/* Descriptors of the daemon itself: those of QP1's sending sockets, and others. */
#define OWN_DESCRIPTORS 128u
/* Descriptors for each slot: its socket, its counters, its process's connections. */
#define OF_A_SLOT	  4u
#define LEAST_SLOTS	  16u
#define LEAST_DESCRIPTORS 64u
#define MOST_DESCRIPTORS  (1u << 20)

void adv_daemon_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGINT);
}

static socklen_t make_name(const struct adv_daemon *d, const char *suffix, struct sockaddr_un *a)
{
	size_t room = sizeof(a->sun_path) - 1;
	int n;

	memset(a, 0, sizeof(*a));
	a->sun_family = AF_UNIX;
	if (d->system)
		n = snprintf(a->sun_path + 1, room, "%s", ADV_CONTROL_NAME);
	else
		n = snprintf(a->sun_path + 1, room, "%s-%u%s", ADV_CONTROL_NAME, (unsigned)d->uid,
			     suffix);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

/* Makes a socket with the abstract name for `suffix`. 0 or errno. */
static int bind_name(const struct adv_daemon *d, const char *suffix, int *fd)
{
	struct sockaddr_un a;
	socklen_t len = make_name(d, suffix, &a);
	int error;

	*fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*fd < 0)
		return errno;
	adv_given_refuse(*fd);
	if (bind(*fd, (void *)&a, len) == 0)
		return 0;
	error = errno;
	close(*fd);
	*fd = -1;
	return error;
}

/* True if another daemon holds the name and listens, even if its queue of connections is full. */
static bool another_listens(const struct adv_daemon *d)
{
	struct sockaddr_un a;
	socklen_t len = make_name(d, "", &a);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool listens = fd >= 0 && (connect(fd, (void *)&a, len) == 0 || errno == EAGAIN);

	if (fd >= 0)
		close(fd);
	return listens;
}

static int already_runs(char *why, size_t why_len)
{
	snprintf(why, why_len, "already running in this network namespace");
	return EALREADY;
}

int adv_daemon_take_name(struct adv_daemon *d, char *why, size_t why_len)
{
	int error;

	if (d->listener_passed) {
		adv_given_refuse(d->listener);
		return 0;
	}
	error = bind_name(d, "", &d->listener);
	if (error == EADDRINUSE)
		return already_runs(why, why_len);
	if (error)
		snprintf(why, why_len, "cannot bind the control socket: %s", strerror(error));
	return error;
}

/* Fails if clients still hold sockets of an earlier daemon. */
static int take_marker(struct adv_daemon *d, char *why, size_t why_len)
{
	int error = d->system ? 0 : bind_name(d, ADV_CONTROL_NAME_ESTATE, &d->marker);

	if (error == EADDRINUSE && another_listens(d))
		return already_runs(why, why_len);
	if (error == EADDRINUSE) {
		snprintf(why, why_len,
			 "programs of an adverbd that has died hold UDP port %d, and start another "
			 "adverbd: wait for it, or end these programs (@%s-%u%s in /proc/net/unix)",
			 ADV_ROCE_UDP_PORT, ADV_CONTROL_NAME, (unsigned)d->uid,
			 ADV_CONTROL_NAME_ESTATE);
		return EBUSY;
	}
	if (error)
		snprintf(why, why_len, "cannot bind a socket: %s", strerror(error));
	return error;
}

/* Returns the number of descriptors that this process may have in addition to its own. */
static unsigned other_descriptors(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) < 0 || r.rlim_cur < OWN_DESCRIPTORS)
		return 0;
	return r.rlim_cur < MOST_DESCRIPTORS ? (unsigned)r.rlim_cur - OWN_DESCRIPTORS
					     : MOST_DESCRIPTORS;
}

/* Returns the number of sockets of the group that the limit of descriptors allows. Each such socket
 * needs further descriptors. */
static unsigned slots_allowed(void)
{
	unsigned n = other_descriptors() / OF_A_SLOT;

	return n < LEAST_SLOTS ? LEAST_SLOTS : n < ADV_SLOTS ? n : ADV_SLOTS;
}

unsigned adv_daemon_descriptors(void)
{
	unsigned n = other_descriptors(), slots = slots_allowed();

	return n < slots + LEAST_DESCRIPTORS ? LEAST_DESCRIPTORS : n - slots;
}

static int make_ledger(struct adv_daemon *d)
{
	d->ledger = adv_sealed_make("adverb-ledger", sizeof(*d->ledger), &d->ledger_fd);
	/* The file may exceed `ulimit -f`. The ledger is then anonymous memory, and no later daemon
	 * can continue with it. */
	if (!d->ledger)
		d->ledger = mmap(NULL, sizeof(*d->ledger), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (d->ledger == MAP_FAILED)
		return errno;
	d->ledger->started_ms = adv_clock_ms();
	d->ledger->linger_ms = d->linger_ms;
	if (getrandom(d->ledger->instance, sizeof(d->ledger->instance), 0) < 0)
		return errno;
	return 0;
}

int adv_daemon_make_tables(struct adv_daemon *d, char *why, size_t why_len)
{
	struct adv_gid_page *page;
	int error = make_ledger(d);

	if (!error) {
		page = adv_gid_publish_create(&d->table_fd);
		error = page ? 0 : errno;
	}
	if (!error) {
		d->gids = &page->table;
		d->senders = &page->senders;
		if (!d->pkeys.count)
			adv_pkey_table_default(&d->pkeys);
		d->gids->pkeys = d->pkeys;
	}
	if (error == EFBIG)
		snprintf(why, why_len,
			 "the limit for files (ulimit -f) leaves adverbd no room for its tables, "
			 "and "
			 "only root may raise it: start adverbd by hand without this limit");
	else if (error)
		snprintf(why, why_len, "cannot make the shared tables: %s", strerror(error));
	return error;
}

int adv_daemon_open(struct adv_daemon *d, char *why, size_t why_len)
{
	int error;

	d->slots_most = slots_allowed();
	/* Another listen() would make this process the one that clients trust or not (SO_PEERCRED).
	 */
	if (d->listener_passed)
		return 0;
	if (listen(d->listener, ADV_CLIENTS_MAX) < 0) {
		error = errno;
		snprintf(why, why_len, "cannot listen: %s", strerror(error));
		return error;
	}
	return 0;
}

int adv_daemon_create(struct adv_daemon *d, char *why, size_t why_len)
{
	int error = take_marker(d, why, why_len);

	if (!error)
		error = adv_daemon_take_name(d, why, why_len);
	if (!error)
		error = adv_daemon_make_tables(d, why, why_len);
	if (error)
		return error;
	adv_counters_file_load(d->listener, d->ledger->counted);
	adv_gid_publish(d->gids);
	error = adv_group_create(d->socket, d->gids, why, why_len);
	if (error)
		return error;
	d->sockets = ADV_GROUP_FIRST;
	(void)adv_carrier_create(d);
	return adv_daemon_open(d, why, why_len);
}

void adv_daemon_drop_names(struct adv_daemon *d)
{
	if (d->marker >= 0)
		close(d->marker);
	if (d->listener >= 0)
		close(d->listener);
	d->marker = d->listener = -1;
}

void adv_daemon_report(struct adv_daemon *d, char verdict, const char *why)
{
	char said[1024];
	int n = snprintf(said, sizeof(said), "%c%s", verdict,
			 verdict == ADV_START_FAILED || verdict == ADV_START_WAIT ? why : "");

	if (d->ready_fd < 0)
		return;
	if (n > (int)sizeof(said) - 1)
		n = sizeof(said) - 1;
	(void)!write(d->ready_fd, said, (size_t)n);
	close(d->ready_fd);
	d->ready_fd = -1;
}

void adv_daemon_cannot_start(struct adv_daemon *d, int error)
{
	char why[160];

	snprintf(why, sizeof(why), "adverbd cannot begin to serve: %s%s", strerror(error),
		 error == EMFILE ? ": raise the limit (ulimit -n 1024)" : "");
	adv_error("%s", why);
	adv_daemon_report(d, ADV_START_FAILED, why);
}

void adv_daemon_release(struct adv_daemon *d)
{
	if (!atomic_load(&d->ledger->handed))
		adv_carrier_empty(d);
	for (unsigned i = 0; i < d->sockets; i++)
		close(d->socket[i]);
	if (d->carrier.queue >= 0) {
		close(d->carrier.queue);
		close(d->carrier.feed);
	}
	close(d->table_fd);
	if (d->ledger_fd >= 0)
		close(d->ledger_fd);
	adv_daemon_drop_names(d);
}

static int compare_int(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

void adv_daemon_close_others(const struct adv_daemon *d, int also)
{
	const int others[] = {d->listener, d->table_fd,	     d->ledger_fd,    d->marker,
			      d->ready_fd, d->carrier.queue, d->carrier.feed, also};
	int keep[ADV_SLOTS + ADV_ARRAY_SIZE(others)];
	unsigned from = 3;
	size_t n = d->sockets;

	memcpy(keep, d->socket, n * sizeof(keep[0]));
	memcpy(keep + n, others, sizeof(others));
	n += ADV_ARRAY_SIZE(others);
	qsort(keep, n, sizeof(keep[0]), compare_int);
	for (size_t i = 0; i < n; i++) {
		if (keep[i] < (int)from)
			continue;
		if ((unsigned)keep[i] > from)
			adv_close_range(from, (unsigned)keep[i] - 1);
		from = (unsigned)keep[i] + 1;
	}
	adv_close_range(from, ~0u);
}
