/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whether the caller was kept from running for a moment, for an instruction or two: the clock costs
 * several times as much as all else that a poll of an empty queue does.
 */
#ifndef ADV_BASE_TICKS_H
#define ADV_BASE_TICKS_H

#include <stdbool.h>
#include <stdint.h>

#if !defined(__x86_64__) && !defined(__i386__) && !defined(__aarch64__)
#include <time.h>
#endif

/*
 * Some 60 to 250 us on x86, 16 to 650 us on Arm, as fast as the counters run: well above what a
 * poll takes, and below the time for which others get the processor.
 */
#if defined(__x86_64__) || defined(__i386__)
#define ADV_TICKS_HELD_UP (1u << 18)
#elif defined(__aarch64__)
#define ADV_TICKS_HELD_UP (1u << 14)
#else
#define ADV_TICKS_HELD_UP 100000u
#endif

/*
 * A counter that goes up evenly, at a rate that is not known, maybe not the same on all processors.
 * Of it the lower half, which costs less and comes round after a second or more.
 */
static inline uint32_t adv_ticks(void)
{
#if defined(__x86_64__) || defined(__i386__)
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	(void)high;
	return low;
#elif defined(__aarch64__)
	uint64_t t;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
	return (uint32_t)t;
#else
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint32_t)ts.tv_sec * 1000000000u + (uint32_t)ts.tv_nsec;
#endif
}

/* True where the caller has stood still since then, or may have. */
static inline bool adv_held_up(uint32_t since)
{
	return adv_ticks() - since > ADV_TICKS_HELD_UP;
}

#endif
