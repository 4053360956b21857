/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The sending half of the fast path (fast.h): posts, and the turns of a queue pair. */
#include "base/copy.h"
#include "nic/fast/recv.h"
#include "nic/fast/request.h"
#include "nic/queue/post.h"
#include "nic/engine/protocol.h"
#include "nic/responder/tx.h"

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

INLINED void send_requests(struct adv_qp *qp, uint64_t now, struct adv_tx_batch *batch)
{
	if (qp->sq.next != qp->sq.head && !send_only_request(qp, now, batch))
		adv_fast_send_requests(qp, now, batch, ADV_QUANTUM);
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

/* Gives a QP without ADV_UNUSUAL_FOR_TURN its turn, as serve_connected() in nic/engine/tx.c: adds
 * its ACK and its requests to the batch, which has room. */
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
	t = turn_begin(qp, batch, 1);
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
INLINED unsigned fill_batch(struct adv_engine *e, uint64_t now, struct adv_tx_batch *batch,
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
	return fill_batch(e, now, batch, limit);
}

unsigned adv_engine_tx(struct adv_engine *e, uint64_t now, struct adv_tx_batch *batch)
{
	return fill_batch(e, now, batch, ADV_TX_BATCH_PACKETS);
}
