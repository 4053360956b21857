/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/fast/request.h"
#include "nic/congestion/flow.h"
#include "nic/engine/outgoing.h"
#include "nic/requester/requester.h"
#include "nic/responder/tx.h"
#include "nic/requester/retransmit.h"

#include <stdlib.h>

#define KBPS	     1000ull /* kb/s in one Mb/s */
#define PSN_DISTANCE (1 << 15)
#define ACK_PACKETS  16 /* the requester's usual interval between ACK requests, packets */
#define DSCP_SHIFT   2

static void pace_timer_expired(struct adv_engine *e, struct adv_timer *t, uint64_t now)
{
	adv_qp_schedule(adv_container_of(t, struct adv_flow, pace_timer)->qp);
}

/* Returns the bytes that telemetry adds to a frame. */
static uint32_t telemetry_bytes(const struct adv_engine *e)
{
	return e->cc_ops && e->cc_ops->telemetry ? ADV_TELEMETRY_BYTES : 0;
}

struct adv_cc_link adv_flow_link(const struct adv_qp *qp)
{
	const struct adv_engine *e = qp->engine;
	uint32_t max = e->cc.params.rpg_max_rate;

	return (struct adv_cc_link){.params = &e->cc.params,
				    .line = (max ? max : e->line_mbps) * KBPS,
				    .frame = adv_outgoing_full_frame(qp) + telemetry_bytes(e)};
}

/* Sets f->rate after a call of the algorithm. */
static void note_rate(struct adv_flow *f)
{
	f->rate = adv_rate_of_clock(&f->qp->engine->time, f->cc.rate);
}

void adv_flow_rate_changed(struct adv_flow *f, uint64_t before, uint64_t at)
{
	note_rate(f);
	if (before && f->rate && f->rate != before)
		adv_pacer_change(&f->pacer, before, f->rate, at);
}

/* Sets the limits of a new flow. Returns false if there is no memory. */
static bool start_algorithm(struct adv_flow *f)
{
	const struct adv_cc_ops *ops = f->qp->engine->cc_ops;
	struct adv_cc_link link = adv_flow_link(f->qp);

	f->round_psn = f->qp->req.next_psn;
	if (ops->on_ack && !adv_round_trips_start(&f->round_trips, f->round_psn))
		return false;
	if (ops->start)
		ops->start(&f->cc, &link);
	note_rate(f);
	return true;
}

struct adv_flow *adv_flow_of(struct adv_qp *qp)
{
	struct adv_flow *f = qp->flow;

	if (f)
		return f;
	f = adv_lines_calloc(sizeof(*f));
	if (!f)
		return NULL;
	f->qp = qp;
	if (!start_algorithm(f) || adv_timers_reserve(&qp->engine->timers)) {
		adv_round_trips_free(&f->round_trips);
		free(f);
		return NULL;
	}
	adv_timer_init(&f->pace_timer, pace_timer_expired);
	qp->flow = f;
	return f;
}

int adv_flow_start(struct adv_qp *qp)
{
	const struct adv_cc_ops *ops = qp->engine->cc_ops;

	if (!qp->reliable || qp->xrcd || !ops || !ops->start)
		return 0;
	return adv_flow_of(qp) ? 0 : ENOMEM;
}

void adv_flow_free(struct adv_qp *qp)
{
	struct adv_flow *f = qp->flow;

	if (!f)
		return;
	adv_timer_remove(&qp->engine->timers, &f->pace_timer);
	adv_timers_release(&qp->engine->timers);
	qp->flow = NULL;
	adv_round_trips_free(&f->round_trips);
	free(f->echo);
	free(f);
}

/* ---- notification point ---- */

/* True if the PSN is near the expected one. One in 256 PSNs that an attacker guesses passes this
 * check. */
static bool is_likely(const struct adv_qp *qp, const struct adv_bth *bth)
{
	bool response = adv_opcode_table[bth->opcode].flags & ADV_PKT_RESPONSE;
	int32_t ahead = adv_psn_diff(bth->psn, response ? qp->req.una_psn : qp->resp.epsn);

	return ahead >= -PSN_DISTANCE && ahead < PSN_DISTANCE;
}

void adv_flow_marked(struct adv_qp *qp, uint64_t now, const struct adv_bth *bth)
{
	const struct adv_cc_config *cc = &qp->engine->cc;
	const struct adv_cc_ops *ops = qp->engine->cc_ops;
	struct adv_flow *f;

	if (!ops || !is_likely(qp, bth))
		return;
	if (ops->marks_in_acks)
		qp->resp.ack_marked |= !(adv_opcode_table[bth->opcode].flags & ADV_PKT_RESPONSE);
	if (!ops->on_cnp)
		return;
	f = adv_flow_of(qp);
	if (!f || now < f->cnp_after)
		return;
	f->cnp_after = now + adv_time_of_clock(&qp->engine->time,
					       cc->params.min_time_between_cnps * 1000ull);
	f->cnp_due = true;
	/* The QP may be in engine->held because its priority is paused. The CNP has another
	 * priority. */
	adv_list_del(&qp->tx_node);
	adv_qp_schedule(qp);
}

