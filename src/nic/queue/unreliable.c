/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Paces UC and UD, so that they do not overrun a receiver. The transports themselves have no flow
 * control.
 *
 * Packets to other machines are sent at a limited rate. Packets within this machine need credit,
 * because programs expect a lossless fabric there: only a full receive socket loses packets. After
 * each quarter of a window the sender sends a probe to the same slot, a packet of a manufacturer's
 * opcode (IBTA table 38). The receiver's engine answers the probe. The answer covers all packets
 * before the probe. At most one window of packets may be without an answer.
 *
 * A NIC receives even while its process is stopped. Here, no packet is sent to a process that does
 * not answer but exists. A process exists if its port is in the daemon's table. Probes are repeated
 * at growing intervals, because a full socket may have dropped a probe. If the process does not
 * exist, or its existence is not known, packets are sent at the rate. The kernel drops packets to a
 * process that does not exist.
 *
 * In a UD QP, messages to other destinations queue behind waiting messages. So UD waits only 5 s
 * for a silent process. Then it sends at the rate until the process answers.
 */
#include <stdatomic.h>

#include "nic/engine/address.h"
#include "nic/engine/outgoing.h"
#include "nic/queue/unreliable.h"
#include "nic/wire/frame.h"

#define BURST_BYTES   (32ull * 4096)
#define ANSWER_WAIT   (100 * 1000000ull)
#define PROBE_SELDOM  (6400 * 1000000ull) /* longest interval between repetitions of a probe */
#define UD_PATIENCE   (5000 * 1000000ull)
#define NO_CREDIT_FOR (1000 * 1000000ull)
/* Time without credit for an exited process; after less time its port is not in the table. */
#define LEFT_FOR    (6000 * 1000000ull)
#define MOST_UNSEEN (1u << 20) /* most counted packets without an answer: PSNs must not wrap */
#define HOP_LIMIT   64

/* ---- the rate ---- */

static bool rate_allows(struct adv_qp *qp, uint64_t now)
{
	struct adv_engine *e = qp->engine;
	uint64_t kbps = e->unreliable_mbps * 1000ull;

	if (!kbps || adv_pacer_open(&e->unreliable_pacer, now))
		return true;
	adv_timer_set(&e->timers, &qp->req.rate_timer,
		      adv_pacer_wake(&e->unreliable_pacer, kbps, BURST_BYTES));
	return false;
}

static void rate_charge(struct adv_engine *e, const struct adv_tx_packet *pkt, uint64_t now)
{
	uint64_t kbps = e->unreliable_mbps * 1000ull;

	if (kbps)
		adv_pacer_charge(&e->unreliable_pacer, adv_outgoing_frame_bytes(pkt), kbps,
				 BURST_BYTES, now);
}

void adv_unreliable_rate_expired(struct adv_engine *e, struct adv_timer *t, uint64_t now)
{
	adv_qp_schedule(adv_container_of(t, struct adv_qp, req.rate_timer));
}

/* ---- credit ---- */

/* Returns the slot of the process that has the QP number. If the slot is not known, returns the
 * number's own target. */
static uint16_t target_of_qpn(const struct adv_engine *e, uint32_t qpn)
{
	uint16_t home = 0;

	if (e->sender_home)
		home = atomic_load_explicit(&e->sender_home[adv_qpn_prefix(qpn)],
					    memory_order_relaxed);
	return home ? home : adv_qpn_target(qpn);
}

/* Returns the index at which the search for a credit begins. */
static unsigned credit_place(const struct adv_gid *gid, uint16_t target)
{
	return (target ^ gid->raw[15] ^ gid->raw[14] * 3u) % ADV_CREDITS;
}

static bool is_credit_of(const struct adv_credit *c, const struct adv_gid *gid, uint16_t target)
{
	return c->used && c->target == target && adv_gid_equal(&c->gid, gid);
}

/* Returns the credit of a process; NULL: it has none. */
static struct adv_credit *credit_of(struct adv_engine *e, const struct adv_gid *gid,
				    uint16_t target)
{
	unsigned place = credit_place(gid, target);

	for (unsigned i = 0; i < ADV_CREDITS; i++) {
		struct adv_credit *c = &e->local->credit[(place + i) % ADV_CREDITS];

		if (is_credit_of(c, gid, target))
			return c;
	}
	return NULL;
}

