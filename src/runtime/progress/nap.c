/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Learns whether a polling program may sleep until a packet arrives. */
#include "runtime/progress/nap.h"

#define NAP_BUDGET_LONGEST_NS 32000000 /* a peer gets the processor some time slices later */
#define NAP_PRICE_MAX	      (1u << 16)

/*
 * A sleep helps if a packet ends it: the peer needed the processor to send that packet. But many
 * programs wait for something else and poll the device besides: UCX, Open MPI and libfabric poll
 * shared memory and their completion queues in one loop. Each sleep delays them.
 *
 * So a program sleeps only if packets arrive. When its sleeps have been in vain for budget_ns,
 * `price` packets have to arrive before the next one. The price doubles each time. A sleep that a
 * packet ends doubles the budget and halves the price.
 */
static void judge_vain(struct adv_progress_nap *n)
{
	n->vain_ns += n->slept_ns;
	if (n->vain_ns < n->budget_ns)
		return;
	n->vain_ns = 0;
	n->budget_ns = ADV_PROGRESS_NAP_BUDGET_NS;
	n->due = n->price;
	if (n->price < NAP_PRICE_MAX)
		n->price *= 2;
}

static void judge_useful(struct adv_progress_nap *n)
{
	n->vain_ns = 0;
	if (n->budget_ns < NAP_BUDGET_LONGEST_NS)
		n->budget_ns *= 2;
	if (n->price > ADV_PROGRESS_NAP_PRICE)
		n->price /= 2;
}

void adv_progress_nap_polled(struct adv_progress_nap *n, unsigned packets)
{
	n->due -= packets < n->due ? packets : n->due;
	if (n->slept_ns && packets)
		judge_useful(n);
	else if (n->slept_ns)
		judge_vain(n);
	n->slept_ns = 0;
}
