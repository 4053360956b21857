/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "fabric/plan/ets.h"

#include <stddef.h>

#include "base/number.h"
#include "base/units.h"
#include "fabric/plan/headroom.h"

static bool is_ets(const struct adv_plan_class *c)
{
	return c->used && !c->strict;
}

static const char *check_classes(const struct adv_plan_class *c, uint64_t speed, uint64_t max_frame)
{
	uint64_t sum = 0;
	unsigned used = 0, ets = 0;

	if (speed < ADV_PLAN_SPEED_MIN || speed > ADV_PLAN_SPEED_MAX)
		return "the speed must be from 1 Gb/s to 100 Tb/s";
	if (max_frame < ADV_PLAN_FRAME_MIN || max_frame > ADV_PLAN_FRAME_MAX)
		return "frames must be from 64 to 65600 bytes";
	for (unsigned i = 0; i < ADV_PLAN_CLASSES; i++) {
		used += c[i].used;
		if (!is_ets(&c[i]))
			continue;
		ets++;
		if (c[i].share == 0 || c[i].share > ADV_RATIO_ONE)
			return "the share of a class must be above 0%, and 100% at most";
		sum += c[i].share;
	}
	if (!used)
		return "a class is needed, with a share or strict";
	if (ets && sum != ADV_RATIO_ONE)
		return "the shares of the classes must be 100% together (IEEE 802.1Qaz)";
	return NULL;
}

static uint64_t serve_strict(const struct adv_plan_class *c, uint64_t speed, uint64_t *got)
{
	uint64_t left = speed;

	for (unsigned i = ADV_PLAN_CLASSES; i-- > 0;) {
		if (!c[i].used || !c[i].strict)
			continue;
		got[i] = adv_number_min(c[i].demand, left);
		left -= got[i];
	}
	return left;
}

/* Returns the part of `left` that class c receives by its share. `sum` is the sum of the shares of
 * all classes that divide `left`. */
static uint64_t portion_of(const struct adv_plan_class *c, uint64_t left, uint64_t sum)
{
	return (uint64_t)((unsigned __int128)left * c->share / sum);
}

static uint64_t open_shares(const struct adv_plan_class *c, unsigned open)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < ADV_PLAN_CLASSES; i++)
		if (open & 1u << i)
			sum += c[i].share;
	return sum;
}

/* Sets the rates of ETS classes, which divide `left`. Each round satisfies the demand of at least
 * one class, or is the last round. */
static void fill_demands(const struct adv_plan_class *c, uint64_t left, uint64_t *got)
{
	unsigned open = 0;

	for (unsigned i = 0; i < ADV_PLAN_CLASSES; i++)
		if (is_ets(&c[i]))
			open |= 1u << i;
	while (open) {
		uint64_t sum = open_shares(c, open), level = left;
		unsigned satisfied = 0;

		for (unsigned i = 0; i < ADV_PLAN_CLASSES; i++) {
			if (!(open & 1u << i) || c[i].demand > portion_of(&c[i], level, sum))
				continue;
			got[i] = c[i].demand;
			left -= got[i];
			satisfied |= 1u << i;
		}
		for (unsigned i = 0; i < ADV_PLAN_CLASSES && !satisfied; i++)
			if (open & 1u << i)
				got[i] = portion_of(&c[i], level, sum);
		if (!satisfied)
			return;
		open &= ~satisfied;
	}
}

static void set_quanta(const struct adv_plan_class *c, uint64_t max_frame, uint64_t *quantum)
{
	uint64_t smallest = ADV_RATIO_ONE;

	for (unsigned i = 0; i < ADV_PLAN_CLASSES; i++)
		if (is_ets(&c[i]))
			smallest = adv_number_min(smallest, c[i].share);
	for (unsigned i = 0; i < ADV_PLAN_CLASSES; i++)
		if (is_ets(&c[i]))
			quantum[i] =
				(uint64_t)((unsigned __int128)c[i].share * max_frame / smallest);
}

const char *adv_plan_ets(const struct adv_plan_class classes[ADV_PLAN_CLASSES], uint64_t speed,
			 uint64_t max_frame, struct adv_plan_ets *out)
{
	const char *wrong = check_classes(classes, speed, max_frame);
	uint64_t left;

	*out = (struct adv_plan_ets){.unused = 0};
	if (wrong)
		return wrong;
	left = serve_strict(classes, speed, out->got);
	out->strict_rate = speed - left;
	fill_demands(classes, left, out->got);
	out->unused = speed;
	for (unsigned i = 0; i < ADV_PLAN_CLASSES; i++) {
		if (is_ets(&classes[i]))
			out->guaranteed[i] = portion_of(&classes[i], left, ADV_RATIO_ONE);
		out->unused -= out->got[i];
	}
	set_quanta(classes, max_frame, out->quantum);
	return NULL;
}
