/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Waiting for an rsocket to change, and telling those who wait. */
#ifndef ADV_RDMACM_RSOCKET_WAIT_H
#define ADV_RDMACM_RSOCKET_WAIT_H

#include "rdmacm/rsocket_state.h"

struct adv_rs_waker;

/* Microseconds of CLOCK_MONOTONIC. */
int64_t adv_rs_now(void);

/* Until when a call may wait: now + timeout_us (0: for ever); NOWAIT where flags or O_NONBLOCK say
 * so. */
int64_t adv_rs_deadline(const struct adv_rsocket *rs, int flags, int64_t timeout_us);

/*
 * One thread's interest in one rsocket. On its list of watches under its lock. Never on a stack: a
 * signal handler may leave a sleeping call by longjmp().
 */
struct adv_rs_watch {
	struct adv_list link;
	struct adv_rs_waker *waker;
};

/* An event descriptor, lent to a thread while it sleeps. */
struct adv_rs_waker {
	struct adv_rs_waker *next;
	int fd;
	atomic_bool signaled;
	struct adv_rs_watch watch; /* for who waits for one rsocket */
};

/* NULL and errno. */
struct adv_rs_waker *adv_rs_waker_get(void);
void adv_rs_waker_put(struct adv_rs_waker *waker);

/* In a child after fork(): the wakers are the parent's. */
void adv_rs_wakers_forget(void);

/* Wakes whoever sleeps on rs. Called after every change, with its lock held. */
void adv_rs_wake(struct adv_rsocket *rs);

/*
 * A call that does not wait has found nothing. A program that does nothing but such calls may keep
 * its peer on the same machine from running: every so often, the others are let on.
 */
void adv_rs_in_vain(void);

/* Handles what the hardware has completed; wakes others where that changed anything. Lock held. */
void adv_rs_progress(struct adv_rsocket *rs);

/*
 * Makes the next completion raise an event at rs->channel. What completed before is still to be
 * found with adv_rs_progress(), once. Lock held.
 */
void adv_rs_arm(struct adv_rsocket *rs);

/* Takes the events that have been raised. Lock held. */
void adv_rs_take_events(struct adv_rsocket *rs);

typedef bool adv_rs_test(struct adv_rsocket *rs);

/*
 * Waits, lock held at entry and exit but not between, until test() holds. 0; or -1 and EAGAIN at
 * the deadline, EINTR after a signal, EMFILE or ENOMEM where there is nothing to sleep on.
 */
int adv_rs_wait(struct adv_rsocket *rs, adv_rs_test *test, int64_t deadline);

#endif
