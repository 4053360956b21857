/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Adds the connections and transfers of [flow] sections. */
#include <stdlib.h>

#include "fabric/scenario/builder.h"
#include "fabric/scenario/keys.h"

/* Estimates the number of transfers of a connection that begin within the run. The estimate is
 * rather too high. */
static uint64_t in_time(const struct adv_scenario_builder *b, const struct adv_scenario_flow *flow)
{
	uint64_t duration = b->s->run.duration, count = adv_scenario_count(flow), most;

	if (flow->start > duration)
		return 0;
	if (flow->interval == 0)
		return count;
	most = (duration - flow->start) / flow->interval + 1;
	if (flow->arrivals == 1)
		most = 2 * most + 16;
	return most < count ? most : count;
}

static bool add_transfers(struct adv_scenario_builder *b, struct adv_scenario_flow *flow,
			  uint64_t line, uint32_t connection)
{
	uint64_t at = flow->start, count = adv_scenario_count(flow);

	for (uint64_t i = 0; i < count; i++) {
		uint64_t bytes = adv_scenario_size(b, flow);

		if (i || flow->arrivals == 1)
			at += adv_scenario_draw(b, flow->interval, flow->arrivals == 1);
		if (at > b->s->run.duration)
			return true; /* this transfer and all later ones begin after the end of the
					run */
		if (!adv_scenario_note(b, flow, line,
				       adv_fabric_transfer(b->f, connection, bytes, at)))
			return false;
	}
	return true;
}

static bool connect_two(struct adv_scenario_builder *b, struct adv_scenario_flow *flow,
			uint64_t line, uint32_t from, uint32_t to)
{
	int64_t n = adv_scenario_connect(b, flow, line, from, to);

	return n >= 0 && add_transfers(b, flow, line, (uint32_t)n);
}

/* Draws a random permutation by Sattolo's algorithm: each host sends to one other host and
 * receives from one other host. */
static bool permute_hosts(struct adv_scenario_builder *b)
{
	uint32_t n = b->t->hosts;

	free(b->permutation);
	b->permutation = calloc(n, sizeof(*b->permutation));
	if (!b->permutation)
		return adv_scenario_fail(b, 0, "no memory");
	for (uint32_t i = 0; i < n; i++)
		b->permutation[i] = i;
	for (uint32_t i = n; i-- > 1;) {
		uint32_t k = (uint32_t)adv_rng_below(&b->rng, i), other = b->permutation[k];

		b->permutation[k] = b->permutation[i];
		b->permutation[i] = other;
	}
	return true;
}

static bool connect_range(struct adv_scenario_builder *b, struct adv_scenario_flow *flow,
			  uint64_t line, uint32_t from, uint32_t at, bool in_pairs)
{
	uint32_t first = (uint32_t)(flow->to >> 32), last = (uint32_t)flow->to;

	if (flow->to == ADV_SCENARIO_PERMUTATION)
		return connect_two(b, flow, line, from, b->permutation[from]);
	if (flow->to == ADV_SCENARIO_NEXT)
		return connect_two(b, flow, line, from, (from + 1) % b->t->hosts);
	if (flow->to == ADV_SCENARIO_ALL) {
		first = 0;
		last = b->t->hosts - 1;
	} else if (in_pairs) {
		return connect_two(b, flow, line, from, first + at);
	}
	for (uint32_t to = first; to <= last; to++)
		if ((to != from || first == last) && !connect_two(b, flow, line, from, to))
			return false;
	return true;
}

/* Returns the largest number of connections that a host of the flow initiates. */
static uint64_t count_partners(const struct adv_scenario_builder *b,
			       const struct adv_scenario_flow *flow, bool in_pairs)
{
	if (flow->to == ADV_SCENARIO_ALL)
		return b->t->hosts;
	if (in_pairs || flow->to > ADV_SCENARIO_ALL)
		return 1;
	return (uint32_t)flow->to - (uint32_t)(flow->to >> 32) + 1ull;
}

