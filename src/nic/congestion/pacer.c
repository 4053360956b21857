/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/congestion/pacer.h"

#define BITS_NS	    8000000ull /* ns of one byte at 1 kb/s */
#define WAKE_LATEST 100000ull

uint64_t adv_pacer_ns(uint64_t bytes, uint64_t kbps)
{
	return bytes * BITS_NS / kbps;
}

/* Returns the earliest `due` that a late sender may have: now minus the time of a burst. */
static uint64_t earliest_due(uint64_t kbps, uint64_t burst, uint64_t now)
{
	uint64_t lag = adv_pacer_ns(burst, kbps);

	return now > lag ? now - lag : 0;
}

void adv_pacer_charge(struct adv_pacer *p, uint64_t bytes, uint64_t kbps, uint64_t burst,
		      uint64_t now)
{
	uint64_t from = earliest_due(kbps, burst, now);
	uint64_t cost = bytes * BITS_NS;

	if (p->due < from) {
		p->due = from;
		p->rest = 0;
	}
	cost += p->rest;
	p->due += cost / kbps;
	p->rest = cost % kbps;
}

void adv_pacer_change(struct adv_pacer *p, uint64_t old_kbps, uint64_t kbps, uint64_t at)
{
	if (p->due > at)
		p->due = at + (p->due - at) * old_kbps / kbps;
	p->rest = 0;
}

uint64_t adv_pacer_credit(const struct adv_pacer *p, uint64_t kbps, uint64_t burst, uint64_t now)
{
	uint64_t from = earliest_due(kbps, burst, now);
	uint64_t due = p->due < from ? from : p->due;

	return due < now ? (now - due) * kbps / BITS_NS : 0;
}

uint64_t adv_pacer_wake(const struct adv_pacer *p, uint64_t kbps, uint64_t burst)
{
	uint64_t more = adv_pacer_ns(burst / 2, kbps);

	return p->due + (more < WAKE_LATEST ? more : WAKE_LATEST);
}
