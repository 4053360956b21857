/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "fabric/parts/barrier.h"

#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SPINS 2000 /* some 50 us */

static void pause_processor(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

void adv_barrier_init(struct adv_barrier *b, uint32_t threads)
{
	atomic_init(&b->generation, 0);
	atomic_init(&b->arrived, 0);
	atomic_init(&b->sleepers, 0);
	b->threads = threads;
}

static void release_all(struct adv_barrier *b)
{
	atomic_store_explicit(&b->arrived, 0, memory_order_relaxed);
	atomic_fetch_add(&b->generation, 1);
	/* A thread counts itself as a sleeper before it reads `generation` for the last time, so
	 * either it is seen here, or it sees the new generation. */
	if (atomic_load(&b->sleepers))
		syscall(SYS_futex, &b->generation, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

void adv_barrier_arrive(struct adv_barrier *b)
{
	atomic_fetch_add(&b->arrived, 1);
}

void adv_barrier_meet(struct adv_barrier *b)
{
	uint32_t seen = atomic_load(&b->generation);

	if (atomic_fetch_add(&b->arrived, 1) + 1 == b->threads) {
		release_all(b);
		return;
	}
	for (unsigned i = 0; i < SPINS; i++) {
		if (atomic_load_explicit(&b->generation, memory_order_acquire) != seen)
			return;
		pause_processor();
	}
	atomic_fetch_add(&b->sleepers, 1);
	while (atomic_load(&b->generation) == seen)
		syscall(SYS_futex, &b->generation, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
	atomic_fetch_sub(&b->sleepers, 1);
}
