/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rpoll() and rselect(), for rsockets and ordinary descriptors together.
 *
 * Before a thread sleeps, it registers a watch with every rsocket and arms the rsocket's completion
 * queues. The thread sleeps on the completion channels, on the ordinary descriptors, and on its own
 * waker. Another thread that changes one of the rsockets signals the waker. Meanwhile the thread
 * receives for the first rsocket that has a channel: mostly, all have the same device.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>

#include "base/array.h"
#include "base/sys.h"
#include "base/export.h"
#include "abi/rsocket/cancel.h"
#include "abi/rsocket/config.h"
#include "abi/rsocket/state.h"
#include "abi/rsocket/table.h"
#include "abi/rsocket/wait.h"
#include "abi/verbs/wait.h"

#define ALWAYS (POLLERR | POLLHUP | POLLNVAL)

/* One call of rpoll(). */
struct polling {
	struct pollfd *fds;
	nfds_t count;
	struct pollfd *others; /* entries of the ordinary descriptors */
	nfds_t other_count;
	struct pollfd *real; /* descriptors to sleep on: an entry for each rsocket, and one for the
				waker; then room for adv_ibv_wait() */
	struct adv_rsocket **rs; /* NULL: an ordinary descriptor */
	struct adv_rs_watch *watches;
	struct adv_rs_waker *waker;
	struct adv_rsocket *receiver; /* the rsocket for which the sleeping thread receives; NULL:
					 none has a channel */
	struct adv_rs_sleep sleep;
	struct pollfd *of_sets; /* the caller's array, if the call is rselect() */
};

static short stream_events(struct adv_rsocket *rs)
{
	const struct adv_rs_stream *s = &rs->s;

	switch (s->state) {
	case ADV_RS_INIT:
	case ADV_RS_BOUND:
		return POLLOUT | POLLHUP;
	case ADV_RS_LISTENING:
		return adv_list_empty(&s->accepted) ? 0 : POLLIN | POLLRDNORM;
	case ADV_RS_CONNECTED:
		return (s->recv.bytes > 0 || !s->readable ? POLLIN | POLLRDNORM : 0) |
		       (s->readable ? 0 : POLLRDHUP) |
		       (!s->writable || adv_rs_stream_can_send(rs) ? POLLOUT | POLLWRNORM : 0);
	case ADV_RS_FAILED:
	case ADV_RS_BROKEN:
		return POLLIN | POLLRDNORM | POLLOUT | POLLWRNORM | POLLRDHUP | POLLHUP | POLLERR;
	case ADV_RS_DISCONNECTED:
		return POLLIN | POLLRDNORM | POLLOUT | POLLWRNORM | POLLRDHUP |
		       (s->recv.bytes > 0 ? 0
					  : POLLHUP); /* the end of the stream follows its data */
	default:
		return 0;
	}
}

/* Returns the poll events of an rsocket. Lock held. */
static short events_of(struct adv_rsocket *rs)
{
	adv_rs_progress(rs);
	if (rs->type == SOCK_STREAM)
		return stream_events(rs);
	return (!adv_list_empty(&rs->d.queued) || rs->d.read_shut ? POLLIN | POLLRDNORM : 0) |
	       (adv_rs_dgram_can_send(rs) || rs->d.write_shut ? POLLOUT | POLLWRNORM : 0);
}

/* Checks all descriptors once. Returns the number of descriptors with events, or -1. */
static int check_all(struct polling *p)
{
	int found = 0, others = 0;

	for (nfds_t i = 0; i < p->count; i++) {
		if (!p->rs[i])
			continue;
		pthread_mutex_lock(&p->rs[i]->lock);
		p->fds[i].revents = events_of(p->rs[i]) & (p->fds[i].events | ALWAYS);
		pthread_mutex_unlock(&p->rs[i]->lock);
		if (p->fds[i].revents)
			found++;
	}
	if (p->other_count == 0)
		return found;
	others = adv_sys_poll(p->others, (unsigned)p->other_count, 0);
	if (others < 0)
		return -1;
	for (nfds_t i = 0, next = 0; i < p->count; i++) {
		if (!p->rs[i])
			p->fds[i].revents = p->others[next++].revents;
	}
	return found + others;
}

