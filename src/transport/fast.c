/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The fast path: one message from its post to its completion, in the order in which it travels.
 *
 *	1. post		the request is copied into the send queue
 *	2. send		the queue pair's turn: the request becomes packets
 *	3. receive	the peer checks a packet and places its payload
 *	4. complete	the peer completes a receive request and owes an ACK
 *	5. acknowledge	the peer's turn sends the ACK; the requester completes the request
 *
 * It serves RC queue pairs whose summary word (unusual.h) has no bit for the step: in RTS, without
 * losses, faults and rates. Requests are SENDs and WRITEs of at most one SGE. Packets have the
 * expected PSN. Everything else takes the general path, which decides what is right: post.c,
 * requester.c, responder.c, completer.c. Each step checks everything first and changes something
 * only when it is sure to finish. So it can leave a request or a packet to the general path at any
 * point before, and both paths always have the same result: packets, bytes, completions, events,
 * counters. tests/sim/simulate --compare checks this.
 */
#include "base/probe.h"
#include "transport/address.h"
#include "transport/cq.h"
#include "transport/fast.h"
#include "transport/message.h"
#include "transport/mr.h"
#include "transport/outgoing.h"
#include "transport/qp_complete.h"
#include "transport/qpn.h"
#include "transport/requester.h"
#include "transport/responder_tx.h"
#include "transport/retransmit.h"
#include "transport/srq.h"
#include "transport/window.h"
#include "wire/bytes.h"

/* ---- regions ---- */

/* Finds the region that `key` names and remembers it. Windows are not remembered: they have more
 * rules, see mw.c. */
static __attribute__((noinline)) bool find_region(const struct adv_qp *qp,
						  struct adv_region_memo *memo, uint32_t key)
{
	const struct adv_mr_table *table = &qp->engine->mrs;
	const struct adv_mr *mr = adv_mr_table_find(table, key);

	if (!mr || mr->key != key || mr->pd != qp->pd || mr->window)
		return false;
	memo->mr = mr;
	memo->generation = table->generation;
	return true;
}

/* As adv_mr_resolve(), but returns NULL also if only the general path can tell. `memo` is valid
 * until a region changes or disappears. */
static inline uint8_t *resolve_region(const struct adv_qp *qp, struct adv_region_memo *memo,
				      uint32_t key, uint64_t va, uint64_t length, int need)
{
	const struct adv_mr *mr;

	if ((memo->generation != qp->engine->mrs.generation || memo->mr->key != key) &&
	    !find_region(qp, memo, key))
		return NULL;
	mr = memo->mr;
	if (!(mr->access & need) || !adv_mr_contains(mr, va, length))
		return NULL;
	return mr->addr + (va - mr->iova);
}

/* ---- 1. post ---- */

/* True for the opcodes of the fast path: WRITE and SEND, with and without immediate data. They are
 * the first of enum ibv_wr_opcode. */
static inline bool is_plain(unsigned opcode)
{
	return opcode <= IBV_WR_SEND_WITH_IMM;
}

static inline bool is_send(unsigned opcode)
{
	return opcode >= IBV_WR_SEND;
}

bool adv_fast_post_send(struct adv_qp *qp, const struct ibv_send_wr *wr)
{
	const struct ibv_sge *sge = wr->sg_list;
	bool is_inline = wr->send_flags & IBV_SEND_INLINE;
	struct adv_send_wqe *wqe;

	if ((qp->unusual & ADV_UNUSUAL_FOR_POST) || !is_plain((unsigned)wr->opcode) ||
	    wr->num_sge != 1 || !sge || qp->sq.max_sge == 0 || !qp->sq.ring ||
	    qp->sq.head - qp->sq.freed >= qp->sq.size ||
	    sge->length > (is_inline ? qp->sq.max_inline : ADV_MAX_MSG))
		return false;
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
	};
	if (is_inline)
		memcpy(wqe->sge, (const void *)(uintptr_t)sge->addr, sge->length);
	else
		wqe->sge[0] = *sge;
	qp->sq.head++;
	ADV_PROBE(post_send, qp->qpn, wqe->wr_id, wqe->opcode, wqe->length);
	return true;
}

