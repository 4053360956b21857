/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/engine/latency.h"

/* Returns the lower bound of a bucket; the first bucket begins at 0. */
static uint64_t lower_bound(unsigned bucket)
{
	return bucket ? adv_latency_bound(bucket - 1) : 0;
}

uint64_t adv_latency_bound(unsigned bucket)
{
	uint64_t width = (uint64_t)ADV_LATENCY_UNIT << bucket / ADV_LATENCY_PARTS;

	return width * (bucket % ADV_LATENCY_PARTS + 1 + ADV_LATENCY_PARTS) -
	       ADV_LATENCY_UNIT * ADV_LATENCY_PARTS;
}

uint64_t adv_latency_count(const uint64_t bucket[ADV_LATENCY_BUCKETS])
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < ADV_LATENCY_BUCKETS; i++)
		sum += bucket[i];
	return sum;
}

uint64_t adv_latency_sum(const uint64_t bucket[ADV_LATENCY_BUCKETS])
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < ADV_LATENCY_BUCKETS; i++)
		sum += bucket[i] * ((lower_bound(i) + adv_latency_bound(i)) / 2);
	return sum;
}

uint64_t adv_latency_quantile(const uint64_t bucket[ADV_LATENCY_BUCKETS], double q)
{
	double rank = q * (double)adv_latency_count(bucket), below = 0;

	for (unsigned i = 0; i < ADV_LATENCY_BUCKETS; i++) {
		double here = (double)bucket[i];
		uint64_t from = lower_bound(i), width = adv_latency_bound(i) - from;

		if (here > 0 && below + here >= rank)
			return from + (uint64_t)((double)width * (rank - below) / here);
		below += here;
	}
	return 0;
}
