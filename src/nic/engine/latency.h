/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Histograms of durations. The first four buckets are 64 ns wide, the next four 128 ns, then 256 ns
 * and so on: from 1 us on, a bucket is at most a quarter as wide as its lower bound. Times
 * are 32 bits in units of 64 ns, so a duration is modulo 275 s.
 */
#ifndef ADV_NIC_ENGINE_LATENCY_H
#define ADV_NIC_ENGINE_LATENCY_H

#include <stdint.h>

#define ADV_LATENCY_UNIT    64 /* ns; a power of two */
#define ADV_LATENCY_PARTS   4  /* buckets of one width */
#define ADV_LATENCY_WIDTHS  31
#define ADV_LATENCY_BUCKETS (ADV_LATENCY_PARTS * ADV_LATENCY_WIDTHS)

/* Returns a time in ns in units of ADV_LATENCY_UNIT. */
static inline uint32_t adv_latency_time(uint64_t ns)
{
	return (uint32_t)(ns / ADV_LATENCY_UNIT);
}

/* Returns the bucket of a duration in units of ADV_LATENCY_UNIT. It takes five instructions, and no
 * comparison: v is at least 4, and the two bits below its highest one select the part. */
static inline unsigned adv_latency_bucket(uint32_t units)
{
	uint64_t v = (uint64_t)units + ADV_LATENCY_PARTS;
	unsigned log2 = 63 ^ (unsigned)__builtin_clzll(v);

	return ADV_LATENCY_PARTS * log2 + (unsigned)(v >> (log2 - 2)) - 3 * ADV_LATENCY_PARTS;
}

/* Returns the upper bound of a bucket, ns; the bound itself belongs to the next bucket. */
uint64_t adv_latency_bound(unsigned bucket);

/* Returns the number of counted durations. */
uint64_t adv_latency_count(const uint64_t bucket[ADV_LATENCY_BUCKETS]);

/* Returns an estimate of the sum of the durations, ns: each is taken for the middle of its bucket.
 */
uint64_t adv_latency_sum(const uint64_t bucket[ADV_LATENCY_BUCKETS]);

/* Returns an estimate of the q-quantile (0 < q <= 1), ns: within its bucket, durations are assumed
 * to be spread evenly. 0: nothing was counted. */
uint64_t adv_latency_quantile(const uint64_t bucket[ADV_LATENCY_BUCKETS], double q);

#endif