bool adv_fast_post_recv(struct adv_qp *qp, const struct ibv_recv_wr *wr)
{
	struct adv_recv_wqe *wqe;

	if ((qp->unusual & ADV_UNUSUAL_FOR_POST) || qp->srq || wr->num_sge != 1 ||
	    qp->rq.max_sge == 0 || !qp->rq.ring || qp->rq.head - qp->rq.freed >= qp->rq.size)
		return false;
	wqe = adv_recv_wqe_at(qp, qp->rq.head++);
	wqe->wr_id = wr->wr_id;
	wqe->length = wr->sg_list->length;
	wqe->num_sge = 1;
	wqe->sge[0] = *wr->sg_list;
	return true;
}

/* ---- 2. send ---- */

/* The position of a packet in its message. */
enum { FIRST = 1, LAST = 2 };

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
static inline struct adv_tx_packet *add_packet(struct adv_qp *qp, struct adv_tx_batch *batch,
					       uint8_t opcode, uint8_t flags, uint32_t psn)
{
	struct adv_tx_packet *pkt = &batch->packet[batch->count++];

	pkt->path = &qp->path;
	pkt->iov = &batch->iov[batch->iov_used];
	pkt->dest_qpn = qp->attr.dest_qp_num;
	pkt->ecn = adv_outgoing_ecn(qp->engine);
	pkt->icrc_flip = 0;
	adv_put_be64(pkt->header, qp->fast.bth | (uint64_t)opcode << 56 | (uint64_t)flags << 48);
	adv_put_be32(pkt->header + 8, psn);
	qp->engine->counters.tx_packets++;
	ADV_PROBE(packet_tx, qp->attr.dest_qp_num, psn & ADV_PSN_MASK, opcode);
	return pkt;
}

/* Adds one packet of a request: n bytes at `from`. */
static inline void send_packet(struct adv_qp *qp, struct adv_tx_batch *batch,
			       const struct adv_send_wqe *wqe, uint8_t *from, uint32_t n,
			       unsigned position)
{
	struct adv_requester *req = &qp->req;
	bool last = position & LAST, ackreq = adv_requester_wants_ack(qp, last);
	uint8_t opcode = packet_opcode(wqe, position), pad = -n & 3;
	uint8_t flags = (uint8_t)(pad << ADV_BTH_PAD_SHIFT);
	struct adv_tx_packet *pkt;
	uint8_t *p;

	if (last && (wqe->send_flags & IBV_SEND_SOLICITED))
		flags |= ADV_BTH_SOLICITED;
	pkt = add_packet(qp, batch, opcode, flags, req->next_psn | (ackreq ? ADV_BTH_ACKREQ : 0));
	p = pkt->header + ADV_BTH_LEN;
	if ((position & FIRST) && !is_send(wqe->opcode)) {
		adv_put_be64(p, wqe->remote_addr);
		adv_put_be32(p + 8, wqe->rkey);
		adv_put_be32(p + 12, wqe->length);
		p += 16;
	}
	if (last && (wqe->opcode & 1)) { /* with immediate data */
		memcpy(p, &wqe->imm, sizeof(wqe->imm));
		p += sizeof(wqe->imm);
	}
	pkt->header_len = (uint8_t)(p - pkt->header);
	pkt->pad = pad;
	pkt->payload_len = n;
	pkt->iov_count = n > 0;
	if (n)
		batch->iov[batch->iov_used++] = (struct iovec){from, n};
	req->since_ackreq = ackreq ? 0 : req->since_ackreq + 1;
	req->next_psn = req->max_psn = adv_psn_add(req->next_psn, 1);
	qp->engine->in_flight++;
}

/* Returns the memory of a request; NULL: the general path must check the request. */
static inline uint8_t *request_memory(struct adv_qp *qp, struct adv_send_wqe *wqe)
{
	if (!is_plain(wqe->opcode) || wqe->num_sge > 1 || wqe->failed ||
	    (wqe->send_flags & IBV_SEND_FENCE))
		return NULL;
	if (wqe->num_sge == 0 || wqe->length == 0)
		return (uint8_t *)wqe->sge;
	return resolve_region(qp, &qp->fast.send, wqe->sge->lkey, wqe->sge->addr, wqe->length,
			      ADV_ACCESS_LOCAL_READ);
}

/* Adds packets of the request at the cursor. Returns the rest of the budget. If the request is not
 * sent whole, the budget, the batch or a window is used up. */
