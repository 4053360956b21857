/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The monotonic clock: the time since an unspecified start. Durations. The time of day. Any thread.
 */
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

/* Returns the time of day: ns since 1970, UTC. It may jump. */
static inline uint64_t adv_clock_day_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Returns the time, ms. */
static inline uint64_t adv_clock_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* Returns a duration in ns as a struct timespec. */
static inline struct timespec adv_clock_timespec(uint64_t ns)
{
	return (struct timespec){(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
}

#endif
