/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "fabric/plan/buffer.h"

#include <stddef.h>

#include "base/units.h"

static const char *out_of_range(const struct adv_plan_switch *sw)
{
	uint64_t ports = 0;

	if (sw->buffer == 0 || sw->buffer > ADV_PLAN_BUFFER_MAX)
		return "the buffer must be from 1 B to 1000 TB";
	if (sw->lossless > 8 || sw->lossy > 8 || sw->lossless + sw->lossy == 0)
		return "a port must have at least one queue, and at most 8 lossless and 8 other "
		       "queues";
	if (sw->reserve > ADV_PLAN_BUFFER_MAX || sw->headroom > ADV_PLAN_BUFFER_MAX)
		return "the reserve and the headroom must be 1000 TB at most";
	if (sw->alpha == 0 || sw->alpha > ADV_PLAN_ALPHA_MAX)
		return "alpha must be above 0, and 1024 at most";
	if (sw->groups == 0 || sw->groups > ADV_PLAN_GROUPS_MAX)
		return "the number of groups of ports must be from 1 to 16";
	for (unsigned i = 0; i < sw->groups; i++)
		ports += sw->group[i].count;
	if (ports == 0 || ports > ADV_PLAN_PORTS_MAX)
		return "the number of ports must be from 1 to 4096";
	return NULL;
}

/* Computes the headroom of one lossless priority on all ports. If `delay` is not NULL, all cables
 * have that delay. The result has 128 bits, since the sum for 4096 ports can exceed 64 bits. */
static const char *one_priority(const struct adv_plan_switch *sw, const uint64_t *delay,
				uint64_t *each, unsigned __int128 *total)
{
	*total = 0;
	for (unsigned i = 0; i < sw->groups; i++) {
		struct adv_plan_link link = sw->group[i].link;
		struct adv_plan_headroom h = {.headroom = sw->headroom};
		const char *wrong;

		if (delay)
			link.delay = *delay;
		wrong = sw->headroom ? NULL : adv_plan_headroom(&link, &h);
		if (wrong)
			return wrong;
		if (each)
			each[i] = h.headroom;
		*total += (unsigned __int128)h.headroom * sw->group[i].count;
	}
	return NULL;
}

static unsigned __int128 reserved_bytes(const struct adv_plan_switch *sw, uint32_t ports,
					uint32_t lossless)
{
	return (unsigned __int128)sw->reserve * ports * (lossless + sw->lossy);
}

static uint32_t lossless_fit(const struct adv_plan_switch *sw, uint32_t ports,
			     unsigned __int128 each)
{
	uint32_t n = 0;

	while (n < 8 && each * (n + 1) + reserved_bytes(sw, ports, n + 1) < sw->buffer)
		n++;
	return n;
}

static bool fits_with_delay(const struct adv_plan_switch *sw, uint32_t ports, uint64_t delay)
{
	unsigned __int128 each;

	return !one_priority(sw, &delay, NULL, &each) &&
	       each * sw->lossless + reserved_bytes(sw, ports, sw->lossless) < sw->buffer;
}

/* Returns the longest delay that fits. Bisection finds it, since a longer delay never needs less
 * headroom. */
static uint64_t delay_fit(const struct adv_plan_switch *sw, uint32_t ports)
{
	uint64_t fit = 0, not_fit = ADV_PLAN_DELAY_MAX + 1;

	while (not_fit - fit > 1) {
		uint64_t middle = fit + (not_fit - fit) / 2;

		if (fits_with_delay(sw, ports, middle))
			fit = middle;
		else
			not_fit = middle;
	}
	return fit;
}

static uint64_t clamp_to_64_bits(unsigned __int128 v)
{
	return v > UINT64_MAX ? UINT64_MAX : (uint64_t)v;
}

const char *adv_plan_buffer(const struct adv_plan_switch *sw, struct adv_plan_buffer *out)
{
	unsigned __int128 each, needed;
	const char *wrong = out_of_range(sw);

	*out = (struct adv_plan_buffer){.ports = 0};
	if (!wrong)
		wrong = one_priority(sw, NULL, out->group_headroom, &each);
	if (wrong)
		return wrong;
	for (unsigned i = 0; i < sw->groups; i++)
		out->ports += sw->group[i].count;
	needed = each * sw->lossless + reserved_bytes(sw, out->ports, sw->lossless);
	out->headroom = clamp_to_64_bits(each * sw->lossless);
	out->reserved = clamp_to_64_bits(reserved_bytes(sw, out->ports, sw->lossless));
	out->fits = needed < sw->buffer;
	if (out->fits)
		out->shared = sw->buffer - (uint64_t)needed;
	else
		out->missing = clamp_to_64_bits(needed - sw->buffer + 1);
	out->lossless_fit = lossless_fit(sw, out->ports, each);
	if (!sw->headroom && sw->lossless)
		out->delay_fit = delay_fit(sw, out->ports);
	return NULL;
}

uint64_t adv_plan_dynamic_threshold(uint64_t shared, uint64_t alpha, uint64_t queues)
{
	return (uint64_t)((unsigned __int128)alpha * shared /
			  (ADV_RATIO_ONE + (unsigned __int128)queues * alpha));
}