static inline unsigned send_request(struct adv_qp *qp, struct adv_tx_batch *batch,
				    struct adv_send_wqe *wqe, uint8_t *memory, unsigned budget)
{
	struct adv_requester *req = &qp->req;
	uint32_t left = wqe->length - req->offset;

	while (budget && adv_outgoing_has_room(batch) && adv_flight_has_room(qp, 1)) {
		unsigned position = req->offset == 0 ? FIRST : 0;
		uint32_t n = qp->mtu;

		budget--;
		if (left <= qp->mtu) {
			n = left;
			position |= LAST;
		}
		send_packet(qp, batch, wqe, memory + req->offset, n, position);
		if (position & LAST) {
			req->offset = 0;
			qp->sq.next++;
			break;
		}
		req->offset += n;
		left -= n;
	}
	return budget;
}

/* Adds packets of requests, as adv_requester_tx(). */
static inline void send_requests(struct adv_qp *qp, uint64_t now, struct adv_tx_batch *batch)
{
	unsigned budget = ADV_QUANTUM;

	while (qp->sq.next != qp->sq.head && budget && adv_outgoing_has_room(batch)) {
		struct adv_send_wqe *wqe = adv_send_wqe_at(qp, qp->sq.next);
		uint32_t request = qp->sq.next;
		uint8_t *memory = request_memory(qp, wqe);

		if (!memory)
			break;
		if (!wqe->started) {
			wqe->psn_count = adv_message_packets(wqe->length, qp->mtu);
			wqe->first_psn = qp->req.next_psn;
			wqe->started = true;
		}
		budget = send_request(qp, batch, wqe, memory, budget);
		if (qp->sq.next == request)
			break;
	}
	if (budget < ADV_QUANTUM && qp->req.retransmit_timer.when == ADV_NEVER)
		adv_retransmit_arm(qp, now);
	if (qp->sq.next != qp->sq.head) {
		adv_requester_tx(qp, now, batch, budget);
		adv_qp_review(qp);
	}
}

/* ---- 3. receive ---- */

/* A request that was received, or the checked part of it. */
struct arrival {
	const struct adv_rx_packet *pkt;
	const struct adv_opcode_info *info;
	const uint8_t *payload;
	uint32_t payload_len;
	uint32_t psn; /* the last four bytes of the BTH, with ADV_BTH_ACKREQ */
	uint8_t opcode;
	bool solicited;
};

/* Separates header and payload, and checks the length (IBTA 9.7.4.1.6). */
static inline bool split_packet(const struct adv_qp *qp, struct arrival *a, uint8_t flags)
{
	uint32_t header_len = a->info->length, rest = a->pkt->len - header_len;
	uint32_t pad = flags >> ADV_BTH_PAD_SHIFT & ADV_BTH_PAD_MASK;

	if (a->pkt->len < header_len || pad > rest || (rest & 3))
		return false;
	a->payload = adv_rx_payload(a->pkt, header_len);
	a->payload_len = rest - pad;
	a->solicited = flags & ADV_BTH_SOLICITED;
	if (!(a->info->flags & ADV_PKT_END))
		return a->payload_len == qp->mtu;
	return a->payload_len <= qp->mtu &&
	       ((a->info->flags & ADV_PKT_START) || a->payload_len > 0);
}

/* Returns the receive request that the next message uses; NULL: none. */
static inline struct adv_recv_wqe *peek_recv(const struct adv_qp *qp)
{
	if (qp->srq)
		return adv_srq_peek(qp->srq);
	return qp->rq.next != qp->rq.head ? adv_recv_wqe_at(qp, qp->rq.next) : NULL;
}

/* Dequeues the receive request that peek_recv() returned. */
static inline void take_recv(struct adv_qp *qp)
{
	if (qp->srq)
		adv_srq_take(qp->srq);
	else
		qp->rq.next++;
}

static void complete_recv(struct adv_qp *qp, const struct arrival *a, struct adv_recv_wqe *recv,
			  uint32_t length, uint64_t now);

/* Accepts a packet: advances the expected PSN and acknowledges (as adv_message_accept()). */
static inline void accept_packet(struct adv_qp *qp, const struct arrival *a,
				 enum adv_message message, uint64_t now)
{
	struct adv_responder *resp = &qp->resp;
	bool end = a->info->flags & ADV_PKT_END;

