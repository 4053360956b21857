/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Transfers to random hosts, at a given load of the senders' cables. */
#include <inttypes.h>

#include "fabric/scenario/builder.h"

/* Returns the mean time between a host's transfers, ps. */
static uint64_t mean_interval(const struct adv_scenario_builder *b,
			      const struct adv_scenario_flow *flow, uint32_t host)
{
	const struct adv_topology *t = b->t;
	unsigned __int128 ps = adv_scenario_mean_size(flow);
	uint32_t ps_per_byte = 1;

	for (uint32_t i = 0; i < t->links; i++)
		for (unsigned k = 0; k < 2; k++)
			if (t->link[i].end[k].node == host)
				ps_per_byte = t->link[i].cable.ps_per_byte;
	ps = ps * ps_per_byte * ADV_RATIO_ONE / flow->load;
	return ps < ADV_QUANTITY_MAX ? (uint64_t)ps : ADV_QUANTITY_MAX;
}

/* Draws a host, but not `from`. */
static uint32_t other_host(struct adv_scenario_builder *b, uint32_t from)
{
	uint32_t to = (uint32_t)adv_rng_below(&b->rng, b->t->hosts - 1ull);

	return to >= from ? to + 1 : to;
}

static bool send_at_load(struct adv_scenario_builder *b, struct adv_scenario_flow *flow,
			 uint64_t line, uint32_t from)
{
	uint64_t mean = flow->interval ? flow->interval : mean_interval(b, flow, from);
	uint64_t at = flow->start, count = adv_scenario_count(flow);

	for (uint64_t i = 0; i < count; i++) {
		uint32_t to;
		int64_t c;

		at += adv_scenario_draw(b, mean, flow->load || flow->arrivals == 1);
		if (at > b->s->run.duration)
			break;
		to = other_host(b, from);
		c = adv_scenario_pair(b, flow, line, from, to);
		if (c < 0 || !adv_scenario_afford_flow(b, flow, line, 0, 1) ||
		    !adv_scenario_note(
			    b, flow, line,
			    adv_fabric_transfer(b->f, (uint32_t)c, adv_scenario_size(b, flow), at)))
			return false;
	}
	return true;
}

bool adv_scenario_load(struct adv_scenario_builder *b, struct adv_scenario_flow *flow,
		       uint64_t line, uint32_t first, uint32_t last)
{
	if (flow->load && flow->interval)
		return adv_scenario_fail(b, line,
					 "[flow] load = %g: has no effect beside `interval`",
					 (double)flow->load / ADV_RATIO_ONE);
	if (!flow->load && !flow->interval)
		return adv_scenario_fail(b, line, "[flow] to = random needs `load` or `interval`");
	if (flow->endless)
		return adv_scenario_fail(
			b, line, "[flow] endless = yes: to = random needs transfers that end");
	if (b->t->hosts < 2)
		return adv_scenario_fail(b, line, "[flow] to = random needs two hosts");
	if (!adv_scenario_pairs(b, line))
		return false;
	for (uint32_t h = first; h <= last; h++)
		if (!send_at_load(b, flow, line, h))
			return false;
	return true;
}
