/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What keeps UC and UD from overrunning a receiver, as nothing in these transports does.
 *
 * Towards other machines: a rate. Towards this machine, where a lossless fabric is what programs
 * expect and where only a full receive socket loses packets: credit. Every so many packets the
 * sender puts a probe behind them, a packet of a manufacturer's opcode (IBTA vol. 1, table 38) to
 * the same slot; the receiver's engine answers when it comes to it. Never are more than a window
 * of packets out that no answer covers. A peer that does not answer (busy for long, or gone) is
 * waited for 100 ms, then sent to at the rate for a second: unreliable after all.
 */
#include <stdatomic.h>

#include "transport/flow.h"
#include "wire/frame.h"

#define BURST_BYTES   (32ull * 4096)
#define ANSWER_WAIT   (100 * 1000000ull)
#define NO_CREDIT_FOR (1000 * 1000000ull)
#define HOP_LIMIT     64

/* ---- the rate ---- */

static bool rate_allows(struct adv_qp *qp, uint64_t now)
{
	struct adv_engine *e = qp->engine;
	uint64_t kbps = e->unreliable_mbps * 1000ull;

	if (!kbps || adv_pacer_open(&e->unreliable_pacer, now))
		return true;
	adv_timer_set(e, &qp->req.timer, adv_pacer_wake(&e->unreliable_pacer, kbps, BURST_BYTES));
	return false;
}

static void rate_charge(struct adv_engine *e, const struct adv_tx_packet *pkt, uint64_t now)
{
	uint64_t kbps = e->unreliable_mbps * 1000ull;

	if (kbps)
		adv_pacer_charge(&e->unreliable_pacer, adv_frame_bytes(pkt), kbps, BURST_BYTES,
				 now);
}

/* ---- credit ---- */

/* Whose socket it is: the process's slot where that is known. */
static uint16_t target_of(const struct adv_engine *e, uint32_t qpn)
{
	uint16_t home = 0;

	if (e->sender_home)
		home = atomic_load_explicit(&e->sender_home[adv_qpn_prefix(qpn)],
					    memory_order_relaxed);
	return home ? home : adv_qpn_target(qpn);
}

static struct adv_credit *credit_at(struct adv_engine *e, const struct adv_gid *gid,
				    uint16_t target)
{
	return &e->credit[(target ^ gid->raw[15] ^ gid->raw[14] * 3u) % ADV_CREDITS];
}

static bool is_of(const struct adv_credit *c, const struct adv_gid *gid, uint16_t target)
{
	return c->used && c->target == target && adv_gid_equal(&c->gid, gid);
}

static void wake(struct adv_credit *c)
{
	while (!adv_list_empty(&c->waiting)) {
		struct adv_qp *qp = adv_container_of(c->waiting.next, struct adv_qp, stall_node);

		adv_list_del(&qp->stall_node);
		adv_qp_schedule(qp);
	}
}

static void no_answer(struct adv_engine *e, struct adv_timer *t, uint64_t now)
{
	struct adv_credit *c = adv_container_of(t, struct adv_credit, timer);

	c->confirmed = c->probed = c->sent;
	c->rate_until = now + NO_CREDIT_FOR;
	wake(c);
}

int adv_unreliable_init(struct adv_engine *e)
{
	for (unsigned i = 0; i < ADV_CREDITS; i++) {
		adv_list_init(&e->credit[i].waiting);
		adv_timer_init(&e->credit[i].timer, no_answer);
		if (adv_timers_reserve(e))
			return ENOMEM;
	}
	return 0;
}

/* The credit that governs a packet; NULL: the rate does. */
static struct adv_credit *find_credit(struct adv_engine *e, const struct adv_path *path,
				      uint32_t dest_qpn, uint64_t now)
{
	struct adv_credit *c;
	uint16_t target;

	if (!e->local_credit || adv_gid_is_multicast(&path->dgid))
		return NULL;
	target = target_of(e, dest_qpn);
	c = credit_at(e, &path->dgid, target);
	if (!is_of(c, &path->dgid, target)) {
		/* Two busy peers in one place: the one that came first keeps it. */
		if ((c->used && c->sent != c->confirmed) || !adv_engine_has_gid(e, &path->dgid))
			return NULL;
		c->used = true;
		c->gid = path->dgid;
		c->target = target;
		c->confirmed = c->probed = c->sent;
		c->rate_until = 0;
	}
	return now < c->rate_until ? NULL : c;
}

static uint32_t credit_window(const struct adv_engine *e)
{
	return e->total_window / 4 > 4 ? e->total_window / 4 : 4;
}

