/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The sending half of the fast path (fast.h): posts, and the turns of a queue pair. */
#include "base/copy.h"
#include "base/probe.h"
#include "transport/fast_packet.h"
#include "transport/fast_recv.h"
#include "transport/flight.h"
#include "transport/message.h"
#include "transport/mr_memo.h"
#include "transport/outgoing.h"
#include "transport/post.h"
#include "transport/protocol.h"
#include "transport/requester.h"
#include "transport/responder_tx.h"
#include "transport/retransmit.h"

/* ---- 1. post ---- */

/* Posts one send request. False: nothing has changed, the general path must check the request. */
static inline bool post_send(struct adv_qp *qp, uint64_t now, const struct ibv_send_wr *wr)
{
	const struct ibv_sge *sge = wr->sg_list;
	bool is_inline = wr->send_flags & IBV_SEND_INLINE;
	struct adv_send_wqe *wqe;
	uint32_t posted;

	if ((qp->unusual & ADV_UNUSUAL_FOR_POST) || !is_plain((unsigned)wr->opcode) ||
	    wr->num_sge != 1 || !sge || qp->sq.head - qp->sq.freed >= qp->sq.fast_room ||
	    sge->length > (is_inline ? qp->sq.max_inline : ADV_MAX_MSG))
		return false;
	__asm__("" : "+r"(now)); /* computing `posted` before the loop takes more instructions */
	posted = adv_latency_time(now);
	wqe = adv_send_wqe_at(qp, qp->sq.head);
	*wqe = (struct adv_send_wqe){
		.wr_id = wr->wr_id,
		.remote_addr = wr->wr.rdma.remote_addr,
		.rkey = wr->wr.rdma.rkey,
		.imm = wr->imm_data,
		.length = sge->length,
		.opcode = (uint8_t)wr->opcode,
		.send_flags = (uint8_t)wr->send_flags,
		.num_sge = !is_inline,
		.posted = posted,
	};
	if (is_inline)
		adv_copy(wqe->sge, (const void *)(uintptr_t)sge->addr, sge->length);
	else
		wqe->sge[0] = *sge;
	qp->sq.head++;
	ADV_PROBE(post_send, qp->qpn, wqe->wr_id, wqe->opcode, wqe->length);
	return true;
}

int adv_qp_post_send(struct adv_qp *qp, uint64_t now, struct ibv_send_wr *wr,
		     struct ibv_send_wr **bad_wr)
{
	const struct ibv_send_wr *first = wr;
	int err = 0;

	while (wr && post_send(qp, now, wr))
		wr = wr->next;
	if (wr || !first)
		err = adv_post_sends(qp, now, wr, bad_wr);
	if (qp->sq.next != qp->sq.head)
		adv_qp_schedule(qp);
	if (qp->resp.asked_at)
		adv_responder_ack_posted(qp, now);
	return err;
}

int adv_qp_post_recv(struct adv_qp *qp, uint64_t now, struct ibv_recv_wr *wr,
		     struct ibv_recv_wr **bad_wr)
{
	struct ibv_recv_wr *rest = adv_fast_post_recvs(qp, wr);

	return rest || !wr ? adv_post_recvs(qp, now, rest, bad_wr) : 0;
}

/* ---- 2. send ---- */

/* A turn of a QP: what it may still send. */
struct turn {
	struct adv_tx_batch *batch;
	unsigned room;	       /* packets that the budget, the batch and the windows allow */
	unsigned window;       /* packets that the windows allow */
	uint32_t psn;	       /* of the next packet */
	uint32_t since_ackreq; /* as in struct adv_requester */
};

/* Returns the opcode of a packet. Each row is for the positions MIDDLE, FIRST, LAST, ONLY. */
static inline uint8_t packet_opcode(const struct adv_send_wqe *wqe, unsigned position)
{
	static const uint8_t opcodes[][4] = {
		[IBV_WR_RDMA_WRITE] = {ADV_OP_WRITE_MIDDLE, ADV_OP_WRITE_FIRST, ADV_OP_WRITE_LAST,
				       ADV_OP_WRITE_ONLY},
		[IBV_WR_RDMA_WRITE_WITH_IMM] = {ADV_OP_WRITE_MIDDLE, ADV_OP_WRITE_FIRST,
						ADV_OP_WRITE_LAST_WITH_IMM,
						ADV_OP_WRITE_ONLY_WITH_IMM},
		[IBV_WR_SEND] = {ADV_OP_SEND_MIDDLE, ADV_OP_SEND_FIRST, ADV_OP_SEND_LAST,
				 ADV_OP_SEND_ONLY},
		[IBV_WR_SEND_WITH_IMM] = {ADV_OP_SEND_MIDDLE, ADV_OP_SEND_FIRST,
					  ADV_OP_SEND_LAST_WITH_IMM, ADV_OP_SEND_ONLY_WITH_IMM},
	};

	return opcodes[wqe->opcode][position];
}

