/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Waiting for a change of an rsocket, and waking the waiting threads. */
#ifndef ADV_ABI_RSOCKET_WAIT_H
#define ADV_ABI_RSOCKET_WAIT_H

#include "abi/rsocket/state.h"

struct adv_rs_waker;

/* Returns the time of CLOCK_MONOTONIC, us. */
int64_t adv_rs_now(void);

/* Returns the deadline of a call: now + timeout_us; for timeout_us 0, ADV_RS_FOREVER. Returns
 * ADV_RS_NOWAIT if flags contain MSG_DONTWAIT or the rsocket is non-blocking. */
int64_t adv_rs_deadline(const struct adv_rsocket *rs, int flags, int64_t timeout_us);

/*
 * One thread's wait for changes of one rsocket. It is on the rsocket's list `watches`, which the
 * rsocket's lock covers. It is never on a stack: a signal handler may leave a sleeping call by
 * longjmp().
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
	struct adv_rs_watch watch; /* used by a wait for a single rsocket */
};

/* Lends a waker to the calling thread. NULL and errno. */
struct adv_rs_waker *adv_rs_waker_get(void);
void adv_rs_waker_put(struct adv_rs_waker *waker);

/* Forgets all wakers, in a child after fork(): they belong to the parent. */
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

/* Consumes the raised events. taken: the CQ of an event that adv_rs_sleep() took, or NULL. Lock
 * held. */
void adv_rs_take_events(struct adv_rsocket *rs, struct ibv_cq *taken);

typedef bool adv_rs_test(struct adv_rsocket *rs);

/*
 * Waits until test() is true. Call it with the lock held; the wait releases the lock. 0; or -1 and
 * EAGAIN at the deadline, EMFILE or ENOMEM if there is no waker, EINTR after a signal, unless the
 * deadline is ADV_RS_FOREVER and all handlers that can run in the thread have SA_RESTART.
 */
int adv_rs_wait(struct adv_rsocket *rs, adv_rs_test *test, int64_t deadline);

#endif