	ADV_PROBE(packet_rx, qp->qpn, a->psn & ADV_PSN_MASK, a->opcode, a->payload_len);
	resp->nak_sent = false;
	resp->message = end ? ADV_MSG_NONE : message;
	if (end)
		resp->msn = (resp->msn + 1) & ADV_PSN_MASK;
	if ((a->psn & ADV_BTH_ACKREQ) && end)
		adv_responder_ack_message(qp, resp->epsn, now);
	else if (a->psn & ADV_BTH_ACKREQ)
		adv_responder_ack_queue(qp, ADV_AETH_ACK | ADV_AETH_NO_CREDITS, resp->epsn);
	resp->epsn = adv_psn_add(resp->epsn, 1);
}

static inline bool receive_send(struct adv_qp *qp, const struct arrival *a, uint64_t now)
{
	struct adv_responder *resp = &qp->resp;
	bool start = a->info->flags & ADV_PKT_START, end = a->info->flags & ADV_PKT_END;
	uint64_t offset = start ? 0 : resp->offset;
	struct adv_recv_wqe *recv;
	uint8_t *to = NULL;

	if (resp->message != (start ? ADV_MSG_NONE : ADV_MSG_SEND) || (start && resp->recv))
		return false;
	recv = start ? peek_recv(qp) : resp->recv;
	if (!recv || recv->num_sge != 1 || offset + a->payload_len > recv->length)
		return false;
	if (a->payload_len) {
		to = resolve_region(qp, &qp->fast.recv, recv->sge->lkey, recv->sge->addr + offset,
				    a->payload_len, IBV_ACCESS_LOCAL_WRITE);
		if (!to)
			return false;
	}
	if (end && !adv_cq_reserve(qp->recv_cq))
		return false;
	if (start)
		take_recv(qp);
	if (a->payload_len)
		memcpy(to, a->payload, a->payload_len);
	resp->offset = offset + a->payload_len;
	resp->recv = end ? NULL : recv;
	accept_packet(qp, a, ADV_MSG_SEND, now);
	if (end)
		complete_recv(qp, a, recv, (uint32_t)resp->offset, now);
	return true;
}

/* Reads the RETH of a WRITE and checks the whole range. */
static inline bool begin_write(struct adv_qp *qp, const struct arrival *a)
{
	const uint8_t *reth = a->pkt->data + ADV_BTH_LEN;
	struct adv_responder *resp = &qp->resp;
	uint64_t va = adv_get_be64(reth);
	uint32_t rkey = adv_get_be32(reth + 8), length = adv_get_be32(reth + 12);

	if (!(qp->attr.qp_access_flags & IBV_ACCESS_REMOTE_WRITE) || length > ADV_MAX_MSG ||
	    (length &&
	     !resolve_region(qp, &qp->fast.remote, rkey, va, length, IBV_ACCESS_REMOTE_WRITE)))
		return false;
	/* Without a message in progress, these members have no meaning. */
	resp->write_va = va;
	resp->write_rkey = rkey;
	resp->write_length = length;
	resp->offset = 0;
	return true;
}

static inline bool receive_write(struct adv_qp *qp, const struct arrival *a, uint64_t now)
{
	struct adv_responder *resp = &qp->resp;
	bool start = a->info->flags & ADV_PKT_START, end = a->info->flags & ADV_PKT_END;
	bool imm = a->info->headers & ADV_HAS_IMMDT;
	struct adv_recv_wqe *recv = NULL;
	uint8_t *to = NULL;
	uint64_t next;

	if (resp->message != (start ? ADV_MSG_NONE : ADV_MSG_WRITE) || resp->recv)
		return false;
	if (imm) {
		recv = peek_recv(qp);
		if (!recv || !adv_cq_reserve(qp->recv_cq))
			return false;
	}
	if (start && !begin_write(qp, a))
		return false;
	next = resp->offset + a->payload_len;
	if (next > resp->write_length || (end && next != resp->write_length))
		return false;
	if (a->payload_len) {
		to = resolve_region(qp, &qp->fast.remote, resp->write_rkey,
				    resp->write_va + resp->offset, a->payload_len,
				    IBV_ACCESS_REMOTE_WRITE);
		if (!to)
			return false;
	}
	if (imm)
		take_recv(qp);
	adv_payload_store(to, a->payload, a->payload_len);
	resp->offset = next;
	if (start)
		qp->engine->counters.rx_write_requests++;
	accept_packet(qp, a, ADV_MSG_WRITE, now);
	if (imm)
		complete_recv(qp, a, recv, resp->write_length, now);
	return true;
}