/* Adds a packet to the batch and writes its BTH: the bytes that all packets of the QP have in
 * common, with opcode, flags and the last four bytes of this one. `psn` includes ADV_BTH_ACKREQ. */
INLINED struct adv_tx_packet *add_packet(struct adv_qp *qp, struct adv_tx_batch *batch,
					 uint8_t opcode, uint8_t flags, uint32_t psn)
{
	struct adv_tx_packet *pkt = &batch->packet[batch->count++];

	pkt->path = &qp->path;
	pkt->dest_qpn = qp->attr.dest_qp_num;
	pkt->ecn = qp->engine->tx_ecn;
	pkt->icrc_flip = pkt->more = 0;
	adv_put_be64(pkt->header, qp->fast.bth | (uint64_t)opcode << 56 | (uint64_t)flags << 48);
	adv_put_be32(pkt->header + 8, psn);
	ADV_PROBE(packet_tx, qp->attr.dest_qp_num, psn & ADV_PSN_MASK, opcode);
	return pkt;
}

/* Adds the memory of a packet's payload to the batch. */
INLINED void add_payload(struct adv_tx_batch *batch, struct adv_tx_packet *pkt, uint8_t *from,
			 uint32_t n)
{
	struct iovec *iov = &batch->iov[batch->iov_used++];

	*iov = (struct iovec){from, n};
	pkt->iov = iov;
}

/* Adds one packet of a request: n bytes at `from`. Each caller passes a constant position, so that
 * the compiler keeps only what such packets need. */
INLINED void send_packet(struct adv_qp *qp, struct turn *t, const struct adv_send_wqe *wqe,
			 uint8_t *from, uint32_t n, unsigned position)
{
	bool last = position & LAST;
	/* As adv_requester_wants_ack(), for a QP that has lost nothing. */
	bool ackreq = t->since_ackreq + 1 >= ADV_ACKREQ_INTERVAL || t->window == 1 ||
		      (last && adv_requester_may_pause_after(qp, qp->sq.next));
	uint8_t pad = last ? -n & 3 : 0, flags = (uint8_t)(pad << ADV_BTH_PAD_SHIFT);
	uint8_t header_len = ADV_BTH_LEN;
	struct adv_tx_packet *pkt;

	if (last && (wqe->send_flags & IBV_SEND_SOLICITED))
		flags |= ADV_BTH_SOLICITED;
	pkt = add_packet(qp, t->batch, packet_opcode(wqe, position), flags,
			 t->psn | (ackreq ? ADV_BTH_ACKREQ : 0));
	if ((position & FIRST) && !is_send(wqe->opcode)) {
		adv_put_be64(pkt->header + ADV_BTH_LEN, wqe->remote_addr);
		adv_put_be32(pkt->header + ADV_BTH_LEN + 8, wqe->rkey);
		adv_put_be32(pkt->header + ADV_BTH_LEN + 12, wqe->length);
		header_len += RETH_LEN;
	}
	if (last &&
	    (wqe->opcode == IBV_WR_RDMA_WRITE_WITH_IMM || wqe->opcode == IBV_WR_SEND_WITH_IMM)) {
		memcpy(pkt->header + header_len, &wqe->imm, sizeof(wqe->imm));
		header_len += sizeof(wqe->imm);
	}
	pkt->header_len = header_len;
	pkt->pad = pad;
	pkt->payload_len = n;
	pkt->iov_count = !last || n;
	if (!last || n)
		add_payload(t->batch, pkt, from, n);
	t->since_ackreq = ackreq ? 0 : t->since_ackreq + 1;
	t->psn = adv_psn_add(t->psn, 1);
	t->room--;
	t->window--;
}

