/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Detects in one or two instructions whether the caller was interrupted for a moment. Reading the
 * clock would cost several times as much as polling an empty queue.
 */
#ifndef ADV_BASE_TICKS_H
#define ADV_BASE_TICKS_H

#include <stdbool.h>
#include <stdint.h>

#if !defined(__x86_64__) && !defined(__i386__) && !defined(__aarch64__)
#include <time.h>
#endif

/*
 * If more ticks than this pass, the caller may have been interrupted: 60 to 250 us on x86 and 16 to
 * 650 us on Arm, depending on the rate of the counter. This is well above the duration of a poll,
 * and below the time slice of another thread.
 */
#if defined(__x86_64__) || defined(__i386__)
#define ADV_TICKS_HELD_UP (1u << 18)
#elif defined(__aarch64__)
#define ADV_TICKS_HELD_UP (1u << 14)
#else
#define ADV_TICKS_HELD_UP 100000u
#endif

/*
 * Returns the lower half of a counter of constant but unknown rate. The counters of two processors
 * may differ. The lower half costs less than the whole, and wraps around after a second or more.
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

/* True if the caller may have been interrupted since adv_ticks() returned `since`. */
static inline bool adv_held_up(uint32_t since)
{
	return adv_ticks() - since > ADV_TICKS_HELD_UP;
}

#endif