/* Registers a watch with each rsocket. */
static void start_watching(struct polling *p)
{
	for (nfds_t i = 0; i < p->count; i++) {
		struct adv_rsocket *rs = p->rs[i];

		p->real[i] = (struct pollfd){.fd = p->fds[i].fd, .events = p->fds[i].events};
		if (!rs)
			continue;
		p->real[i] = (struct pollfd){.fd = -1, .events = POLLIN};
		p->watches[i].waker = p->waker;
		pthread_mutex_lock(&rs->lock);
		adv_list_add_tail(&rs->watches, &p->watches[i].link);
		adv_rs_arm(rs);
		if (rs->channel) {
			p->real[i].fd = rs->channel->fd;
			p->receiver = p->receiver ? p->receiver : rs;
		}
		pthread_mutex_unlock(&rs->lock);
	}
	p->real[p->count] = (struct pollfd){.fd = p->waker->fd, .events = POLLIN};
}

static void stop_watching(struct polling *p)
{
	for (nfds_t i = 0; i < p->count; i++) {
		struct adv_rsocket *rs = p->rs[i];

		if (!rs)
			continue;
		pthread_mutex_lock(&rs->lock);
		adv_list_del(&p->watches[i].link);
		adv_rs_take_events(rs, rs == p->receiver ? p->sleep.cq : NULL);
		if (rs == p->receiver)
			p->sleep.cq = NULL; /* fds may list an rsocket twice */
		pthread_mutex_unlock(&rs->lock);
	}
}

static void stop_sleeping(struct polling *p)
{
	stop_watching(p);
	adv_rs_waker_put(p->waker);
}

static void free_polling(struct polling *p)
{
	for (nfds_t i = 0; p->rs && i < p->count; i++) {
		if (p->rs[i])
			adv_rs_put(p->rs[i]);
	}
	free(p->others);
	free(p->real);
	free(p->rs);
	free(p->watches);
}

/* Ends the call of a thread that is cancelled while it sleeps. */
static void abandon_polling(void *arg)
{
	struct polling *p = arg;

	stop_sleeping(p);
	free_polling(p);
	free(p->of_sets);
}

/* Sleeps until something may have changed, at most until the deadline. 0 or errno. */
static int sleep_once(struct polling *p, int64_t deadline)
{
	int64_t longest = adv_rs_config()->wake_up_ms;
	int found, err = 0;

	p->waker = adv_rs_waker_get();
	if (!p->waker)
		return errno;
	p->receiver = NULL;
	p->sleep = (struct adv_rs_sleep){
		.fds = p->real,
		.count = (unsigned)p->count + 1,
		.abandon = abandon_polling,
		.arg = p,
	};
	start_watching(p);
	found = check_all(p); /* finds completions from before the queues were armed */
	if (found == 0) {
		if (deadline != ADV_RS_FOREVER) {
			int64_t left = (deadline - adv_rs_now() + 999) / 1000;

			longest = left < 0 ? 0 : left < longest ? left : longest;
		}
		p->sleep.timeout_ms = (int)longest;
		p->sleep.channel = p->receiver ? p->receiver->channel : NULL;
		if (adv_rs_sleep(&p->sleep) < 0)
			err = errno;
	}
	stop_sleeping(p);
	return err;
}

static int poll_loop(struct polling *p, int timeout_ms)
{
	int64_t start = adv_rs_now(), now;
	int64_t deadline = timeout_ms < 0 ? ADV_RS_FOREVER : start + timeout_ms * INT64_C(1000);
	int found, err = 0;

	for (;;) {
		found = check_all(p);
		if (found != 0)
			return found;
		if (err)
			return adv_rs_error(err);
		now = adv_rs_now();
		if (now >= deadline) {
			adv_rs_yield_if_idle();
			return 0;
		}
		if (now - start >= adv_rs_config()->polling_us)
			err = sleep_once(p, deadline);
	}
}

/* Waits for ordinary descriptors only. */
static int poll_others(struct polling *p, int timeout)
{
	struct adv_rs_sleep sleep = {
		.fds = p->fds,
		.count = (unsigned)p->count,
		.timeout_ms = timeout,
		.abandon = free,
		.arg = p->of_sets,
	};

	free_polling(p);
	return adv_rs_sleep(&sleep);
}

/* As rpoll(2). of_sets: memory that is freed if the thread is cancelled; NULL: none. */
static int poll_all(struct pollfd *fds, nfds_t nfds, int timeout, struct pollfd *of_sets)
{
	struct polling p = {.fds = fds, .count = nfds, .of_sets = of_sets};
	int ret = -1;

	if (nfds > INT_MAX / 2)
		return adv_rs_error(EINVAL);
	p.real = calloc(nfds + 1 + ADV_IBV_WAIT_ROOM, sizeof(*p.real));
	p.others = calloc(nfds + 1, sizeof(*p.others));
	p.rs = calloc(nfds + 1, sizeof(*p.rs));
	p.watches = calloc(nfds + 1, sizeof(*p.watches));
	if (p.real && p.others && p.rs && p.watches) {
		for (nfds_t i = 0; i < nfds; i++) {
			fds[i].revents = 0;
			p.rs[i] = fds[i].fd >= 0 ? adv_rs_find(fds[i].fd) : NULL;
			if (!p.rs[i])
				p.others[p.other_count++] = fds[i];
		}
		if (p.other_count == nfds)
			return poll_others(&p, timeout);
		ret = poll_loop(&p, timeout);
	}
	free_polling(&p);
	return ret;
}

