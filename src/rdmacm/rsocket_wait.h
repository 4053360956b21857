/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Waiting for a change of an rsocket, and waking the waiting threads. */
#ifndef ADV_RDMACM_RSOCKET_WAIT_H
#define ADV_RDMACM_RSOCKET_WAIT_H

#include "rdmacm/rsocket_state.h"

struct adv_rs_waker;

/* Microseconds of CLOCK_MONOTONIC. */
int64_t adv_rs_now(void);

/* Returns until when a call may wait: now + timeout_us (0: for ever); NOWAIT if flags or O_NONBLOCK
 * say so. */
int64_t adv_rs_deadline(const struct adv_rsocket *rs, int flags, int64_t timeout_us);

/*
 * One thread's interest in one rsocket, on its list of watches, which its lock covers. Never on a
 * stack: a signal handler may leave a sleeping call by longjmp().
 */
struct adv_rs_watch {
	struct adv_list link;
	struct adv_rs_waker *waker;
};

/* An eventfd, lent to a thread while it sleeps. */
struct adv_rs_waker {
	struct adv_rs_waker *next;
	int fd;
	atomic_bool signaled;
	struct adv_rs_watch watch; /* for a wait for one rsocket */
};

/* NULL and errno. */
struct adv_rs_waker *adv_rs_waker_get(void);
void adv_rs_waker_put(struct adv_rs_waker *waker);

/* In a child after fork(): the wakers are the parent's. */
void adv_rs_wakers_forget(void);

/* Wakes all threads that sleep on rs. Called after every change, with its lock held. */
void adv_rs_wake(struct adv_rsocket *rs);

/*
 * Call it when a non-blocking call has found nothing. A program that only makes such calls can keep
 * its peer on the same machine from running, so every few calls this yields the processor.
 */
void adv_rs_yield_if_idle(void);

/* Handles completions, and wakes other threads if anything changed. Lock held. */
void adv_rs_progress(struct adv_rsocket *rs);

/*
 * Makes the next completion raise an event at rs->channel. Call adv_rs_progress() once afterwards
 * for earlier completions. Lock held.
 */
void adv_rs_arm(struct adv_rsocket *rs);

/* Consumes the raised events. Lock held. */
void adv_rs_take_events(struct adv_rsocket *rs);

typedef bool adv_rs_test(struct adv_rsocket *rs);

/*
 * Waits until test() is true; lock held at entry and exit, but not between. 0; or -1 and EAGAIN at
 * the deadline, EINTR after a signal, EMFILE or ENOMEM if there is no waker.
 */
int adv_rs_wait(struct adv_rsocket *rs, adv_rs_test *test, int64_t deadline);

#endif
