/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "fabric/network/calendar.h"
#include "fabric/network/pace.h"

typedef unsigned __int128 wide; /* nanoseconds of years times picoseconds and a factor */

void adv_pace_start(struct adv_pace *p, uint32_t numerator, uint32_t denominator, uint64_t patience,
		    uint64_t clock, uint64_t now)
{
	*p = (struct adv_pace){.numerator = numerator,
			       .denominator = denominator,
			       .patience = patience,
			       .clock_start = clock,
			       .virtual_start = now};
}

uint64_t adv_pace_virtual(const struct adv_pace *p, uint64_t clock)
{
	wide passed = clock - p->clock_start;

	return p->virtual_start +
	       (uint64_t)(passed * ADV_PS_PER_NS * p->numerator / p->denominator);
}

uint64_t adv_pace_clock(const struct adv_pace *p, uint64_t at)
{
	wide unit = (wide)ADV_PS_PER_NS * p->numerator;
	wide passed;

	if (at == ADV_CALENDAR_NEVER)
		return UINT64_MAX;
	if (at <= p->virtual_start)
		return p->clock_start;
	passed = ((wide)(at - p->virtual_start) * p->denominator + unit - 1) / unit;
	return passed > UINT64_MAX - p->clock_start ? UINT64_MAX
						    : p->clock_start + (uint64_t)passed;
}

bool adv_pace_reached(struct adv_pace *p, uint64_t now, uint64_t clock)
{
	uint64_t due = adv_pace_clock(p, now);
	uint64_t lag = clock > due ? clock - due : 0;

	if (lag > p->worst)
		p->worst = lag;
	if (lag <= p->patience)
		return false;
	p->slips++;
	p->slipped += lag;
	p->clock_start = clock;
	p->virtual_start = now;
	return true;
}
