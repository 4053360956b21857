/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* DCTCP ("Data Center TCP", SIGCOMM 2010, section 3.2): a window that falls with the share of
 * marked packets. Slow start ends at the first mark. */
#include <stddef.h>

#include "nic/congestion/congestion_control.h"

#define ONE	(1u << 20) /* alpha = 1 */
#define G_ONE	1024
#define FIRST	10 /* packets of the first window (RFC 6928) */
#define LEAST	2  /* packets of the smallest window */
#define HIGHEST (1ull << 40)

struct dctcp {
	uint64_t alpha;	  /* estimated share of marked packets */
	uint64_t packets; /* acknowledged in this round trip */
	uint64_t marked;  /* those among them that were marked */
	uint64_t rest;	  /* bytes times bytes of growth that are less than a byte of the window */
	bool cut;	  /* the window fell in this round trip */
	bool congested;	  /* slow start has ended */
};

_Static_assert(sizeof(struct dctcp) <= sizeof(((struct adv_cc *)NULL)->state), "it fits");

static struct dctcp *state_of(struct adv_cc *cc)
{
	return (struct dctcp *)(void *)cc->state;
}

static void start_dctcp(struct adv_cc *cc, const struct adv_cc_link *link)
{
	cc->window = (uint64_t)FIRST * link->frame;
	state_of(cc)->alpha = ONE;
}

static void grow_window(struct adv_cc *cc, uint64_t bytes, uint32_t frame)
{
	struct dctcp *d = state_of(cc);

	if (cc->window >= HIGHEST)
		return;
	if (!d->congested) {
		cc->window += bytes;
		return;
	}
	/* A frame for each window. */
	d->rest += bytes * frame;
	cc->window += d->rest / cc->window;
	d->rest %= cc->window;
}

/* Equation 1: alpha = (1 - g) alpha + g F. */
static void end_round(struct dctcp *d, const struct adv_cc_params *p)
{
	d->alpha = (d->alpha * (G_ONE - p->dctcp_g) + ONE * p->dctcp_g * d->marked / d->packets) /
		   G_ONE;
	d->packets = d->marked = 0;
	d->cut = false;
}

static void handle_ack(struct adv_cc *cc, const struct adv_cc_link *link,
		       const struct adv_cc_ack *ack)
{
	uint64_t least = (uint64_t)LEAST * link->frame;
	struct dctcp *d = state_of(cc);

	d->packets += ack->packets;
	d->marked += ack->marked ? ack->packets : 0;
	if (ack->marked && !d->cut) {
		/* Equation 2: W = W (1 - alpha / 2). */
		cc->window -= cc->window * d->alpha / (2 * ONE);
		if (cc->window < least)
			cc->window = least;
		d->cut = d->congested = true;
		d->rest = 0;
	} else if (!ack->marked) {
		grow_window(cc, (uint64_t)ack->packets * link->frame, link->frame);
	}
	if (ack->round)
		end_round(d, link->params);
}

const struct adv_cc_ops adv_cc_dctcp = {
	.name = "dctcp",
	.marks_in_acks = true,
	.ack_interval = 1,
	.start = start_dctcp,
	.on_ack = handle_ack,
};