/* Adds a CNP (annex A17.9.3): BECN is set, and the PSN is 0. The CNP is not ECN-capable, because no
 * peer reacts to a mark on a CNP. */
static void emit_cnp(struct adv_qp *qp, struct adv_tx_batch *batch)
{
	const struct adv_cc_params *p = &qp->engine->cc.params;
	struct adv_flow *f = qp->flow;
	struct adv_headers h;

	f->cnp_due = false;
	memset(&h.bth, 0, sizeof(h.bth));
	h.bth.opcode = ADV_OPCODE_CNP;
	h.bth.pkey = qp->pkey;
	h.bth.becn = true;
	h.bth.dest_qpn = qp->attr.dest_qp_num;
	f->cnp_path = qp->path;
	f->cnp_path.link_memo = 0;
	f->cnp_path.tclass = (uint8_t)(p->cnp_dscp << DSCP_SHIFT);
	f->cnp_path.sl = (uint8_t)p->cnp_802p_prio;
	adv_outgoing_add(qp->engine, &f->cnp_path, batch, &h)->ecn = ADV_ECN_NOT_ECT;
	adv_qp_count(qp, &qp->engine->counters.np_cnp_sent);
}

void adv_flow_send_cnp(struct adv_qp *qp, struct adv_tx_batch *batch)
{
	if (qp->flow && qp->flow->cnp_due)
		emit_cnp(qp, batch);
}

/* ---- reaction point ---- */

/* Returns the network's time of the next change of the rate without a packet; UINT64_MAX: none. */
static uint64_t next_change(const struct adv_qp *qp)
{
	const struct adv_cc_ops *ops = qp->engine->cc_ops;

	return ops && ops->next ? ops->next(&qp->flow->cc) : UINT64_MAX;
}

uint64_t adv_flow_rate(struct adv_qp *qp, uint64_t now)
{
	const struct adv_time_factor *time = &qp->engine->time;
	struct adv_cc_link link = adv_flow_link(qp);
	struct adv_flow *f = qp->flow;
	uint64_t at, until;

	if (!f)
		return 0;
	until = adv_time_of_network(time, now);
	while ((at = next_change(qp)) <= until && at != UINT64_MAX) {
		uint64_t before = f->rate;

		qp->engine->cc_ops->expire(&f->cc, &link, at);
		adv_flow_rate_changed(f, before, adv_time_of_clock(time, at));
	}
	return f->rate;
}

void adv_flow_on_cnp(struct adv_qp *qp, uint64_t now)
{
	struct adv_engine *e = qp->engine;
	struct adv_cc_link link = adv_flow_link(qp);
	bool obeyed = e->cc_ops && e->cc_ops->on_cnp;
	struct adv_flow *f;
	uint64_t before;

	f = obeyed ? adv_flow_of(qp) : NULL;
	if (!f) {
		e->counters.out_of_memory += obeyed;
		adv_qp_count(qp, &e->counters.rp_cnp_ignored);
		return;
	}
	adv_qp_count(qp, &e->counters.rp_cnp_handled);
	before = adv_flow_rate(qp, now);
	e->cc_ops->on_cnp(&f->cc, &link, adv_time_of_network(&e->time, now));
	adv_flow_rate_changed(f, before, now);
}

/* Charges the packets of the batch from index `from` on to the QP's rate. */
static void charge_packets(struct adv_qp *qp, const struct adv_tx_batch *batch, unsigned from,
			   uint64_t now)
{
	struct adv_engine *e = qp->engine;
	struct adv_cc_link link = adv_flow_link(qp);
	struct adv_flow *f = qp->flow;
	uint64_t rate = f->rate, bytes = 0;

	for (unsigned i = from; i < batch->count; i++)
		bytes += adv_outgoing_frame_bytes(&batch->packet[i]) + telemetry_bytes(e);
	if (rate)
		adv_pacer_charge(&f->pacer, bytes, rate, e->pace_burst, now);
	if (f->round_trips.ring)
		adv_round_trips_sent(&f->round_trips, batch, from, now);
	if (e->cc_ops->on_sent)
		e->cc_ops->on_sent(&f->cc, &link, bytes);
	adv_flow_rate_changed(f, rate, now);
}

/*
 * Requests an ACK with the last packet of a group, if the usual interval between ACK requests is
 * near the QP's timeout. With a rate limit, packets are sent in small groups with pauses between.
 */
