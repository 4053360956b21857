/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "daemon/daemon.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "daemon/descriptors.h"
#include "daemon/gid_publish.h"
#include "daemon/given.h"
#include "daemon/group.h"

#define OWN_DESCRIPTORS	  128u /* QP 1's sending sockets, and some */
#define OF_A_SLOT	  4u   /* its socket, its counters, and what its process connects */
#define LEAST_SLOTS	  16u
#define LEAST_DESCRIPTORS 64u
#define MOST_DESCRIPTORS  (1u << 20)

uint64_t adv_daemon_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

void adv_daemon_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGINT);
}

/* Binds the abstract name, which only one process can; listen() comes when all else stands. */
static int take_name(struct adv_daemon *d)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	size_t room = sizeof(a.sun_path) - 1;
	int n = d->system ? snprintf(a.sun_path + 1, room, "%s", ADV_CONTROL_NAME)
			  : snprintf(a.sun_path + 1, room, "%s-%u", ADV_CONTROL_NAME,
				     (unsigned)d->uid);
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);

	d->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (d->listener < 0)
		return errno;
	adv_given_refuse(d->listener);
	if (bind(d->listener, (void *)&a, len) == 0)
		return 0;
	return errno == EADDRINUSE ? EALREADY : errno;
}

/* Beside our own. */
static unsigned descriptors(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) < 0 || r.rlim_cur < OWN_DESCRIPTORS)
		return 0;
	return r.rlim_cur < MOST_DESCRIPTORS ? (unsigned)r.rlim_cur - OWN_DESCRIPTORS
					     : MOST_DESCRIPTORS;
}

unsigned adv_daemon_slots(void)
{
	unsigned n = descriptors() / OF_A_SLOT;

	return n < LEAST_SLOTS ? LEAST_SLOTS : n < ADV_SLOTS ? n : ADV_SLOTS;
}

unsigned adv_daemon_descriptors(void)
{
	unsigned n = descriptors(), slots = adv_daemon_slots();

	return n < slots + LEAST_DESCRIPTORS ? LEAST_DESCRIPTORS : n - slots;
}

static int make_tables(struct adv_daemon *d)
{
	struct adv_gid_page *page;
	void *p = mmap(NULL, sizeof(*d->ledger), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);

	if (p == MAP_FAILED)
		return errno;
	d->ledger = p;
	d->ledger->started_ms = adv_daemon_now();
	if (getrandom(d->ledger->instance, sizeof(d->ledger->instance), 0) < 0)
		return errno;
	page = adv_gid_publish_create(&d->table_fd);
	if (!page)
		return errno;
	d->gids = &page->table;
	d->senders = &page->senders;
	adv_gid_publish(d->gids);
	return 0;
}

int adv_daemon_found(struct adv_daemon *d, char *why, size_t why_len)
{
	int error;

	error = take_name(d);
	if (error == EALREADY)
		return error;
	if (error) {
		snprintf(why, why_len, "cannot bind the control socket: %s", strerror(error));
		return error;
	}
	error = make_tables(d);
	if (error == EFBIG) {
		snprintf(why, why_len,
			 "the limit for files (ulimit -f) leaves adverbd no room for its tables, "
			 "and "
			 "only root may lift it: start adverbd by hand where there is no such "
			 "limit");
		return error;
	}
	if (error) {
		snprintf(why, why_len, "cannot make the shared tables: %s", strerror(error));
		return error;
	}
	error = adv_group_create(d->socket, d->gids, why, why_len);
	if (error)
		return error;
	d->sockets = ADV_GROUP_FIRST;
	d->slots_most = adv_daemon_slots();
	if (listen(d->listener, ADV_CLIENTS_MAX) < 0) {
		error = errno;
		snprintf(why, why_len, "cannot listen: %s", strerror(error));
	}
	return error;
}

void adv_daemon_tell(struct adv_daemon *d, char verdict, const char *why)
{
	char said[1024];
	int n = snprintf(said, sizeof(said), "%c%s", verdict,
			 verdict == ADV_START_FAILED ? why : "");

	if (d->ready_fd < 0)
		return;
	if (n > (int)sizeof(said) - 1)
		n = sizeof(said) - 1;
	(void)!write(d->ready_fd, said, (size_t)n);
	close(d->ready_fd);
	d->ready_fd = -1;
}

void adv_daemon_release(struct adv_daemon *d)
{
	for (unsigned i = 0; i < d->sockets; i++)
		close(d->socket[i]);
	close(d->table_fd);
	close(d->listener);
}

static int compare_int(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

void adv_daemon_close_others(const struct adv_daemon *d, int also)
{
	int keep[ADV_SLOTS + 4];
	unsigned from = 3;
	size_t n = 0;

	for (unsigned i = 0; i < d->sockets; i++)
		keep[n++] = d->socket[i];
	keep[n++] = d->listener;
	keep[n++] = d->table_fd;
	keep[n++] = also;
	keep[n++] = d->ready_fd;
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
