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
#include <unistd.h>

struct adv_lock {
	_Atomic uint32_t state; /* 0: free, 1: taken, 2: taken, and somebody sleeps */
};

#define ADV_LOCK_SPINS 200 /* a few us: a holder that was preempted is not waited for in vain */

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

static inline bool adv_lock_is_taken(struct adv_lock *l)
{
	return atomic_load_explicit(&l->state, memory_order_relaxed) != 0;
}

static inline void adv_lock_take(struct adv_lock *l)
{
	for (unsigned i = 0; i < ADV_LOCK_SPINS; i++) {
		if (atomic_load_explicit(&l->state, memory_order_relaxed) == 0 && adv_lock_try(l))
			return;
		adv_lock_pause();
	}
	while (atomic_exchange_explicit(&l->state, 2, memory_order_acquire) != 0)
		syscall(SYS_futex, &l->state, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

static inline void adv_lock_release(struct adv_lock *l)
{
	if (atomic_exchange_explicit(&l->state, 0, memory_order_release) == 2)
		syscall(SYS_futex, &l->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

#endif
