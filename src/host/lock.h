/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A mutual exclusion lock that spins before it sleeps. The device's lock is held for a few
 * microseconds, mostly the length of a send: sleeping meanwhile costs more, and it makes the
 * scheduler move threads about that spin each on a core of its own.
 */
#ifndef ADV_HOST_LOCK_H
#define ADV_HOST_LOCK_H

#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct adv_lock {
	_Atomic uint32_t state; /* 0: free, 1: taken, 2: taken, and somebody may sleep, 3: handed
				 * over to one that sleeps, see adv_lock_give_way() */
};

#define ADV_LOCK_SPINS	     200  /* a few us: a preempted holder is not waited for in vain */
#define ADV_LOCK_WOKEN_SPINS 2000 /* some 100 us: until a holder that gives way does so again */

static inline void adv_lock_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

static inline bool adv_lock_try(struct adv_lock *l)
{
	uint32_t free_state = 0;

	return atomic_compare_exchange_strong_explicit(&l->state, &free_state, 1,
						       memory_order_acquire, memory_order_relaxed);
}

/* May be had now. */
static inline bool adv_lock_is_open(struct adv_lock *l)
{
	uint32_t state = atomic_load_explicit(&l->state, memory_order_relaxed);

	return state == 0 || state == 3;
}

static inline bool adv_lock_is_taken(struct adv_lock *l)
{
	return atomic_load_explicit(&l->state, memory_order_relaxed) != 0;
}

/* From here on whoever gives the lock up wakes a sleeper: there may be others. */
static inline void adv_lock_sleep(struct adv_lock *l)
{
	for (;;) {
		uint32_t was = atomic_exchange_explicit(&l->state, 2, memory_order_acquire);

		if (was == 0 || was == 3)
			return;
		syscall(SYS_futex, &l->state, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
		/* Handed over, perhaps, but taken back before there was a processor to run on. */
		for (unsigned i = 0; i < ADV_LOCK_WOKEN_SPINS && !adv_lock_is_open(l); i++)
			adv_lock_pause();
	}
}

static inline void adv_lock_take(struct adv_lock *l)
{
	for (unsigned i = 0; i < ADV_LOCK_SPINS; i++) {
		if (atomic_load_explicit(&l->state, memory_order_relaxed) == 0 && adv_lock_try(l))
			return;
		adv_lock_pause();
	}
	adv_lock_sleep(l);
}

static inline void adv_lock_release(struct adv_lock *l)
{
	if (atomic_exchange_explicit(&l->state, 0, memory_order_release) == 2)
		syscall(SYS_futex, &l->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/*
 * For a holder that has much to do: where somebody sleeps for the lock, that one has it first. Just
 * to release it and to take it again would not do: who has to be woken comes too late, each time.
 * Returns with the lock held.
 */
static inline void adv_lock_give_way(struct adv_lock *l)
{
	static const struct timespec patience = {0, 1000000}; /* it may not get a processor */
	uint32_t handed = 3;
	long woken;

	if (atomic_load_explicit(&l->state, memory_order_relaxed) != 2)
		return;
	atomic_store_explicit(&l->state, handed, memory_order_release);
	woken = syscall(SYS_futex, &l->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	if (woken > 0)
		syscall(SYS_futex, &l->state, FUTEX_WAIT_PRIVATE, handed, &patience, NULL, 0);
	if (!atomic_compare_exchange_strong_explicit(&l->state, &handed, woken > 0 ? 2 : 1,
						     memory_order_acquire, memory_order_relaxed))
		adv_lock_sleep(l);
}

#endif
