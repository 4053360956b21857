/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* HPCC ("High Precision Congestion Control", SIGCOMM 2019, algorithm 1): a window by the telemetry
 * of the switches, which keeps the busiest cable at a share eta of its rate. */
#include <stddef.h>
#include <string.h>

#include "nic/congestion/congestion_control.h"

#define ONE	((uint64_t)1 << 20) /* a utilization of 1 */
#define PERCENT 100
#define US	1000ull
#define KBPS	1000ull		       /* kb/s in one Mb/s */
#define LONGEST ((uint64_t)1000000000) /* reports further apart are not compared, ns */
#define HIGHEST (64 * ONE)	       /* bound of a utilization */

struct hpcc {
	uint64_t reference;   /* W_c: the window that the last round trip has set, bytes */
	uint64_t utilization; /* U */
	uint32_t stage;	      /* additive increases in a row */
	struct adv_telemetry last;
};

_Static_assert(sizeof(struct hpcc) <= sizeof(((struct adv_cc *)NULL)->state), "it fits");

static struct hpcc *state_of(struct adv_cc *cc)
{
	return (struct hpcc *)(void *)cc->state;
}

static uint64_t base_rtt(const struct adv_cc_link *link)
{
	return link->params->hpcc_base_rtt * US;
}

static void set_limits(struct adv_cc *cc, const struct adv_cc_link *link, uint64_t window)
{
	uint64_t most = adv_cc_bytes(link->line, base_rtt(link));

	cc->window = window < most ? window : most;
	if (!cc->window)
		cc->window = 1;
	cc->rate = cc->window * 8000000 / base_rtt(link);
	if (!cc->rate)
		cc->rate = 1;
}

static void start_hpcc(struct adv_cc *cc, const struct adv_cc_link *link)
{
	set_limits(cc, link, UINT64_MAX);
	state_of(cc)->reference = cc->window;
}

/* Returns the utilization of one port between two reports: its queue and its rate. *span is the
 * time between them, ns; 0: they cannot be compared. */
static uint64_t port_utilization(const struct adv_telemetry_hop *now,
				 const struct adv_telemetry_hop *before,
				 const struct adv_cc_link *link, uint64_t *span)
{
	uint64_t queue = now->queue < before->queue ? now->queue : before->queue;
	uint64_t in_base = adv_cc_bytes(now->mbps * KBPS, base_rtt(link));
	uint64_t carried;

	*span = now->at > before->at ? now->at - before->at : 0;
	if (*span > LONGEST)
		*span = 0;
	carried = adv_cc_bytes(now->mbps * KBPS, *span);
	if (!carried || !in_base)
		return 0;
	return queue * ONE / in_base + (now->bytes - before->bytes) * ONE / carried;
}

/* MeasureInflight: returns false if there is nothing to compare with. */
static bool measure_inflight(struct hpcc *h, const struct adv_cc_link *link,
			     const struct adv_telemetry *t)
{
	uint64_t most = 0, time = 0, base = base_rtt(link);

	if (h->last.hops != t->hops)
		return false;
	for (uint32_t i = 0; i < t->hops; i++) {
		uint64_t span, u = port_utilization(&t->hop[i], &h->last.hop[i], link, &span);

		if (span && u >= most) {
			most = u < HIGHEST ? u : HIGHEST;
			time = span < base ? span : base;
		}
	}
	h->utilization = (h->utilization * (base - time) + most * time) / base;
	return true;
}

/* ComputeWind. */
static uint64_t window_of(struct hpcc *h, const struct adv_cc_params *p, bool round)
{
	uint64_t eta = ONE * p->hpcc_eta / PERCENT, window;

	if (h->utilization >= eta || h->stage >= p->hpcc_max_stage) {
		window = h->reference * eta / (h->utilization ? h->utilization : 1) + p->hpcc_ai;
		if (round)
			h->stage = 0;
	} else {
		window = h->reference + p->hpcc_ai;
		if (round)
			h->stage++;
	}
	return window;
}

static void handle_ack(struct adv_cc *cc, const struct adv_cc_link *link,
		       const struct adv_cc_ack *ack)
{
	struct hpcc *h = state_of(cc);

	if (!ack->telemetry)
		return;
	if (measure_inflight(h, link, ack->telemetry)) {
		set_limits(cc, link, window_of(h, link->params, ack->round));
		if (ack->round)
			h->reference = cc->window;
	}
	h->last = *ack->telemetry;
}

const struct adv_cc_ops adv_cc_hpcc = {
	.name = "hpcc",
	.telemetry = true,
	.ack_interval = 1,
	.start = start_hpcc,
	.on_ack = handle_ack,
};