/* Gives the process a credit. NULL: all credits are in use. */
static struct adv_credit *new_credit(struct adv_engine *e, const struct adv_gid *gid,
				     uint16_t target)
{
	unsigned place = credit_place(gid, target);

	for (unsigned i = 0; i < ADV_CREDITS; i++) {
		struct adv_credit *c = &e->local->credit[(place + i) % ADV_CREDITS];

		if (c->used && (c->sent != c->confirmed || !adv_list_empty(&c->waiting)))
			continue;
		c->used = true;
		c->gid = *gid;
		c->target = target;
		c->confirmed = c->probed = c->sent;
		c->rate_until = 0;
		c->deaf = false;
		return c;
	}
	return NULL;
}

static void wake_waiting_qps(struct adv_credit *c)
{
	while (!adv_list_empty(&c->waiting)) {
		struct adv_qp *qp = adv_container_of(c->waiting.next, struct adv_qp, stall_node);

		adv_list_del(&qp->stall_node);
		adv_qp_schedule(qp);
	}
}

enum presence { UNKNOWN, GONE, THERE };

static enum presence presence_of(const struct adv_engine *e, const struct adv_credit *c)
{
	if (!e->sender_port)
		return UNKNOWN;
	/* The first prefix of a slot equals the slot's number. */
	return c->target < ADV_SLOTS && atomic_load_explicit(&e->sender_port[c->target],
							     memory_order_relaxed)
		       ? THERE
		       : GONE;
}

static void give_up_credit(struct adv_engine *e, struct adv_credit *c, uint64_t until)
{
	adv_timer_cancel(&c->answer_timer);
	c->confirmed = c->probed = c->sent;
	c->deaf = false;
	c->rate_until = until;
	wake_waiting_qps(c);
}

void adv_engine_peer_left(struct adv_engine *e, uint64_t now, uint16_t slot)
{
	for (unsigned i = 0; e->local_credit && i < ADV_CREDITS; i++)
		if (e->local->credit[i].used && e->local->credit[i].target == slot)
			give_up_credit(e, &e->local->credit[i], now + LEFT_FOR);
}

/* Queues a probe or an answer. It is sent before all other packets. If the queue is full, it is
 * lost. */
static void queue_note(struct adv_engine *e, const struct adv_note *note)
{
	if (e->note_head - e->note_tail != ADV_NOTES)
		e->local->note[e->note_head++ % ADV_NOTES] = *note;
	e->front.todo |= ADV_TODO_TX;
}

static void answer_timer_expired(struct adv_engine *e, struct adv_timer *t, uint64_t now)
{
	struct adv_credit *c = adv_container_of(t, struct adv_credit, answer_timer);

	if (presence_of(e, c) != THERE) {
		give_up_credit(e, c, now + NO_CREDIT_FOR);
		return;
	}
	if (!c->deaf && now - c->heard_at >= UD_PATIENCE) {
		c->deaf = true;
		wake_waiting_qps(c);
	}
	if (now - c->asked_at >= c->ask_every) {
		c->ask_every = c->ask_every * 2 < PROBE_SELDOM ? c->ask_every * 2 : PROBE_SELDOM;
		c->asked_at = now;
		c->probed = c->sent;
		c->probe.psn = c->sent & ADV_PSN_MASK;
		queue_note(e, &c->probe);
	}
	adv_timer_set(&e->timers, &c->answer_timer, now + ANSWER_WAIT);
}

int adv_unreliable_init(struct adv_engine *e)
{
	for (unsigned i = 0; e->local_credit && i < ADV_CREDITS; i++) {
		adv_list_init(&e->local->credit[i].waiting);
		adv_timer_init(&e->local->credit[i].answer_timer, answer_timer_expired);
		if (adv_timers_reserve(&e->timers))
			return ENOMEM;
	}
	return 0;
}

/* Returns the credit for a packet. NULL: the rate limits the packet. */
static struct adv_credit *find_credit(struct adv_engine *e, const struct adv_path *path,
				      uint32_t dest_qpn, uint64_t now)
{
	struct adv_credit *c;
	uint16_t target;

	if (!e->local_credit || adv_gid_is_multicast(&path->dgid))
		return NULL;
	target = target_of_qpn(e, dest_qpn);
	c = &e->local->credit[credit_place(&path->dgid, target)];
	if (!is_credit_of(c, &path->dgid, target)) {
		if (!adv_address_in_table(e, &path->dgid))
			return NULL;
		c = credit_of(e, &path->dgid, target);
		if (!c)
			c = new_credit(e, &path->dgid, target);
		if (!c)
			return NULL;
	}
	return now < c->rate_until ? NULL : c;
}

static uint32_t credit_window(const struct adv_engine *e)
{
	return e->total_window / 4 > 4 ? e->total_window / 4 : 4;
}