ADV_EXPORT int rpoll(struct pollfd *fds, nfds_t nfds, int timeout)
{
	int ret;

	adv_rs_defer_cancel();
	ret = poll_all(fds, nfds, timeout, NULL);
	adv_rs_restore_cancel();
	return ret;
}

/* Fills fds with the descriptors below n that the sets contain. fds has room for n entries. Returns
 * the number of entries. */
static int sets_to_poll(struct pollfd *fds, int n, const fd_set *readfds, const fd_set *writefds,
			const fd_set *exceptfds)
{
	int count = 0;

	for (int fd = 0; fd < n; fd++) {
		short events = (readfds && FD_ISSET(fd, readfds) ? POLLIN : 0) |
			       (writefds && FD_ISSET(fd, writefds) ? POLLOUT : 0) |
			       (exceptfds && FD_ISSET(fd, exceptfds) ? POLLPRI : 0);

		if (events)
			fds[count++] = (struct pollfd){.fd = fd, .events = events};
	}
	return count;
}

/* Reduces the sets to the members that have the requested events. Any set may be NULL. Returns the
 * number of members left; or -1 if a descriptor was not open. */
static int poll_to_sets(const struct pollfd *fds, int count, fd_set *readfds, fd_set *writefds,
			fd_set *exceptfds, int n)
{
	fd_set *sets[] = {readfds, writefds, exceptfds};
	/* The poll events that each set requests, and those that it reports: select(2). */
	static const short asked[] = {POLLIN, POLLOUT, POLLPRI};
	static const short counts[] = {POLLIN | POLLHUP | POLLERR, POLLOUT | POLLERR, POLLPRI};
	int members = 0;

	for (int i = 0; i < count; i++) {
		if (fds[i].revents & POLLNVAL)
			return -1;
	}
	for (size_t s = 0; s < ADV_ARRAY_SIZE(sets); s++) {
		for (int fd = 0; sets[s] && fd < n; fd++)
			FD_CLR(fd, sets[s]);
		for (int i = 0; sets[s] && i < count; i++) {
			if ((fds[i].events & asked[s]) && (fds[i].revents & counts[s])) {
				FD_SET(fds[i].fd, sets[s]);
				members++;
			}
		}
	}
	return members;
}

static int to_milliseconds(const struct timeval *timeout)
{
	if (!timeout)
		return -1;
	if (timeout->tv_sec >= INT_MAX / 1000 - 1)
		return INT_MAX;
	return (int)(timeout->tv_sec * 1000 + (timeout->tv_usec + 999) / 1000);
}

ADV_EXPORT int rselect(int nfds, fd_set *readfds, fd_set *writefds, fd_set *exceptfds,
		       struct timeval *timeout)
{
	int64_t start = adv_rs_now(), left;
	struct pollfd *fds;
	int count, ret;

	if (nfds < 0 || nfds > FD_SETSIZE ||
	    (timeout && (timeout->tv_sec < 0 || timeout->tv_usec < 0)))
		return adv_rs_error(EINVAL);
	adv_rs_defer_cancel();
	fds = calloc((size_t)nfds + 1, sizeof(*fds));
	if (!fds) {
		adv_rs_restore_cancel();
		return -1;
	}
	count = sets_to_poll(fds, nfds, readfds, writefds, exceptfds);
	ret = poll_all(fds, (nfds_t)count, to_milliseconds(timeout), fds);
	if (ret >= 0) {
		ret = poll_to_sets(fds, count, readfds, writefds, exceptfds, nfds);
		if (ret < 0)
			errno = EBADF;
	}
	if (timeout) { /* stores the remaining time, as Linux does */
		left = timeout->tv_sec * INT64_C(1000000) + timeout->tv_usec -
		       (adv_rs_now() - start);
		left = left < 0 ? 0 : left;
		*timeout = (struct timeval){left / 1000000, left % 1000000};
	}
	free(fds);
	adv_rs_restore_cancel();
	return ret;
}
