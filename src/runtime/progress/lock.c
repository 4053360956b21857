/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The part of the lock in which threads sleep. */
#include "runtime/progress/lock.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

/* The longest time for which the lock is reserved for a starving thread. A thread that does not
 * acquire the lock by then has left the call by longjmp() from a signal handler. */
static const struct timespec reserved_longest = {1, 0};
/* The longest time for which a holder that yields the lock waits until the woken thread gets a
 * processor. */
static const struct timespec offered_longest = {0, 1000000};

/* Wakes at most `threads` sleeping threads. Returns the number of woken threads. */
static long wake_threads(struct adv_lock *l, int threads)
{
	return syscall(SYS_futex, &l->state, FUTEX_WAKE_PRIVATE, threads, NULL, NULL, 0);
}

/* Sleeps while the state is `state`. If longest is NULL, sleeps without a limit. False: the time
 * `longest` has passed. */
static bool sleep_while(struct adv_lock *l, uint32_t state, const struct timespec *longest)
{
	return syscall(SYS_futex, &l->state, FUTEX_WAIT_PRIVATE, state, longest, NULL, 0) == 0 ||
	       errno != ETIMEDOUT;
}

/* Acquires the lock for a thread that has slept. Other threads may sleep as well, so the lock
 * becomes contended. False: the state has changed. */
static bool take_from(struct adv_lock *l, uint32_t state)
{
	return atomic_compare_exchange_strong_explicit(&l->state, &state, ADV_LOCK_CONTENDED,
						       memory_order_acquire, memory_order_relaxed);
}

static bool may_take(uint32_t state, bool starving)
{
	return state == ADV_LOCK_FREE || state == ADV_LOCK_OFFERED ||
	       (state == ADV_LOCK_RESERVED && starving);
}

/* Spins until this woken thread can acquire the lock. A holder that yields may have acquired the
 * lock again before this thread got a processor; it soon yields again. */
static void spin_until_open(struct adv_lock *l)
{
	for (unsigned i = 0; i < ADV_LOCK_WOKEN_SPINS; i++) {
		uint32_t state = atomic_load_explicit(&l->state, memory_order_relaxed);

		if (state == ADV_LOCK_FREE || state >= ADV_LOCK_OFFERED)
			return;
		adv_lock_pause();
	}
}

/* Makes the release of the lock wake this thread. False: the state was not ADV_LOCK_TAKEN. */
static bool mark_contended(struct adv_lock *l)
{
	uint32_t taken = ADV_LOCK_TAKEN;

	return atomic_compare_exchange_strong_explicit(&l->state, &taken, ADV_LOCK_CONTENDED,
						       memory_order_relaxed, memory_order_relaxed);
}

/* With the lock held: removes this thread from the count of starving threads. Another thread may
 * have reset the count to 0. */
static void stop_starving(struct adv_lock *l)
{
	unsigned count = atomic_load(&l->starving);

	while (count && !atomic_compare_exchange_weak(&l->starving, &count, count - 1))
		;
}

/* Waits while the lock is reserved for another thread. True: that thread did not acquire the lock
 * in time, and the caller holds it now. */
static bool outwait_reservation(struct adv_lock *l)
{
	if (sleep_while(l, ADV_LOCK_RESERVED, &reserved_longest) ||
	    !take_from(l, ADV_LOCK_RESERVED))
		return false;
	atomic_store(&l->starving, 0);
	return true;
}

/* Sleeps until this thread holds the lock. */
static void sleep_for_lock(struct adv_lock *l)
{
	uint64_t begin = adv_clock_ns();
	bool starving = false;

	for (;;) {
		uint32_t state = atomic_load_explicit(&l->state, memory_order_relaxed);

		if (may_take(state, starving)) {
			if (take_from(l, state))
				break;
		} else if (state == ADV_LOCK_RESERVED) {
			if (outwait_reservation(l))
				break;
		} else if (state == ADV_LOCK_CONTENDED || mark_contended(l)) {
			(void)sleep_while(l, ADV_LOCK_CONTENDED, NULL);
			if (!starving && adv_clock_ns() - begin > ADV_LOCK_STARVES) {
				starving = true;
				atomic_fetch_add(&l->starving, 1);
			}
			spin_until_open(l);
		}
	}
	adv_lock_count(l, 1);
	if (starving)
		stop_starving(l);
}

void adv_lock_wait(struct adv_lock *l)
{
	for (unsigned i = 0; i < ADV_LOCK_SPINS; i++) {
		if (atomic_load_explicit(&l->state, memory_order_relaxed) == ADV_LOCK_FREE &&
		    adv_lock_try(l))
			return;
		adv_lock_pause();
	}
	sleep_for_lock(l);
}

/* With the lock held: if a thread starves, reserves the lock for starving threads. Wakes all
 * sleeping threads, as the kernel might choose one that does not starve. */
static bool reserve_lock(struct adv_lock *l)
{
	if (atomic_load(&l->starving) == 0)
		return false;
	atomic_store_explicit(&l->state, ADV_LOCK_RESERVED, memory_order_release);
	(void)wake_threads(l, INT_MAX);
	return true;
}

void adv_lock_release_contended(struct adv_lock *l)
{
	if (reserve_lock(l))
		return;
	atomic_store_explicit(&l->state, ADV_LOCK_FREE, memory_order_release);
	(void)wake_threads(l, 1);
}

void adv_lock_give_way_contended(struct adv_lock *l)
{
	uint32_t offered = ADV_LOCK_OFFERED;
	bool woken;

	if (reserve_lock(l)) {
		sleep_for_lock(l);
		return;
	}
	atomic_store_explicit(&l->state, offered, memory_order_release);
	woken = wake_threads(l, 1) > 0;
	if (woken)
		(void)sleep_while(l, offered, &offered_longest);
	if (!atomic_compare_exchange_strong_explicit(&l->state, &offered,
						     woken ? ADV_LOCK_CONTENDED : ADV_LOCK_TAKEN,
						     memory_order_acquire, memory_order_relaxed))
		sleep_for_lock(l);
}
