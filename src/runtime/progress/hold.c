/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Learns whether a program may hold small requests. */
#include "runtime/progress/hold.h"

#define HOLD_LONGEST  50000 /* ns; longest hold of a request that is not too long */
#define HOLD_COST_MAX (1u << 20)
#define HOLDS_SHORT   32 /* consecutive holds that were not too long, to halve the cost */

/*
 * A request must not be held for longer than the program needs to post the next ones. If one was
 * held for too long, the program does something else, or it was preempted: the next `cost` small
 * requests are sent at once. Each further time this number doubles. It halves after HOLDS_SHORT
 * holds in a row that were not too long, so a program that is preempted now and then holds again
 * soon.
 */
void adv_progress_hold_ended(struct adv_progress_hold *h, uint64_t ns)
{
	if (ns > HOLD_LONGEST) {
		h->short_holds = 0;
		h->off = h->cost;
		if (h->cost < HOLD_COST_MAX)
			h->cost *= 2;
		return;
	}
	if (++h->short_holds < HOLDS_SHORT)
		return;
	h->short_holds = 0;
	if (h->cost > ADV_PROGRESS_HOLD_COST)
		h->cost /= 2;
}