/* Returns the memory of a request; NULL: the general path must check the request. */
INLINED uint8_t *request_memory(struct adv_qp *qp, struct adv_send_wqe *wqe)
{
	if (!is_plain(wqe->opcode) || wqe->num_sge > 1 || wqe->failed ||
	    (wqe->send_flags & IBV_SEND_FENCE))
		return NULL;
	if (wqe->num_sge == 0 || wqe->length == 0)
		return (uint8_t *)wqe->sge;
	return adv_mr_recall(qp, &qp->fast.send, wqe->sge->lkey, wqe->sge->addr, wqe->length,
			     ADV_ACCESS_LOCAL_READ);
}

/* Adds packets of the request at the cursor, at least one: t->room is not 0. */
INLINED void send_request(struct adv_qp *qp, struct turn *t, const struct adv_send_wqe *wqe,
			  uint8_t *memory)
{
	uint32_t mtu = qp->mtu, left = wqe->length - qp->req.offset;
	uint8_t *from = memory + qp->req.offset;

	if (left > mtu && left == wqe->length) {
		send_packet(qp, t, wqe, from, mtu, FIRST);
		from += mtu;
		left -= mtu;
	}
	for (; left > mtu && t->room; left -= mtu, from += mtu)
		send_packet(qp, t, wqe, from, mtu, MIDDLE);
	if (!t->room) {
		qp->req.offset = wqe->length - left;
		return;
	}
	if (left == wqe->length)
		send_packet(qp, t, wqe, from, left, ONLY);
	else
		send_packet(qp, t, wqe, from, left, LAST);
	qp->req.offset = 0;
	qp->sq.next++;
}

/* Begins a turn. */
INLINED struct turn turn_begin(const struct adv_qp *qp, struct adv_tx_batch *batch)
{
	const struct adv_engine *e = qp->engine;
	uint32_t own = adv_flight_psns(qp), room = ADV_QUANTUM, window;

	window = own < qp->req.cwnd ? qp->req.cwnd - own : 0;
	if (e->in_flight + window > e->total_window)
		window = e->in_flight < e->total_window ? e->total_window - e->in_flight : 0;
	if (room > window)
		room = window;
	if (room > batch->limit - batch->count)
		room = batch->limit - batch->count;
	/* Each packet has at most one piece of memory. Stalled QPs need adv_flight_set(). */
	if (batch->iov_used + room + ADV_MAX_SGE > ADV_TX_BATCH_IOV || !adv_list_empty(&e->stalled))
		room = 0;
	return (struct turn){batch, room, window, qp->req.next_psn, qp->req.since_ackreq};
}

/* Ends a turn that has sent packets. */
INLINED void turn_end(struct adv_qp *qp, const struct turn *t, unsigned sent, uint64_t now)
{
	qp->engine->in_flight += sent;
	qp->engine->counters.tx_packets += sent;
	qp->req.next_psn = qp->req.max_psn = t->psn;
	qp->req.since_ackreq = t->since_ackreq;
	/* As adv_retransmit_arm(), for a QP that has lost nothing. */
	if (sent && qp->req.retransmit_timer.when == ADV_NEVER && qp->attr.timeout)
		adv_timer_set(&qp->engine->timers, &qp->req.retransmit_timer,
			      now + adv_retransmit_timeout_ns(qp));
}

INLINED void start_request(struct adv_send_wqe *wqe, const struct turn *t, uint32_t packets)
{
	wqe->psn_count = packets;
	wqe->first_psn = t->psn;
	wqe->started = true;
}

/* The most frequent turn: there is one request, of one packet. False: nothing has changed. */
INLINED bool send_only_request(struct adv_qp *qp, uint64_t now, struct adv_tx_batch *batch)
{
	struct adv_send_wqe *wqe = adv_send_wqe_at(qp, qp->sq.next);
	const struct adv_engine *e = qp->engine;
	/* A pause follows, so the packet requests an ACK, as the last one of a window. */
	struct turn t = {batch, .room = 1, .window = 1, .psn = qp->req.next_psn};
	uint8_t *memory;

	if (qp->sq.next + 1 != qp->sq.head || wqe->length > qp->mtu ||
	    adv_flight_psns(qp) >= qp->req.cwnd || e->in_flight >= e->total_window ||
	    batch->count >= batch->limit || !adv_list_empty(&e->stalled))
		return false;
	memory = request_memory(qp, wqe);
	if (!memory)
		return false;
	start_request(wqe, &t, 1);
	send_packet(qp, &t, wqe, memory, wqe->length, ONLY);
	qp->sq.next++;
	turn_end(qp, &t, 1, now);
	return true;
}

