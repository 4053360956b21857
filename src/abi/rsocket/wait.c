/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "abi/rsocket/wait.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include "base/clock.h"
#include "base/signals.h"
#include "base/sys.h"
#include "abi/rsocket/cancel.h"
#include "abi/rsocket/config.h"
#include "abi/rsocket/table.h"
#include "abi/verbs/wait.h"

#define CALLS_TO_YIELD 16

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static struct adv_rs_waker *pool;

int64_t adv_rs_now(void)
{
	return (int64_t)(adv_clock_ns() / 1000);
}

int64_t adv_rs_deadline(const struct adv_rsocket *rs, int flags, int64_t timeout_us)
{
	if ((flags & MSG_DONTWAIT) || adv_rs_nonblocking(rs))
		return ADV_RS_NOWAIT;
	return timeout_us > 0 ? adv_rs_now() + timeout_us : ADV_RS_FOREVER;
}

void adv_rs_yield_if_idle(void)
{
	static __thread unsigned calls;

	if (++calls % CALLS_TO_YIELD == 0)
		sched_yield();
}

struct adv_rs_waker *adv_rs_waker_get(void)
{
	struct adv_rs_waker *waker;

	pthread_mutex_lock(&pool_lock);
	waker = pool;
	if (waker)
		pool = waker->next;
	pthread_mutex_unlock(&pool_lock);
	if (waker)
		return waker;
	waker = calloc(1, sizeof(*waker));
	if (!waker)
		return NULL;
	waker->fd = adv_sys_eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (waker->fd < 0) {
		free(waker);
		return NULL;
	}
	waker->watch.waker = waker;
	return waker;
}

void adv_rs_waker_put(struct adv_rs_waker *waker)
{
	uint64_t count;

	if (atomic_exchange(&waker->signaled, false))
		(void)!adv_sys_read(waker->fd, &count, sizeof(count));
	pthread_mutex_lock(&pool_lock);
	waker->next = pool;
	pool = waker;
	pthread_mutex_unlock(&pool_lock);
}

void adv_rs_wakers_forget(void)
{
	pthread_mutex_init(&pool_lock, NULL);
	while (pool) {
		struct adv_rs_waker *waker = pool;

		pool = waker->next;
		adv_sys_close(waker->fd);
		free(waker);
	}
}

void adv_rs_wake(struct adv_rsocket *rs)
{
	const uint64_t one = 1;

	adv_list_for_each(struct adv_rs_watch, watch, &rs->watches, link) {
		if (!atomic_exchange(&watch->waker->signaled, true))
			(void)!adv_sys_write(watch->waker->fd, &one, sizeof(one));
	}
}

void adv_rs_progress(struct adv_rsocket *rs)
{
	if (rs->ops->progress(rs))
		adv_rs_wake(rs);
}

void adv_rs_arm(struct adv_rsocket *rs)
{
	if (rs->armed || !rs->channel)
		return;
	rs->armed = rs->ops->arm(rs);
}

void adv_rs_take_events(struct adv_rsocket *rs, struct ibv_cq *taken)
{
	struct ibv_cq *cq;
	void *context;

	if (taken) {
		ibv_ack_cq_events(taken, 1);
		rs->armed = false;
	}
	if (!rs->channel || !rs->armed)
		return;
	while (ibv_get_cq_event(rs->channel, &cq, &context) == 0) {
		ibv_ack_cq_events(cq, 1);
		rs->armed = false;
	}
}

/* A thread that sleeps on an rsocket. */
struct sleeper {
	struct adv_rsocket *rs;
	struct adv_rs_waker *waker;
};

/* Ends the call of a thread that is cancelled while it sleeps. */
static void abandon_sleep(void *arg)
{
	const struct sleeper *s = arg;

	pthread_mutex_lock(&s->rs->lock);
	adv_list_del(&s->waker->watch.link);
	adv_rs_waker_put(s->waker);
	adv_rs_abandon(s->rs);
}

/* Sleeps once. Call it with the lock held; it releases the lock while it sleeps. 0 or errno. */
static int sleep_once(struct adv_rsocket *rs, adv_rs_test *test, int64_t deadline)
{
	struct adv_rs_waker *waker = adv_rs_waker_get();
	int64_t longest = adv_rs_config()->wake_up_ms;
	struct sleeper sleeper = {rs, waker};
	struct pollfd fds[2 + ADV_IBV_WAIT_ROOM];
	struct adv_rs_sleep sleep = {
		.fds = fds,
		.count = 1,
		.channel = rs->channel,
		.abandon = abandon_sleep,
		.arg = &sleeper,
	};
	int err = 0;

	if (!waker)
		return errno;
	adv_list_add_tail(&rs->watches, &waker->watch.link);
	adv_rs_arm(rs);
	adv_rs_progress(rs);
	if (!test(rs) && !atomic_load(&waker->signaled)) {
		if (deadline != ADV_RS_FOREVER && (deadline - adv_rs_now()) / 1000 < longest)
			longest = (deadline - adv_rs_now() + 999) / 1000;
		fds[0] = (struct pollfd){.fd = waker->fd, .events = POLLIN};
		if (rs->channel)
			fds[sleep.count++] =
				(struct pollfd){.fd = rs->channel->fd, .events = POLLIN};
		sleep.timeout_ms = (int)longest;
		pthread_mutex_unlock(&rs->lock);
		if (longest > 0 && adv_rs_sleep(&sleep) < 0)
			err = errno;
		pthread_mutex_lock(&rs->lock);
	}
	adv_list_del(&waker->watch.link);
	adv_rs_waker_put(waker);
	adv_rs_take_events(rs, sleep.cq);
	return err;
}

/* True if a wait goes on after an error of its sleep: as the kernel's calls on sockets, which no
 * handler with SA_RESTART ends unless they have a timeout (signal(7)). */
static bool goes_on(int err, int64_t deadline)
{
	return err == EINTR && deadline == ADV_RS_FOREVER && !adv_signals_may_interrupt();
}

int adv_rs_wait(struct adv_rsocket *rs, adv_rs_test *test, int64_t deadline)
{
	int64_t spin_until = 0;
	int err = 0;

	for (;;) {
		int64_t now;

		adv_rs_progress(rs);
		if (test(rs))
			return 0;
		if (err)
			return adv_rs_error(err);
		if (deadline == ADV_RS_NOWAIT) {
			adv_rs_yield_if_idle();
			return adv_rs_error(EAGAIN);
		}
		now = adv_rs_now();
		if (now >= deadline)
			return adv_rs_error(EAGAIN);
		if (!spin_until)
			spin_until = now + adv_rs_config()->polling_us;
		if (now < spin_until && rs->channel) {
			pthread_mutex_unlock(&rs->lock);
			pthread_mutex_lock(&rs->lock);
		} else {
			err = sleep_once(rs, test, deadline);
			if (goes_on(err, deadline))
				err = 0;
		}
	}
}
