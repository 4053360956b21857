/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Slowdown of transfers by size: completion time over the time in an empty network. */
#include <stdlib.h>

#include "base/units.h"
#include "cli/sim/run.h"
#include "fabric/network/calendar.h"

static const uint64_t limits[ADV_SIM_BUCKETS] = {1000,	  10000,    100000,
						 1000000, 10000000, UINT64_MAX};

struct sample {
	unsigned bucket;
	uint64_t slowdown; /* multiples of 1 / ADV_RATIO_ONE */
};

static int by_bucket(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;

	if (x->bucket != y->bucket)
		return x->bucket < y->bucket ? -1 : 1;
	return x->slowdown < y->slowdown ? -1 : x->slowdown > y->slowdown;
}

/* Returns the sample of a job; false: it is no transfer that has succeeded. */
static bool take_sample(const struct adv_sim *sim, uint32_t job, struct sample *s)
{
	const struct adv_fabric_transfer_state *t = adv_fabric_get_transfer(sim->fabric, job);
	uint64_t ideal;

	if (t->connection == ADV_FABRIC_COMPUTATION || t->end == ADV_CALENDAR_NEVER ||
	    t->status != IBV_WC_SUCCESS)
		return false;
	ideal = adv_fabric_ideal(sim->fabric, t->connection, t->bytes);
	if (ideal == 0)
		return false;
	s->bucket = 0;
	while (t->bytes > limits[s->bucket])
		s->bucket++;
	s->slowdown = (uint64_t)((unsigned __int128)(t->end - t->start) * ADV_RATIO_ONE / ideal);
	return true;
}

uint64_t adv_sim_rank(uint64_t count, unsigned percent)
{
	return (count * percent + 99) / 100 - 1;
}

static struct adv_sim_bucket fill_bucket(const struct sample *s, uint64_t count, unsigned bucket)
{
	struct adv_sim_bucket b = {.above = bucket ? limits[bucket - 1] : 0,
				   .to = limits[bucket],
				   .count = count,
				   .median = s[adv_sim_rank(count, 50)].slowdown,
				   .p95 = s[adv_sim_rank(count, 95)].slowdown,
				   .p99 = s[adv_sim_rank(count, 99)].slowdown};
	unsigned __int128 sum = 0;

	for (uint64_t i = 0; i < count; i++)
		sum += s[i].slowdown;
	b.mean = (uint64_t)(sum / count);
	return b;
}

bool adv_sim_slowdown(const struct adv_sim *sim, struct adv_sim_bucket bucket[ADV_SIM_BUCKETS])
{
	const struct adv_scenario_list *l = &sim->scenario.list[ADV_SCENARIO_FLOWS];
	const struct adv_scenario_flow *flow = l->item;
	size_t room = 1, n = 0, first = 0;
	struct sample *s;

	for (uint32_t i = 0; i < l->count; i++)
		room += flow[i].jobs;
	s = calloc(room, sizeof(*s));
	if (!s)
		return false;
	for (uint32_t i = 0; i < l->count; i++)
		for (uint32_t k = 0; k < flow[i].jobs; k++)
			n += take_sample(sim, flow[i].first_job + k, &s[n]);
	qsort(s, n, sizeof(*s), by_bucket);
	for (unsigned b = 0; b < ADV_SIM_BUCKETS; b++) {
		size_t end = first;

		while (end < n && s[end].bucket == b)
			end++;
		bucket[b] = (struct adv_sim_bucket){.count = 0};
		if (end > first)
			bucket[b] = fill_bucket(s + first, end - first, b);
		first = end;
	}
	free(s);
	return true;
}
