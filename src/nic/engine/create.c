/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Creates, destroys and configures engines. */
#include <stdlib.h>

#include "nic/queue/ah.h"
#include "nic/congestion/congestion_control.h"
#include "nic/queue/cq.h"
#include "nic/memory/domain.h"
#include "nic/queue/mcast.h"
#include "nic/engine/protocol.h"
#include "nic/queue/qpn.h"
#include "nic/requester/requester.h"
#include "nic/requester/selective.h"
#include "nic/queue/srq.h"
#include "nic/memory/tpt_engines.h"
#include "nic/queue/unreliable.h"

#define DEFAULT_WINDOW 64
_Static_assert(offsetof(struct adv_engine, front) == 0, "adv_engine_todo() reads it");

#define DEFAULT_LINE_MBPS 40000 /* line rate in the paper, see congestion.h */
#define TIMEOUT_UNIT	  4096u /* ns, IBTA 9.7.6.1.3 */
/* Longer units could overflow: timeouts are up to 2^31 units, four in a row. */
#define TIMEOUT_UNIT_MOST ((uint64_t)TIMEOUT_UNIT * 100000)

/* Sets the speed of the network's time. */
static void set_time(struct adv_engine *e, const struct adv_time_factor *time)
{
	e->time = time->numerator ? *time : (struct adv_time_factor){1, 1};
	e->timeout_unit = adv_time_of_clock(&e->time, TIMEOUT_UNIT);
	if (e->timeout_unit > TIMEOUT_UNIT_MOST)
		e->timeout_unit = TIMEOUT_UNIT_MOST;
}

struct adv_engine *adv_engine_create(const struct adv_engine_config *config)
{
	const uint64_t *seed = config->seed;
	struct adv_engine *e;
	int err;

	/* The random number generator (xoshiro) never leaves the state 0. */
	if (!(seed[0] | seed[1] | seed[2] | seed[3]) || (config->cc && !adv_cc_valid(config->cc))) {
		errno = EINVAL;
		return NULL;
	}
	e = adv_lines_calloc(sizeof(*e) + (config->local_credit ? sizeof(e->local[0]) : 0));
	if (!e)
		return NULL;
	e->protocol = config->protocol ? config->protocol : &adv_protocol_roce;
	e->front.timers = ADV_NEVER;
	e->timers.earliest = &e->front.timers;
	memcpy(e->rng.s, config->seed, sizeof(e->rng.s));
	memcpy(e->secret_key, config->seed, sizeof(e->secret_key));
	e->window = config->window ? config->window : DEFAULT_WINDOW;
	e->total_window = config->total_window ? config->total_window : 4 * e->window;
	e->unreliable_mbps = config->unreliable_mbps;
	set_time(e, &config->time);
	e->cc = config->cc ? *config->cc : adv_cc_default();
	/* RFC 3168, 5: a sender that does not react to marks must not be ECN-capable. */
	e->cc_ops = adv_cc_ops_of(e->cc.algorithm);
	e->ackreq_interval = e->cc_ops && e->cc_ops->ack_interval ? e->cc_ops->ack_interval
								  : ADV_ACKREQ_INTERVAL;
	/* IRN: the timer and the window need to know how many packets are in flight. */
	if (config->selective)
		e->ackreq_interval = 1;
	e->tx_ecn = e->cc_ops && (e->cc_ops->on_cnp || e->cc_ops->marks_in_acks) ? ADV_ECN_ECT0
										 : ADV_ECN_NOT_ECT;
	e->pace_burst = config->pace_burst;
	adv_pkey_table_default(&e->pkeys);
	e->line_mbps = DEFAULT_LINE_MBPS;
	e->timeout_ticks = config->timeout_ticks ? config->timeout_ticks : 1;
	adv_list_init(&e->tx_ready);
	adv_list_init(&e->stalled);
	adv_list_init(&e->held);
	adv_list_init(&e->delayed);
	e->ack_delay = config->ack_delay;
	e->recovery = config->go_back_0	     ? &adv_recovery_go_back_0
		      : config->selective    ? &adv_recovery_selective
		      : config->fixed_window ? &adv_recovery_fixed_window
					     : &adv_recovery_go_back_n;
	e->reorder = config->reorder;
	e->rto_low = config->rto_low;
	e->rto_high = config->rto_high;
	adv_list_init(&e->cq_events);
	adv_list_init(&e->async_events);
	adv_list_init(&e->cqs);
	adv_list_init(&e->srqs);
	adv_list_init(&e->xrcds);
	adv_list_init(&e->qps);
	adv_list_init(&e->groups);
	e->local_credit = config->local_credit;
	e->local_memory = config->local_memory;
	e->page_in = config->page_in;
	e->acks_not_held = config->acks_not_held;
	e->no_latency = config->no_latency;
	e->latency = e->work.send_latency;
	e->no_fast_path = config->no_fast_path || config->go_back_0 || config->selective;
	e->mr_generation = 1;
	err = adv_unreliable_init(e);
	if (!err)
		err = adv_engine_add_qpns(e, config->qpn_first, config->qpn_count);
	if (err) {
		adv_heap_free(&e->timers.heap);
		free(e);
		errno = err;
		return NULL;
	}
	adv_tpt_join(e, config->shares);
	return e;
}

void adv_engine_destroy(struct adv_engine *e)
{
	while (!adv_list_empty(&e->groups)) {
		struct adv_mcast_group *g =
			adv_container_of(e->groups.next, struct adv_mcast_group, node);

		adv_list_del(&g->node);
		free(g);
	}
	while (!adv_list_empty(&e->qps))
		adv_qp_destroy(adv_container_of(e->qps.next, struct adv_qp, node));
	while (!adv_list_empty(&e->srqs))
		adv_srq_destroy(adv_container_of(e->srqs.next, struct adv_srq, node));
	while (!adv_list_empty(&e->cqs))
		adv_cq_destroy(adv_container_of(e->cqs.next, struct adv_cq, node));
	while (!adv_list_empty(&e->xrcds))
		adv_xrcd_destroy(adv_container_of(e->xrcds.next, struct adv_xrcd, node));
	/* The destruction of each object dropped its events. */
	assert(adv_list_empty(&e->async_events));
	adv_qp_numbers_free(e);
	adv_ahs_free(e);
	adv_tpt_leave(e);
	adv_heap_free(&e->timers.heap);
	free(e->gids);
	free(e);
}

void adv_engine_set_long(struct adv_engine *e, adv_engine_long_payload *payload,
			 adv_engine_withdraw *withdraw, void *user)
{
	e->long_payload = payload;
	e->withdraw = withdraw;
	e->long_user = user;
}

void adv_engine_set_line_rate(struct adv_engine *e, uint32_t mbps)
{
	uint64_t line = adv_rate_of_network(&e->time, mbps);

	e->line_mbps = line ? (uint32_t)(line < UINT32_MAX ? line : UINT32_MAX) : DEFAULT_LINE_MBPS;
}
