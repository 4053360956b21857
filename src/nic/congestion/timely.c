/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* TIMELY ("RTT-based Congestion Control for the Datacenter", SIGCOMM 2015, algorithm 1): a rate
 * that follows the gradient of the round-trip time. */
#include <stddef.h>

#include "nic/congestion/congestion_control.h"

#define ONE	    1024 /* weights are in 1/1024 */
#define US	    1000ull
#define KBPS	    1000ull /* kb/s in one Mb/s */
#define HYPER_AFTER 5	    /* increases in a row after which steps are larger */
#define HYPER_STEPS 5

struct timely {
	uint64_t rtt;	    /* of the previous ACK, ns; 0: none */
	int64_t difference; /* moving average of the differences of the RTT, ns */
	uint32_t increases; /* ACKs in a row whose gradient was not positive */
};

_Static_assert(sizeof(struct timely) <= sizeof(((struct adv_cc *)NULL)->state), "it fits");

static struct timely *state_of(struct adv_cc *cc)
{
	return (struct timely *)(void *)cc->state;
}

static void start_timely(struct adv_cc *cc, const struct adv_cc_link *link)
{
	cc->rate = link->line;
}

/* Multiplies the rate by 1 - part / whole, and keeps it above the smallest rate. */
static void reduce_rate(struct adv_cc *cc, const struct adv_cc_link *link, uint64_t part,
			uint64_t whole)
{
	uint64_t least = link->params->timely_min_rate * KBPS;

	while (whole >> 30) {
		whole >>= 1;
		part >>= 1;
	}
	cc->rate -= part < whole ? cc->rate * part / whole : cc->rate;
	if (cc->rate < least)
		cc->rate = least < link->line ? least : link->line;
}

static void increase_rate(struct adv_cc *cc, const struct adv_cc_link *link, uint32_t steps)
{
	cc->rate += (uint64_t)steps * link->params->timely_ai_rate * KBPS;
	if (cc->rate > link->line)
		cc->rate = link->line;
}

static void follow_gradient(struct adv_cc *cc, const struct adv_cc_link *link)
{
	const struct adv_cc_params *p = link->params;
	struct timely *t = state_of(cc);

	if (t->difference > 0) {
		t->increases = 0;
		reduce_rate(cc, link, (uint64_t)t->difference * p->timely_beta,
			    p->timely_min_rtt * US * ONE);
		return;
	}
	if (t->increases < HYPER_AFTER)
		t->increases++;
	increase_rate(cc, link, t->increases >= HYPER_AFTER ? HYPER_STEPS : 1);
}

static void handle_ack(struct adv_cc *cc, const struct adv_cc_link *link,
		       const struct adv_cc_ack *ack)
{
	const struct adv_cc_params *p = link->params;
	uint64_t low = p->timely_t_low * US, high = p->timely_t_high * US;
	struct timely *t = state_of(cc);
	int64_t change = (int64_t)(ack->rtt - t->rtt);

	if (!ack->rtt)
		return;
	if (t->rtt)
		t->difference = (t->difference * (int64_t)(ONE - p->timely_alpha) +
				 change * (int64_t)p->timely_alpha) /
				ONE;
	t->rtt = ack->rtt;
	if (ack->rtt < low) {
		increase_rate(cc, link, 1);
	} else if (ack->rtt > high) {
		t->increases = 0;
		reduce_rate(cc, link, (ack->rtt - high) * p->timely_beta, ack->rtt * ONE);
	} else {
		follow_gradient(cc, link);
	}
}

const struct adv_cc_ops adv_cc_timely = {
	.name = "timely",
	.start = start_timely,
	.on_ack = handle_ack,
};