/* Adds packets of requests, as adv_requester_tx(). */
static __attribute__((noinline)) void send_all_requests(struct adv_qp *qp, uint64_t now,
							struct adv_tx_batch *batch)
{
	struct turn t = turn_begin(qp, batch);
	unsigned sent = t.room;

	while (t.room && qp->sq.next != qp->sq.head) {
		struct adv_send_wqe *wqe = adv_send_wqe_at(qp, qp->sq.next);
		uint8_t *memory = request_memory(qp, wqe);

		if (!memory || adv_long_is_next(qp, wqe))
			break;
		if (!wqe->started)
			start_request(wqe, &t, adv_message_packets(wqe->length, qp->mtu));
		send_request(qp, &t, wqe, memory);
	}
	sent -= t.room;
	turn_end(qp, &t, sent, now);
	if (qp->sq.next == qp->sq.head)
		return;
	if (sent == ADV_QUANTUM || !adv_outgoing_has_room(batch)) {
		adv_qp_schedule(qp); /* all that adv_requester_tx() would do */
		return;
	}
	adv_requester_tx(qp, now, batch, ADV_QUANTUM - sent);
	adv_qp_review(qp);
}

INLINED void send_requests(struct adv_qp *qp, uint64_t now, struct adv_tx_batch *batch)
{
	if (qp->sq.next != qp->sq.head && !send_only_request(qp, now, batch))
		send_all_requests(qp, now, batch);
}

/* ---- 5. acknowledge ---- */

/* Adds the pending ACK or NAK to the batch, which has room. */
INLINED void send_ack(struct adv_qp *qp, struct adv_tx_batch *batch)
{
	struct adv_responder *resp = &qp->resp;
	struct adv_tx_packet *pkt = add_packet(qp, batch, ADV_OP_ACKNOWLEDGE, 0, resp->ack_psn);

	adv_put_be32(pkt->header + ADV_BTH_LEN, (uint32_t)resp->ack_syndrome << 24 | resp->msn);
	pkt->header_len = ADV_BTH_LEN + AETH_LEN;
	pkt->pad = 0;
	pkt->payload_len = 0;
	pkt->iov_count = 0;
	qp->engine->counters.tx_packets++;
	resp->ack_pending = false;
	resp->ack_behind = false;
}

/* Adds the pending ACK behind requests, or leaves it for a batch of its own. */
static __attribute__((noinline)) void send_ack_behind(struct adv_qp *qp, struct adv_tx_batch *batch)
{
	if (!adv_responder_has_tx(qp))
		return;
	if (adv_responder_ack_goes_alone(qp, batch) || !adv_outgoing_has_room(batch))
		adv_qp_schedule(qp);
	else
		send_ack(qp, batch);
}

/* ---- turns ---- */

/* Gives a QP without ADV_UNUSUAL_FOR_TURN its turn, as serve_connected() in engine_tx.c: adds its
 * ACK and its requests to the batch, which has room. */
static __attribute__((noinline)) void take_turn(struct adv_qp *qp, uint64_t now,
						struct adv_tx_batch *batch)
{
	bool behind = qp->resp.ack_behind;

	if (!behind && adv_responder_has_tx(qp))
		send_ack(qp, batch);
	send_requests(qp, now, batch);
	if (behind)
		send_ack_behind(qp, batch);
}

bool adv_engine_tx_ready(const struct adv_engine *e)
{
	return !adv_list_empty(&e->tx_ready) || e->note_tail != e->note_head;
}

