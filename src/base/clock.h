/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The monotonic clock: the time since an unspecified start. Any thread. */
#ifndef ADV_BASE_CLOCK_H
#define ADV_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Returns the time, ns. */
static inline uint64_t adv_clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Returns the time, ms. */
static inline uint64_t adv_clock_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

#endif