static void ask_for_acks(struct adv_qp *qp, unsigned group)
{
	uint64_t rate = qp->flow->rate;
	uint64_t interval = rate ? adv_pacer_ns((uint64_t)ACK_PACKETS * qp->mtu, rate) : 0;

	if (qp->attr.timeout && interval > adv_retransmit_timeout_ns(qp) / 4 &&
	    qp->req.since_ackreq + group < ACK_PACKETS)
		qp->req.since_ackreq = ACK_PACKETS - group;
}

/* Returns the number of request packets that the window permits now. */
static unsigned window_room(const struct adv_qp *qp)
{
	uint64_t window = qp->flow->cc.window, frame = adv_outgoing_full_frame(qp);
	uint64_t used = adv_flight_psns(qp) * frame;

	if (!window)
		return ADV_QUANTUM;
	if (used >= window)
		return used ? 0 : 1;
	window = (window - used + frame - 1) / frame;
	return window < ADV_QUANTUM ? (unsigned)window : ADV_QUANTUM;
}

/* Adds at most n request packets, and no more than the window permits. */
static void add_requests(struct adv_qp *qp, uint64_t now, struct adv_tx_batch *batch, unsigned n)
{
	unsigned room = window_room(qp);

	if (room)
		adv_fast_requests(qp, now, batch, room < n ? room : n);
}

/* Adds at most n packets. Requests and responses go first in turn. */
static void add_packets(struct adv_qp *qp, uint64_t now, struct adv_tx_batch *batch, unsigned n)
{
	unsigned from = batch->count;

	qp->flow->turn = !qp->flow->turn;
	ask_for_acks(qp, n);
	if (qp->flow->turn || qp->resp.ack_behind)
		add_requests(qp, now, batch, n);
	n -= batch->count - from < n ? batch->count - from : n;
	from = batch->count;
	if (n && adv_responder_has_tx(qp))
		adv_responder_tx(qp, now, batch, n);
	n -= batch->count - from < n ? batch->count - from : n;
	if (n && !qp->flow->turn)
		add_requests(qp, now, batch, n);
}

static bool has_packets(const struct adv_qp *qp)
{
	return qp->resp.res_pending || qp->sq.next != qp->sq.head;
}

/* Returns the time to serve the QP again. If pace_burst is 0, this is at most the time of the next
 * rate change, because an increase makes the next packet due earlier. */
static uint64_t next_service_time(const struct adv_qp *qp)
{
	uint32_t burst = qp->engine->pace_burst;
	const struct adv_flow *f = qp->flow;
	uint64_t wake = adv_pacer_wake(&f->pacer, f->rate, burst);
	uint64_t change = adv_time_of_clock(&qp->engine->time, next_change(qp));

	return !burst && change < wake ? change : wake;
}

/* Sets the timer for the next packets. ACKs do not wait for the rate: they are sent now, unless
 * responses before them wait. */
static void wait_for_rate(struct adv_qp *qp, uint64_t now, struct adv_tx_batch *batch)
{
	adv_list_del(&qp->tx_node);
	if (!qp->resp.res_pending && adv_responder_has_tx(qp))
		adv_responder_tx(qp, now, batch, adv_outgoing_has_room(batch) ? 1 : 0);
	if (has_packets(qp))
		adv_timer_set(&qp->engine->timers, &qp->flow->pace_timer, next_service_time(qp));
}

/* Returns the packets that may be added now, at least 1. */
static unsigned packet_quota(const struct adv_qp *qp, uint64_t now, unsigned room)
{
	const struct adv_flow *f = qp->flow;
	uint64_t more;

	if (!f->rate)
		return room;
	more = adv_pacer_credit(&f->pacer, f->rate, qp->engine->pace_burst, now) / qp->mtu;
	return more < room ? 1 + (unsigned)more : room;
}

bool adv_flow_serve(struct adv_qp *qp, uint64_t now, struct adv_tx_batch *batch)
{
	unsigned end = batch->count + ADV_QUANTUM;
	struct adv_flow *f = qp->flow;

	adv_flow_send_cnp(qp, batch);
	while (adv_outgoing_has_room(batch) && batch->count < end) {
		unsigned from = batch->count;
		uint64_t rate = adv_flow_rate(qp, now);

		if (!rate && !f->cc.window)
			return false;
		if (rate && !adv_pacer_open(&f->pacer, now)) {
			wait_for_rate(qp, now, batch);
			return true;
		}
		add_packets(qp, now, batch, packet_quota(qp, now, end - from));
		if (batch->count == from)
			return true;
		charge_packets(qp, batch, from, now);
	}
	if (has_packets(qp) || adv_responder_has_tx(qp))
		adv_qp_schedule(qp);
	return true;
}