static void fill_probe_header(struct adv_headers *h, uint8_t opcode, uint32_t dest_qpn,
			      uint32_t src_qpn, uint32_t psn)
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

	fill_probe_header(&h, ADV_OPCODE_PROBE, dest_qpn, qp->qpn, c->sent & ADV_PSN_MASK);
	adv_outgoing_add(qp->engine, path, batch, &h);
	c->probe = (struct adv_note){.path = *path,
				     .opcode = ADV_OPCODE_PROBE,
				     .dest_qpn = dest_qpn,
				     .src_qpn = qp->qpn};
	if (c->probed == c->confirmed) {
		c->heard_at = now;
		adv_timer_set(&qp->engine->timers, &c->answer_timer, now + ANSWER_WAIT);
	}
	c->asked_at = now;
	c->ask_every = ANSWER_WAIT;
	c->probed = c->sent;
}

/* True for a UD QP if the process has been silent for 5 s. */
static bool is_given_up(const struct adv_qp *qp, const struct adv_credit *c)
{
	return c->deaf && qp->type == IBV_QPT_UD;
}

bool adv_unreliable_may_send(struct adv_qp *qp, struct adv_path *path, uint32_t dest_qpn,
			     struct adv_tx_batch *batch, uint64_t now)
{
	struct adv_credit *c = find_credit(qp->engine, path, dest_qpn, now);

	if (!c)
		return rate_allows(qp, now);
	if (c->sent - c->confirmed < credit_window(qp->engine))
		return true;
	if (presence_of(qp->engine, c) == GONE)
		give_up_credit(qp->engine, c, now + NO_CREDIT_FOR);
	if (now < c->rate_until || is_given_up(qp, c))
		return rate_allows(qp, now);
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
	if (is_given_up(qp, c))
		rate_charge(qp->engine, &batch->packet[batch->count - 1], now);
	if (c->sent - c->confirmed < MOST_UNSEEN)
		c->sent++;
	if (!c->deaf && c->sent - c->probed >= (credit_window(qp->engine) + 3) / 4 &&
	    adv_outgoing_has_room(batch))
		emit_probe(qp, c, path, dest_qpn, batch, now);
}

/* ---- probes and answers ---- */

static void queue_answer(struct adv_engine *e, const struct adv_headers *h,
			 const struct adv_rx_meta *meta)
{
	const struct adv_note answer = {
		.path = {.sgid = meta->dgid,
			 .dgid = meta->sgid,
			 .hop_limit = HOP_LIMIT,
			 .sport = adv_frame_sport(0, h->bth.dest_qpn, h->deth.src_qpn)},
		.opcode = ADV_OPCODE_ANSWER,
		.dest_qpn = h->deth.src_qpn,
		.src_qpn = h->bth.dest_qpn,
		.psn = h->bth.psn,
	};

	queue_note(e, &answer);
}

static void handle_answer(struct adv_engine *e, const struct adv_headers *h,
			  const struct adv_rx_meta *meta, uint64_t now)
{
	struct adv_credit *c = credit_of(e, &meta->sgid, target_of_qpn(e, h->deth.src_qpn));
	uint32_t covered;

	if (!c)
		return;
	covered = (h->bth.psn - c->confirmed) & ADV_PSN_MASK;
	if (covered == 0 || covered > c->sent - c->confirmed)
		return;
	c->confirmed += covered;
	c->heard_at = now;
	c->ask_every = ANSWER_WAIT;
	c->deaf = false;
	if (c->confirmed == c->probed)
		adv_timer_cancel(&c->answer_timer);
	else
		adv_timer_set(&e->timers, &c->answer_timer, now + ANSWER_WAIT);
	wake_waiting_qps(c);
}

void adv_unreliable_rx(struct adv_engine *e, uint64_t now, const struct adv_headers *h,
		       const struct adv_rx_meta *meta)
{
	if (!e->local_credit || !adv_address_in_table(e, &meta->sgid) ||
	    !adv_address_in_table(e, &meta->dgid))
		e->counters.rx_malformed++;
	else if (!adv_address_sender_good(e, h->deth.src_qpn, meta))
		e->counters.rx_bad_sender++;
	else if (h->bth.opcode == ADV_OPCODE_PROBE)
		queue_answer(e, h, meta);
	else
		handle_answer(e, h, meta, now);
}

void adv_unreliable_tx(struct adv_engine *e, struct adv_tx_batch *batch)
{
	while (e->note_tail != e->note_head && adv_outgoing_has_room(batch)) {
		struct adv_note *n = &e->local->note[e->note_tail++ % ADV_NOTES];
		struct adv_headers h;

		fill_probe_header(&h, n->opcode, n->dest_qpn, n->src_qpn, n->psn);
		adv_outgoing_add(e, &n->path, batch, &h);
	}
}