/* Gives turns until the batch is full or no QP is ready. */
static __attribute__((noinline)) unsigned serve_all(struct adv_engine *e, uint64_t now,
						    struct adv_tx_batch *batch)
{
	adv_outgoing_send_notes(e, batch);
	while (!adv_list_empty(&e->tx_ready) && adv_outgoing_has_room(batch)) {
		struct adv_qp *qp = adv_container_of(e->tx_ready.next, struct adv_qp, tx_node);

		adv_list_del(&qp->tx_node);
		if (!(qp->unusual & ADV_UNUSUAL_FOR_TURN) && !e->held_dscps)
			take_turn(qp, now, batch);
		else
			e->protocol->turn(qp, now, batch);
		if (adv_responder_ack_goes_alone(qp, batch))
			break;
	}
	if (!adv_engine_tx_ready(e))
		e->front.todo &= ~(uint32_t)ADV_TODO_TX;
	return batch->count;
}

/* Returns the only QP that is ready, if the engine has nothing else to send and the fast path may
 * serve the QP; else NULL. */
static inline struct adv_qp *only_usual_qp(const struct adv_engine *e)
{
	struct adv_list *first = e->tx_ready.next;
	struct adv_qp *qp = adv_container_of(first, struct adv_qp, tx_node);

	if (first->next != &e->tx_ready || first == &e->tx_ready || e->dead_ahs ||
	    e->note_tail != e->note_head || e->held_dscps)
		return NULL;
	return qp->unusual & ADV_UNUSUAL_FOR_TURN ? NULL : qp;
}

/* Ends the turn of the only ready QP: adds its requests, and its ACK if that comes last. */
static __attribute__((noinline)) unsigned end_only_turn(struct adv_qp *qp, uint64_t now,
							struct adv_tx_batch *batch)
{
	struct adv_engine *e = qp->engine;
	bool behind = qp->resp.ack_behind;

	send_requests(qp, now, batch);
	if (behind)
		send_ack_behind(qp, batch);
	/* Mostly the QP has sent all. */
	if (!adv_list_empty(&e->tx_ready) && adv_outgoing_has_room(batch) &&
	    !adv_responder_ack_goes_alone(qp, batch))
		return serve_all(e, now, batch);
	return batch->count;
}

/* Adds one packet of a QP that is in the middle of a message and has no ACK to send; so it stays
 * the only ready one. False: nothing has changed. */
INLINED bool send_middle(struct adv_qp *qp, uint64_t now, struct adv_tx_batch *batch)
{
	struct adv_send_wqe *wqe;
	uint8_t *memory;
	struct turn t;

	if (qp->sq.next == qp->sq.head || !qp->req.offset || adv_responder_has_tx(qp))
		return false;
	wqe = adv_send_wqe_at(qp, qp->sq.next);
	t = turn_begin(qp, batch);
	if (!t.room || wqe->length - qp->req.offset <= qp->mtu || adv_long_is_next(qp, wqe))
		return false;
	memory = request_memory(qp, wqe);
	if (!memory)
		return false;
	send_packet(qp, &t, wqe, memory + qp->req.offset, qp->mtu, MIDDLE);
	qp->req.offset += qp->mtu;
	turn_end(qp, &t, 1, now);
	return true;
}

/* As adv_engine_tx_some(). */
INLINED unsigned fill(struct adv_engine *e, uint64_t now, struct adv_tx_batch *batch,
		      unsigned limit)
{
	struct adv_qp *qp = only_usual_qp(e);

	batch->count = 0;
	batch->limit = limit;
	batch->iov_used = 0;
	if (!qp)
		return serve_all(e, now, batch);
	if (limit == 1 && send_middle(qp, now, batch))
		return 1;
	/* The list is empty without the QP. adv_qp_schedule() adds the QP again if it sends more.
	 */
	adv_list_init(&e->tx_ready);
	adv_list_init(&qp->tx_node);
	e->front.todo &= ~(uint32_t)ADV_TODO_TX;
	if (!qp->resp.ack_behind && adv_responder_has_tx(qp))
		send_ack(qp, batch);
	if (qp->sq.next != qp->sq.head || qp->resp.ack_behind)
		return end_only_turn(qp, now, batch);
	return batch->count;
}

unsigned adv_engine_tx_some(struct adv_engine *e, uint64_t now, struct adv_tx_batch *batch,
			    unsigned limit)
{
	return fill(e, now, batch, limit);
}

unsigned adv_engine_tx(struct adv_engine *e, uint64_t now, struct adv_tx_batch *batch)
{
	return fill(e, now, batch, ADV_TX_BATCH_PACKETS);
}