/* Checks keys that have no meaning together, or without each other. */
static bool check_plain(struct adv_scenario_builder *b, const struct adv_scenario_flow *flow,
			uint64_t line)
{
	char text[ADV_UNITS_TEXT];

	if (flow->endless && adv_scenario_count(flow) > 1)
		return adv_scenario_fail(b, line,
					 "[flow] endless = yes has no `count`: an endless flow has "
					 "no next transfer");
	if (flow->bytes != UINT64_MAX && (flow->sizes > ADV_SCENARIO_EXPONENTIAL || flow->endless))
		return adv_scenario_fail(b, line, "[flow] bytes = %s: has no effect beside %s",
					 adv_units_print(ADV_UNIT_BYTES, flow->bytes, text),
					 flow->endless ? "endless = yes"
						       : "a distribution of `sizes`");
	if (flow->arrivals == 1 && flow->interval == 0)
		return adv_scenario_fail(b, line,
					 "[flow] arrivals = poisson needs `interval`, the mean "
					 "time between transfers");
	if (flow->load && flow->to != ADV_SCENARIO_RANDOM)
		return adv_scenario_fail(b, line, "[flow] load = %g: is for to = random",
					 (double)flow->load / ADV_RATIO_ONE);
	if (flow->algorithm || flow->group || flow->pieces > 1 || flow->compute || flow->reduce)
		return adv_scenario_fail(b, line,
					 "[flow] algorithm, group, pieces, compute and reduce are "
					 "for the pattern of a collective");
	return true;
}

/* Adds a flow from one range of hosts to another. If both ranges have the same length, they are
 * connected in pairs. Otherwise each host of one range connects to each host of the other. */
static bool add_flow(struct adv_scenario_builder *b, struct adv_scenario_flow *flow, uint64_t line)
{
	uint32_t first = (uint32_t)(flow->from >> 32), last = (uint32_t)flow->from;
	uint32_t others = (uint32_t)flow->to - (uint32_t)(flow->to >> 32);
	uint64_t connections;
	bool in_pairs;

	flow->transfers = flow->jobs = 0;
	if (flow->from == UINT64_MAX || (flow->to == UINT64_MAX && !flow->pattern))
		return adv_scenario_fail(b, line, "[flow] needs `from` and `to`");
	if (flow->from > ADV_SCENARIO_ALL)
		return adv_scenario_fail(b, line, "[flow] from: expected a host, a range, or all");
	if (flow->from == ADV_SCENARIO_ALL) {
		first = 0;
		last = b->t->hosts - 1;
	}
	if (last >= b->t->hosts)
		return adv_scenario_fail(b, line,
					 "[flow] host %u does not exist: the last one is %u", last,
					 b->t->hosts - 1);
	if (flow->pattern != ADV_SCENARIO_PLAIN)
		return adv_scenario_collective(b, flow, line, first, last);
	if (!check_plain(b, flow, line))
		return false;
	if (flow->to == ADV_SCENARIO_RANDOM)
		return adv_scenario_load(b, flow, line, first, last);
	if (flow->to == ADV_SCENARIO_PERMUTATION && !permute_hosts(b))
		return false;
	in_pairs = others == last - first && flow->to < ADV_SCENARIO_ALL && others;
	connections = (last - first + 1ull) * count_partners(b, flow, in_pairs);
	if (!adv_scenario_afford_flow(b, flow, line, connections, connections * in_time(b, flow)))
		return false;
	for (uint32_t h = first; h <= last; h++)
		if (!connect_range(b, flow, line, h, h - first, in_pairs))
			return false;
	return true;
}

/* Appends a flow for the transfers of the trace, so that the results have it. */
static bool add_trace(struct adv_scenario_builder *b)
{
	struct adv_scenario_list *l = &b->s->list[ADV_SCENARIO_FLOWS];
	struct adv_scenario_flow *flow = adv_scenario_append(b->s, ADV_SCENARIO_FLOWS);

	return flow ? adv_scenario_build_trace(b, flow)
		    : adv_scenario_fail(b, 0, "no memory for flow %u", l->count);
}

bool adv_scenario_build_flows(struct adv_scenario_builder *b)
{
	const struct adv_scenario_list *l = &b->s->list[ADV_SCENARIO_FLOWS];

	if (l->count == 0 && (b->s->trace_count == 0 && b->s->goal.ops == 0) && !b->s->programs)
		return adv_scenario_fail(b, 0, "no section [flow]: nothing would be sent");
	for (uint32_t i = 0; i < l->count; i++)
		if (!add_flow(b, (struct adv_scenario_flow *)l->item + i, l->line[i]))
			return false;
	return (b->s->trace_count == 0 && b->s->goal.ops == 0) || add_trace(b);
}