/* ---- 4. complete ---- */

/* Completes a receive request. The CQ has room. */
static void complete_recv(struct adv_qp *qp, const struct arrival *a, struct adv_recv_wqe *recv,
			  uint32_t length, uint64_t now)
{
	bool imm = a->info->headers & ADV_HAS_IMMDT;
	struct adv_cqe *cqe = adv_cq_reserve(qp->recv_cq);

	*cqe = (struct adv_cqe){
		.wc = {.wr_id = recv->wr_id,
		       .status = IBV_WC_SUCCESS,
		       .opcode = a->info->flags & ADV_PKT_WRITE ? IBV_WC_RECV_RDMA_WITH_IMM
								: IBV_WC_RECV,
		       .byte_len = length,
		       .qp_num = qp->qpn,
		       .src_qp = qp->attr.dest_qp_num,
		       .wc_flags = imm ? IBV_WC_WITH_IMM : 0},
		.timestamp = now,
		.qp = qp,
		.release = qp->rq.next,
		.is_recv = true,
	};
	if (imm) /* the last of the headers */
		memcpy(&cqe->wc.imm_data, a->pkt->data + a->info->length - sizeof(uint32_t),
		       sizeof(uint32_t));
	if (qp->srq)
		adv_srq_release(qp->srq, recv);
	adv_cq_commit(qp->recv_cq, a->solicited, now);
}

/* ---- 5. acknowledge ---- */

/* Adds the pending ACK or NAK to the batch, which has room. */
static inline void send_ack(struct adv_qp *qp, struct adv_tx_batch *batch)
{
	struct adv_responder *resp = &qp->resp;
	struct adv_tx_packet *pkt = add_packet(qp, batch, ADV_OP_ACKNOWLEDGE, 0, resp->ack_psn);

	adv_put_be32(pkt->header + ADV_BTH_LEN, (uint32_t)resp->ack_syndrome << 24 | resp->msn);
	pkt->header_len = ADV_BTH_LEN + 4;
	pkt->pad = 0;
	pkt->payload_len = 0;
	pkt->iov_count = 0;
	resp->ack_pending = false;
	resp->ack_behind = false;
}

/* The order is that of serve_connected() in engine_tx.c. */
void adv_fast_turn(struct adv_qp *qp, uint64_t now, struct adv_tx_batch *batch)
{
	struct adv_responder *resp = &qp->resp;
	bool behind = resp->ack_behind;

	if (resp->ack_pending && !behind && !adv_responder_ack_waits(qp))
		send_ack(qp, batch);
	if (qp->sq.next != qp->sq.head)
		send_requests(qp, now, batch);
	if (!behind || !adv_responder_has_tx(qp))
		return;
	if (adv_responder_ack_goes_alone(qp, batch) || !adv_outgoing_has_room(batch))
		adv_qp_schedule(qp);
	else
		send_ack(qp, batch);
}

/* Completes the oldest request, which was successful, as adv_qp_complete_send(). */
static inline void complete_send(struct adv_qp *qp, const struct adv_send_wqe *wqe, uint64_t now)
{
	struct adv_cqe *cqe;

	if (qp->sq_sig_all || (wqe->send_flags & IBV_SEND_SIGNALED)) {
		cqe = is_plain(wqe->opcode) ? adv_cq_reserve(qp->send_cq) : NULL;
		if (!cqe) {
			adv_qp_complete_send(qp, IBV_WC_SUCCESS, ADV_ERR_NONE, now);
			return;
		}
		*cqe = (struct adv_cqe){
			.wc = {.wr_id = wqe->wr_id,
			       .status = IBV_WC_SUCCESS,
			       .opcode = is_send(wqe->opcode) ? IBV_WC_SEND : IBV_WC_RDMA_WRITE,
			       .byte_len = wqe->length,
			       .qp_num = qp->qpn},
			.timestamp = now,
			.qp = qp,
			.release = qp->sq.tail + 1,
		};
		adv_cq_commit(qp->send_cq, false, now);
	}
	if (qp->sq.next == qp->sq.tail)
		qp->sq.next++;
	qp->sq.tail++;
}

