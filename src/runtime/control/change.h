/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A count of changes on which threads sleep. A thread acquires the lock that protects the awaited
 * state. It reads the count and the state, releases the lock, and sleeps until the count differs.
 * So it misses no change. No function here is a cancellation point.
 */
#ifndef ADV_RUNTIME_CONTROL_CHANGE_H
#define ADV_RUNTIME_CONTROL_CHANGE_H

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"

struct adv_change {
	_Atomic uint32_t count;
};

/* Returns the count. */
static inline uint32_t adv_change_count(struct adv_change *c)
{
	return atomic_load(&c->count);
}

/* Wakes all threads that sleep on the count. */
static inline void adv_change_announce(struct adv_change *c)
{
	atomic_fetch_add(&c->count, 1);
	syscall(SYS_futex, &c->count, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* Blocks until the count is not `seen`, for at most ns. May return early. */
static inline void adv_change_wait(struct adv_change *c, uint32_t seen, uint64_t ns)
{
	struct timespec ts = adv_clock_timespec(ns);

	syscall(SYS_futex, &c->count, FUTEX_WAIT_PRIVATE, seen, &ts, NULL, 0);
}

#endif
