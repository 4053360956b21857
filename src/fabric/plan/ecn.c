/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "fabric/plan/ecn.h"

#include <stddef.h>

#include "base/units.h"

#define PAPER_SPEED 40000000000ull
#define PAPER_K_MIN 5000
#define PAPER_K_MAX 200000

static const char *out_of_range(const struct adv_plan_ecn_switch *sw)
{
	if (sw->buffer == 0 || sw->buffer > ADV_PLAN_BUFFER_MAX)
		return "the buffer must be from 1 B to 1000 TB";
	if (sw->ports == 0 || sw->ports > ADV_PLAN_PORTS_MAX)
		return "the number of ports must be from 1 to 4096";
	if (sw->lossless == 0 || sw->lossless > 8)
		return "the number of lossless priorities must be from 1 to 8";
	if (sw->headroom > ADV_PLAN_BUFFER_MAX)
		return "the headroom must be 1000 TB at most";
	if (sw->beta == 0 || sw->beta > ADV_PLAN_ALPHA_MAX)
		return "beta must be above 0, and 1024 at most";
	return NULL;
}

static uint64_t count_queues(const struct adv_plan_ecn_switch *sw)
{
	return (uint64_t)sw->lossless * sw->ports;
}

const char *adv_plan_ecn(const struct adv_plan_ecn_switch *sw, struct adv_plan_ecn *out)
{
	const char *wrong = out_of_range(sw);
	unsigned __int128 one = ADV_RATIO_ONE;

	if (wrong)
		return wrong;
	if (sw->headroom > sw->buffer / count_queues(sw))
		return "the headroom of all ports and priorities is more than the buffer (adverb "
		       "plan buffer shows what fits)";
	out->shared = sw->buffer - count_queues(sw) * sw->headroom;
	out->t_pfc = out->shared / count_queues(sw);
	out->t_ecn_static = out->t_pfc / sw->ports;
	out->t_ecn = (uint64_t)(sw->beta * (unsigned __int128)out->shared /
				(count_queues(sw) * (sw->beta + one)));
	return NULL;
}

uint64_t adv_plan_ecn_t_pfc(const struct adv_plan_ecn_switch *sw, uint64_t queue)
{
	uint64_t shared = sw->buffer - count_queues(sw) * sw->headroom;

	if (queue > shared / count_queues(sw))
		return 0;
	return (uint64_t)(sw->beta * (unsigned __int128)(shared - count_queues(sw) * queue) /
			  ((unsigned __int128)ADV_RATIO_ONE * sw->lossless));
}

static uint64_t in_proportion(uint64_t bytes, uint64_t speed)
{
	return (uint64_t)((unsigned __int128)bytes * speed / PAPER_SPEED);
}

uint64_t adv_plan_ecn_k_min(uint64_t speed)
{
	return in_proportion(PAPER_K_MIN, speed);
}

uint64_t adv_plan_ecn_k_max(uint64_t speed)
{
	return in_proportion(PAPER_K_MAX, speed);
}
