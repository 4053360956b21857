/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Calls of the C library that wait for descriptors, of which some may be completion channels. Each
 * passes the call on. A wait is reported if it will block: if nothing is ready, and the caller
 * waits for any time at all. */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>

#include "base/sys.h"
#include "abi/check/call.h"
#include "abi/rules/events.h"

#define INTERPOSE __attribute__((visibility("default")))

/* Looks up the function behind this one, once. */
#define NEXT(pointer, name)                                                                        \
	do {                                                                                       \
		if (!(pointer))                                                                    \
			*(void **)&(pointer) = dlsym(RTLD_NEXT, name);                             \
	} while (0)

static bool is_watched(void)
{
	return adv_check_ever_armed_late() && !adv_check_is_inside();
}

/* ---- what a call waits for ---- */

struct poll_set {
	const struct pollfd *fds;
	nfds_t count;
};

static bool in_poll_set(int fd, const void *set)
{
	const struct poll_set *s = set;

	for (nfds_t i = 0; i < s->count; i++)
		if (s->fds[i].fd == fd && s->fds[i].events & POLLIN)
			return true;
	return false;
}

struct select_set {
	int count;
	const fd_set *fds;
};

static bool in_select_set(int fd, const void *set)
{
	const struct select_set *s = set;

	return s->fds && fd < s->count && FD_ISSET(fd, s->fds);
}

/* The kernel lists the members of an epoll set: "tfd:        5 events: ..." (proc(5)). */
static bool in_epoll_set(int fd, const void *epfd)
{
	char path[48], text[8192], wanted[32];
	size_t length = 0;
	ssize_t n;
	int info;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", *(const int *)epfd);
	snprintf(wanted, sizeof(wanted), "tfd: %8d ", fd);
	info = adv_sys_open(path, O_RDONLY | O_CLOEXEC);
	if (info < 0)
		return false;
	while ((n = adv_sys_read(info, text + length, sizeof(text) - 1 - length)) > 0)
		length += (size_t)n;
	adv_sys_close(info);
	text[length] = '\0';
	return strstr(text, wanted) != NULL;
}

static void report_wait(const char *name, bool (*contains)(int fd, const void *set),
			const void *set)
{
	int before = errno;
	struct adv_check_call call;

	adv_check_call_begin(&call, name);
	adv_check_waits(&call, contains, set);
	adv_check_unlock();
	errno = before;
}

static void report_poll(const char *name, struct pollfd *fds, nfds_t count)
{
	const struct poll_set set = {fds, count};

	if (adv_sys_poll(fds, (unsigned)count, 0) == 0)
		report_wait(name, in_poll_set, &set);
}

static void report_select(const char *name, int count, const fd_set *reads, const fd_set *writes)
{
	const struct select_set set = {count, reads};
	struct timespec now = {0};
	fd_set r, w;

	if (reads)
		r = *reads;
	if (writes)
		w = *writes;
	/* Not all architectures have select(2). */
	if (count <= FD_SETSIZE && syscall(SYS_pselect6, count, reads ? &r : NULL,
					   writes ? &w : NULL, NULL, &now, NULL) == 0)
		report_wait(name, in_select_set, &set);
}

/* Asks whether the set is ready by poll(2), because epoll_wait(2) would take an edge. */
static void report_epoll(int epfd)
{
	struct pollfd fd = {.fd = epfd, .events = POLLIN};

	if (adv_sys_poll(&fd, 1, 0) == 0)
		report_wait("epoll_wait", in_epoll_set, &epfd);
}

/* ---- the calls ---- */

INTERPOSE int poll(struct pollfd *fds, nfds_t count, int timeout)
{
	static int (*next)(struct pollfd *, nfds_t, int);

	NEXT(next, "poll");
	if (timeout && is_watched())
		report_poll("poll", fds, count);
	return next(fds, count, timeout);
}

INTERPOSE int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
		    const sigset_t *mask)
{
	static int (*next)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);

	NEXT(next, "ppoll");
	if ((!timeout || timeout->tv_sec || timeout->tv_nsec) && is_watched())
		report_poll("ppoll", fds, count);
	return next(fds, count, timeout, mask);
}

/* What poll() becomes with _FORTIFY_SOURCE. */
int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t size);

INTERPOSE int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t size)
{
	static int (*next)(struct pollfd *, nfds_t, int, size_t);

	NEXT(next, "__poll_chk");
	if (timeout && is_watched() && count <= size / sizeof(*fds))
		report_poll("poll", fds, count);
	return next(fds, count, timeout, size);
}

INTERPOSE int select(int count, fd_set *reads, fd_set *writes, fd_set *excepts,
		     struct timeval *timeout)
{
	static int (*next)(int, fd_set *, fd_set *, fd_set *, struct timeval *);

	NEXT(next, "select");
	if ((!timeout || timeout->tv_sec || timeout->tv_usec) && is_watched())
		report_select("select", count, reads, writes);
	return next(count, reads, writes, excepts, timeout);
}

INTERPOSE int pselect(int count, fd_set *reads, fd_set *writes, fd_set *excepts,
		      const struct timespec *timeout, const sigset_t *mask)
{
	static int (*next)(int, fd_set *, fd_set *, fd_set *, const struct timespec *,
			   const sigset_t *);

	NEXT(next, "pselect");
	if ((!timeout || timeout->tv_sec || timeout->tv_nsec) && is_watched())
		report_select("pselect", count, reads, writes);
	return next(count, reads, writes, excepts, timeout, mask);
}

INTERPOSE int epoll_wait(int epfd, struct epoll_event *events, int most, int timeout)
{
	static int (*next)(int, struct epoll_event *, int, int);

	NEXT(next, "epoll_wait");
	if (timeout && is_watched())
		report_epoll(epfd);
	return next(epfd, events, most, timeout);
}

INTERPOSE int epoll_pwait(int epfd, struct epoll_event *events, int most, int timeout,
			  const sigset_t *mask)
{
	static int (*next)(int, struct epoll_event *, int, int, const sigset_t *);

	NEXT(next, "epoll_pwait");
	if (timeout && is_watched())
		report_epoll(epfd);
	return next(epfd, events, most, timeout, mask);
}
