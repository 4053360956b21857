/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A mutual exclusion lock that spins before it sleeps. The device's lock is held for a few
 * microseconds, mostly for the length of a send. Sleeping for that long costs more. It also makes
 * the scheduler move threads that spin on a core each.
 *
 * Waiting threads have no order: any running thread can acquire a free lock. On a busy machine a
 * woken thread gets a processor some 30 ms later and finds the lock held again. A thread that has
 * waited for ADV_LOCK_STARVES therefore reserves the lock: the next release hands the lock to it,
 * and the other threads wait until the starving thread runs.
 */
#ifndef ADV_RUNTIME_PROGRESS_LOCK_H
#define ADV_RUNTIME_PROGRESS_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum adv_lock_state {
	ADV_LOCK_FREE,
	ADV_LOCK_TAKEN,
	ADV_LOCK_CONTENDED, /* taken, and threads may sleep for it */
	ADV_LOCK_OFFERED,   /* free for a thread that slept; see adv_lock_give_way() */
	ADV_LOCK_RESERVED,  /* free for a starving thread only */
};

struct adv_lock {
	_Atomic uint32_t state; /* enum adv_lock_state; a futex */
	atomic_uint starving;	/* threads that have waited for ADV_LOCK_STARVES */
	atomic_uint uses;	/* counts acquisitions; changed by the holder of the lock only */
};

#define ADV_LOCK_SPINS	     200      /* a few us; a preempted holder takes longer in any case */
#define ADV_LOCK_WOKEN_SPINS 2000     /* some 100 us: by then a yielding holder yields again */
#define ADV_LOCK_STARVES     10000000 /* ns */

static inline void adv_lock_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* Returns the number of acquisitions so far; it wraps around. Any thread. */
static inline uint32_t adv_lock_uses(const struct adv_lock *l)
{
	return atomic_load_explicit(&l->uses, memory_order_relaxed);
}

/* Adds to the number of acquisitions. -1: the holder has changed nothing, so its acquisition does
 * not count. */
static inline void adv_lock_count(struct adv_lock *l, int acquisitions)
{
	atomic_store_explicit(&l->uses, adv_lock_uses(l) + (uint32_t)acquisitions,
			      memory_order_relaxed);
}

/* Acquires the lock if it is free. False: it is not free. */
static inline bool adv_lock_try(struct adv_lock *l)
{
	uint32_t free_state = ADV_LOCK_FREE;

	if (!atomic_compare_exchange_strong_explicit(&l->state, &free_state, ADV_LOCK_TAKEN,
						     memory_order_acquire, memory_order_relaxed))
		return false;
	adv_lock_count(l, 1);
	return true;
}

/* True if a thread holds the lock, or the lock is being handed over to a thread. */
static inline bool adv_lock_is_taken(struct adv_lock *l)
{
	return atomic_load_explicit(&l->state, memory_order_relaxed) != ADV_LOCK_FREE;
}

/* For adv_lock_take(): spins, then sleeps, until this thread holds the lock. */
void adv_lock_wait(struct adv_lock *l);
/* For adv_lock_release(): hands the lock over or wakes a thread. */
void adv_lock_release_contended(struct adv_lock *l);
/* For adv_lock_give_way(): lets a sleeping thread hold the lock, then acquires the lock again. */
void adv_lock_give_way_contended(struct adv_lock *l);

static inline void adv_lock_take(struct adv_lock *l)
{
	if (!adv_lock_try(l))
		adv_lock_wait(l);
}

static inline void adv_lock_release(struct adv_lock *l)
{
	uint32_t taken = ADV_LOCK_TAKEN;

	if (!atomic_compare_exchange_strong_explicit(&l->state, &taken, ADV_LOCK_FREE,
						     memory_order_release, memory_order_relaxed))
		adv_lock_release_contended(l);
}

/*
 * Yields the lock, for a holder that holds it for long. If a thread sleeps for the lock, that
 * thread gets the lock first. A release and a new acquisition would not do: the woken thread would
 * always be too late. Returns with the lock held.
 */
static inline void adv_lock_give_way(struct adv_lock *l)
{
	if (atomic_load_explicit(&l->state, memory_order_relaxed) == ADV_LOCK_CONTENDED)
		adv_lock_give_way_contended(l);
}

#endif
