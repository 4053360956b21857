/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/congestion/dcqcn.h"
#include "nic/congestion/congestion_control.h"

#include <string.h>

#define US	    1000ull
#define KBPS	    1000ull /* kb/s in one Mb/s */
#define ALPHA_SHIFT 20	    /* converts alpha from units of 1/1024 to units of 1/ADV_ALPHA_ONE */
#define G_ONE	    1024
#define PERCENT	    100
/* Highest stage. A higher one would only make larger steps, which reach the line rate sooner. */
#define HIGHEST_INCREASE 0x10000u

/* ---- cuts ---- */

static uint64_t least_rate(const struct adv_cc_params *p, uint64_t line)
{
	return p->rpg_min_rate * KBPS < line ? p->rpg_min_rate * KBPS : line;
}

/* Raises alpha (equation 1), and restarts all counters and times that begin at a cut. */
static void restart_increase(struct adv_dcqcn *d, const struct adv_cc_params *p, uint64_t now)
{
	d->alpha = (uint32_t)((uint64_t)d->alpha * p->dce_tcp_g / G_ONE) +
		   ((G_ONE - p->dce_tcp_g) << ALPHA_SHIFT);
	d->time_stage = 0;
	d->byte_stage = 0;
	d->bytes = 0;
	d->alpha_at = now + p->dce_tcp_rtt * US;
	d->time_at = now + p->rpg_time_reset * US;
	d->cut_after = now + p->rate_reduce_monitor_period * US;
	d->cut_waits = false;
}

/* Cuts the rate by equation 1: R_T = R_C, R_C = R_C (1 - alpha / 2), alpha = (1 - g) alpha + g. */
static void cut_rate(struct adv_dcqcn *d, const struct adv_cc_params *p, uint64_t line,
		     uint64_t now)
{
	uint64_t least = d->rate * p->rpg_min_dec_fac / PERCENT;
	uint64_t cut = d->rate - (d->rate * d->alpha >> (ALPHA_SHIFT + p->rpg_gd));

	if (p->clamp_tgt_rate || d->byte_stage ||
	    (p->clamp_tgt_rate_after_time_inc && d->time_stage))
		d->target = d->rate;
	if (cut < least)
		cut = least;
	if (cut < least_rate(p, line))
		cut = least_rate(p, line);
	d->rate = cut;
	restart_increase(d, p, now);
}

void adv_dcqcn_on_cnp(struct adv_dcqcn *d, const struct adv_cc_params *p, uint64_t line,
		      uint64_t now)
{
	uint64_t first = p->rate_to_set_on_first_cnp * KBPS;

	if (d->rate && now < d->cut_after) {
		d->cut_waits = true;
		return;
	}
	if (d->rate) {
		cut_rate(d, p, line, now);
		return;
	}
	d->alpha = p->initial_alpha_value << ALPHA_SHIFT;
	d->rate = d->target = line;
	if (!first || first >= line) {
		cut_rate(d, p, line, now);
		return;
	}
	d->rate = d->target = first > least_rate(p, line) ? first : least_rate(p, line);
	restart_increase(d, p, now);
}

/* ---- increases ---- */

/* Increases the rate by equations 3 and 4, and by hyper increase with growing steps as in QCN (IEEE
 * 802.1Qau). At the line rate the state is cleared: the next CNP is a first CNP. */
static void increase_rate(struct adv_dcqcn *d, const struct adv_cc_params *p, uint64_t line)
{
	uint32_t most = d->time_stage > d->byte_stage ? d->time_stage : d->byte_stage;
	uint32_t fewest = d->time_stage < d->byte_stage ? d->time_stage : d->byte_stage;

	if (fewest > p->rpg_threshold)
		d->target += (uint64_t)(fewest - p->rpg_threshold) * p->rpg_hai_rate * KBPS;
	else if (most >= p->rpg_threshold)
		d->target += p->rpg_ai_rate * KBPS;
	if (d->target > line)
		d->target = line;
	/* Rounded up, so that the rate reaches the target. */
	d->rate = (d->rate + d->target + 1) / 2;
	if (d->rate >= line)
		memset(d, 0, sizeof(*d));
}

static void count_stage(uint32_t *stage)
{
	if (*stage < HIGHEST_INCREASE)
		++*stage;
}

void adv_dcqcn_on_sent(struct adv_dcqcn *d, const struct adv_cc_params *p, uint64_t line,
		       uint64_t bytes)
{
	if (!d->rate || !p->rpg_byte_reset)
		return;
	d->bytes += bytes;
	while (d->rate && d->bytes >= p->rpg_byte_reset) {
		d->bytes -= p->rpg_byte_reset;
		count_stage(&d->byte_stage);
		increase_rate(d, p, line);
	}
}

/* ---- time ---- */

uint64_t adv_dcqcn_next(const struct adv_dcqcn *d)
{
	uint64_t next = d->alpha_at < d->time_at ? d->alpha_at : d->time_at;

	if (!d->rate)
		return UINT64_MAX;
	return d->cut_waits && d->cut_after < next ? d->cut_after : next;
}

void adv_dcqcn_expire(struct adv_dcqcn *d, const struct adv_cc_params *p, uint64_t line,
		      uint64_t at)
{
	if (d->cut_waits && d->cut_after <= at) {
		cut_rate(d, p, line, at);
		return;
	}
	if (d->alpha_at <= at) {
		/* Equation 2: alpha = (1 - g) alpha. */
		d->alpha = (uint32_t)((uint64_t)d->alpha * p->dce_tcp_g / G_ONE);
		d->alpha_at += p->dce_tcp_rtt * US;
	}
	if (d->time_at <= at) {
		d->time_at += p->rpg_time_reset * US;
		count_stage(&d->time_stage);
		increase_rate(d, p, line);
	}
}

/* ---- the operations of a flow ---- */

_Static_assert(sizeof(struct adv_dcqcn) <= sizeof(((struct adv_cc *)NULL)->state), "it fits");

static struct adv_dcqcn *state_of(struct adv_cc *cc)
{
	return (struct adv_dcqcn *)(void *)cc->state;
}

static void handle_cnp(struct adv_cc *cc, const struct adv_cc_link *link, uint64_t now)
{
	adv_dcqcn_on_cnp(state_of(cc), link->params, link->line, now);
	cc->rate = state_of(cc)->rate;
}

static void count_sent(struct adv_cc *cc, const struct adv_cc_link *link, uint64_t bytes)
{
	adv_dcqcn_on_sent(state_of(cc), link->params, link->line, bytes);
	cc->rate = state_of(cc)->rate;
}

static uint64_t next_change(const struct adv_cc *cc)
{
	return adv_dcqcn_next((const struct adv_dcqcn *)(const void *)cc->state);
}

static void perform_change(struct adv_cc *cc, const struct adv_cc_link *link, uint64_t at)
{
	adv_dcqcn_expire(state_of(cc), link->params, link->line, at);
	cc->rate = state_of(cc)->rate;
}

const struct adv_cc_ops adv_cc_dcqcn = {
	.name = "dcqcn",
	.on_cnp = handle_cnp,
	.on_sent = count_sent,
	.next = next_change,
	.expire = perform_change,
};