/* Handles an ACK for packets in flight: completes the requests that end before its PSN. */
static inline bool receive_ack(struct adv_qp *qp, const struct adv_rx_packet *pkt, uint8_t flags,
			       uint32_t psn, uint64_t now)
{
	struct adv_requester *req = &qp->req;
	uint32_t acked = (psn - req->una_psn) & ADV_PSN_MASK, end = adv_psn_add(psn, 1);

	if ((qp->unusual & ADV_UNUSUAL_FOR_ACK) || pkt->len != ADV_BTH_LEN + 4 ||
	    (flags >> ADV_BTH_PAD_SHIFT & ADV_BTH_PAD_MASK) || acked >= adv_flight_psns(qp) ||
	    (pkt->data[ADV_BTH_LEN] & ADV_AETH_TYPE_MASK) != ADV_AETH_ACK)
		return false;
	ADV_PROBE(packet_rx, qp->qpn, psn & ADV_PSN_MASK, ADV_OP_ACKNOWLEDGE, 0);
	ADV_PROBE(ack, qp->qpn, psn & ADV_PSN_MASK);
	if (req->cwnd < qp->engine->window)
		adv_window_acked(qp, acked + 1, true);
	adv_flight_set(qp, end, req->next_psn);
	while (qp->sq.tail != qp->sq.head && qp->state == IBV_QPS_RTS) {
		const struct adv_send_wqe *wqe = adv_send_wqe_at(qp, qp->sq.tail);

		if (!wqe->started ||
		    adv_psn_diff(adv_psn_add(wqe->first_psn, wqe->psn_count), end) > 0)
			break;
		complete_send(qp, wqe, now);
	}
	if (qp->state != IBV_QPS_RTS)
		return true;
	adv_retransmit_arm(qp, now);
	if (qp->sq.next != qp->sq.head)
		adv_qp_schedule(qp);
	return true;
}

/* ---- incoming packets ---- */

/* The bits of a BTH's first 8 bytes that must have one value: the version and the P_Key, except its
 * membership bit. */
#define FIXED_MASK  ((uint64_t)ADV_BTH_TVER_MASK << 48 | (uint64_t)0x7fff << 32)
#define FIXED_VALUE ((uint64_t)(ADV_PKEY_DEFAULT & 0x7fff) << 32)

/* True if the QP's peer sent the packet to the QP. */
static inline bool is_from_peer(const struct adv_qp *qp, const struct adv_rx_meta *meta)
{
	const struct adv_engine *e = qp->engine;

	return adv_gid_equal(&meta->sgid, &qp->path.dgid) &&
	       adv_gid_equal(&meta->dgid, &qp->path.sgid) &&
	       (!qp->peer_is_here || !e->sender_port ||
		adv_address_is_of_qpn(e, qp->attr.dest_qp_num, meta));
}

bool adv_fast_rx(struct adv_engine *e, uint64_t now, const struct adv_rx_packet *pkt)
{
	struct arrival a = {.pkt = pkt};
	struct adv_qp *qp;
	uint8_t flags;
	uint64_t bth;
	bool done;

	if (pkt->len < ADV_BTH_LEN + 4 || (pkt->meta->tclass & ADV_ECN_MASK) == ADV_ECN_CE)
		return false;
	bth = adv_get_be64(pkt->data);
	a.psn = adv_get_be32(pkt->data + 8);
	a.opcode = (uint8_t)(bth >> 56);
	flags = (uint8_t)(bth >> 48);
	if ((bth & FIXED_MASK) != FIXED_VALUE || a.opcode > ADV_OP_ACKNOWLEDGE)
		return false;
	qp = adv_qp_number_find(e, (uint32_t)bth & ADV_QPN_MASK);
	if (!qp || (qp->unusual & ADV_UNUSUAL_FOR_REQUEST) || !is_from_peer(qp, pkt->meta))
		return false;
	if (a.opcode == ADV_OP_ACKNOWLEDGE) {
		done = receive_ack(qp, pkt, flags, a.psn, now);
	} else {
		a.info = &adv_opcode_table[a.opcode];
		if ((a.psn & ADV_PSN_MASK) != qp->resp.epsn || !split_packet(qp, &a, flags))
			return false;
		if (a.info->flags & ADV_PKT_SEND)
			done = receive_send(qp, &a, now);
		else
			done = (a.info->flags & ADV_PKT_REQUEST) &&
			       (a.info->flags & ADV_PKT_WRITE) && receive_write(qp, &a, now);
	}
	e->counters.rx_packets += done;
	return done;
}