static void fill_header(struct adv_headers *h, uint8_t opcode, uint32_t dest_qpn, uint32_t src_qpn,
			uint32_t psn)
{
	memset(&h->bth, 0, sizeof(h->bth));
	h->bth.opcode = opcode;
	h->bth.pkey = ADV_PKEY_DEFAULT;
	h->bth.dest_qpn = dest_qpn;
	h->bth.psn = psn;
	h->deth.qkey = 0;
	h->deth.src_qpn = src_qpn;
}

static void emit_probe(struct adv_qp *qp, struct adv_credit *c, struct adv_path *path,
		       uint32_t dest_qpn, struct adv_tx_batch *batch, uint64_t now)
{
	struct adv_headers h;

	fill_header(&h, ADV_OPCODE_PROBE, dest_qpn, qp->qpn, c->sent & ADV_PSN_MASK);
	adv_packet_start(qp->engine, path, batch, &h);
	c->probed = c->sent;
	adv_timer_set(qp->engine, &c->timer, now + ANSWER_WAIT);
}

bool adv_unreliable_may_send(struct adv_qp *qp, struct adv_path *path, uint32_t dest_qpn,
			     struct adv_tx_batch *batch, uint64_t now)
{
	struct adv_credit *c = find_credit(qp->engine, path, dest_qpn, now);

	if (!c)
		return rate_allows(qp, now);
	if (c->sent - c->confirmed < credit_window(qp->engine))
		return true;
	if (c->probed != c->sent)
		emit_probe(qp, c, path, dest_qpn, batch, now);
	if (adv_list_empty(&qp->stall_node))
		adv_list_add_tail(&c->waiting, &qp->stall_node);
	return false;
}

void adv_unreliable_sent(struct adv_qp *qp, struct adv_path *path, uint32_t dest_qpn,
			 struct adv_tx_batch *batch, uint64_t now)
{
	struct adv_credit *c = find_credit(qp->engine, path, dest_qpn, now);

	if (!c) {
		rate_charge(qp->engine, &batch->packet[batch->count - 1], now);
		return;
	}
	c->sent++;
	if (c->sent - c->probed >= (credit_window(qp->engine) + 3) / 4 && adv_batch_has_room(batch))
		emit_probe(qp, c, path, dest_qpn, batch, now);
}

/* ---- answering ---- */

static void queue_answer(struct adv_engine *e, const struct adv_headers *h,
			 const struct adv_rx_meta *meta)
{
	struct adv_answer *a = &e->answer[e->answer_head % ADV_ANSWERS];

	if (e->answer_head - e->answer_tail == ADV_ANSWERS)
		return;
	memset(a, 0, sizeof(*a));
	a->path.sgid = meta->dgid;
	a->path.dgid = meta->sgid;
	a->path.hop_limit = HOP_LIMIT;
	a->path.sport = adv_udp_sport(0, h->bth.dest_qpn, h->deth.src_qpn);
	a->dest_qpn = h->deth.src_qpn;
	a->src_qpn = h->bth.dest_qpn;
	a->psn = h->bth.psn;
	e->answer_head++;
}

static void take_answer(struct adv_engine *e, const struct adv_headers *h,
			const struct adv_rx_meta *meta)
{
	uint16_t target = target_of(e, h->deth.src_qpn);
	struct adv_credit *c = credit_at(e, &meta->sgid, target);
	uint32_t covered;

	if (!is_of(c, &meta->sgid, target))
		return;
	covered = (h->bth.psn - c->confirmed) & ADV_PSN_MASK;
	if (covered == 0 || covered > c->sent - c->confirmed)
		return;
	c->confirmed += covered;
	if (c->confirmed == c->probed)
		adv_timer_cancel(e, &c->timer);
	wake(c);
}

void adv_unreliable_rx(struct adv_engine *e, const struct adv_headers *h,
		       const struct adv_rx_meta *meta)
{
	if (!e->local_credit || !adv_engine_has_gid(e, &meta->sgid) ||
	    !adv_engine_has_gid(e, &meta->dgid))
		e->counters.rx_malformed++;
	else if (!adv_engine_sender_good(e, h->deth.src_qpn, meta))
		e->counters.rx_bad_sender++;
	else if (h->bth.opcode == ADV_OPCODE_PROBE)
		queue_answer(e, h, meta);
	else
		take_answer(e, h, meta);
}

void adv_unreliable_tx(struct adv_engine *e, struct adv_tx_batch *batch)
{
	while (e->answer_tail != e->answer_head && adv_batch_has_room(batch)) {
		struct adv_answer *a = &e->answer[e->answer_tail++ % ADV_ANSWERS];
		struct adv_headers h;

		fill_header(&h, ADV_OPCODE_ANSWER, a->dest_qpn, a->src_qpn, a->psn);
		adv_packet_start(e, &a->path, batch, &h);
	}
}
