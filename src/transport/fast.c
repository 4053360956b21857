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
 * It serves RC queue pairs whose summary word (unusual.h) has no bit for the step. Requests are
 * SENDs and WRITEs of at most one SGE; packets have the expected PSN. All else takes the general
 * path, which decides what is right: post.c, requester.c, responder.c, completer.c. Each step
 * checks everything before it changes something, so it can leave a request or a packet to the
 * general path until then. Both have the same results: tests/sim/simulate --compare checks this.
 */
#include "base/probe.h"
#include "transport/address.h"
#include "transport/cq.h"
#include "transport/fast.h"
#include "transport/message.h"
#include "transport/mr_memo.h"
#include "transport/outgoing.h"
#include "transport/post.h"
#include "transport/qp_complete.h"
#include "transport/qpn.h"
#include "transport/requester.h"
#include "transport/responder_tx.h"
#include "transport/retransmit.h"
#include "transport/srq.h"
#include "transport/window.h"
#include "wire/bytes.h"

/* For the parts of a step: they are separate to be read, and one function to be fast. */
#define INLINED static inline __attribute__((always_inline))

/* ---- 1. post ---- */

#define AETH_LEN  4
#define RETH_LEN  16
#define IMMDT_LEN 4

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

/* Posts one send request. False: nothing has changed, the general path must check the request. */
static inline bool post_send(struct adv_qp *qp, const struct ibv_send_wr *wr)
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

int adv_qp_post_send(struct adv_qp *qp, uint64_t now, struct ibv_send_wr *wr,
		     struct ibv_send_wr **bad_wr)
{
	const struct ibv_send_wr *first = wr;
	int err = 0;

	while (wr && post_send(qp, wr))
		wr = wr->next;
	if (wr || !first)
		err = adv_post_sends(qp, now, wr, bad_wr);
	if (qp->sq.next != qp->sq.head)
		adv_qp_schedule(qp);
	if (qp->resp.asked_at)
		adv_responder_ack_posted(qp, now);
	return err;
}

/* Posts one receive request, like post_send(). */
static inline bool post_recv(struct adv_qp *qp, const struct ibv_recv_wr *wr)
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

int adv_qp_post_recv(struct adv_qp *qp, uint64_t now, struct ibv_recv_wr *wr,
		     struct ibv_recv_wr **bad_wr)
{
	const struct ibv_recv_wr *first = wr;

	while (wr && post_recv(qp, wr))
		wr = wr->next;
	return wr || !first ? adv_post_recvs(qp, now, wr, bad_wr) : 0;
}

/* ---- 2. send ---- */

/* The position of a packet in its message. */
enum { MIDDLE = 0, FIRST = 1, LAST = 2, ONLY = FIRST | LAST };

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
	pkt->iov = &batch->iov[batch->iov_used];
	pkt->dest_qpn = qp->attr.dest_qp_num;
	pkt->ecn = adv_outgoing_ecn(qp->engine);
	pkt->icrc_flip = pkt->more = 0;
	adv_put_be64(pkt->header, qp->fast.bth | (uint64_t)opcode << 56 | (uint64_t)flags << 48);
	adv_put_be32(pkt->header + 8, psn);
	ADV_PROBE(packet_tx, qp->attr.dest_qp_num, psn & ADV_PSN_MASK, opcode);
	return pkt;
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
		t->batch->iov[t->batch->iov_used++] = (struct iovec){from, n};
	t->since_ackreq = ackreq ? 0 : t->since_ackreq + 1;
	t->psn = adv_psn_add(t->psn, 1);
	t->room--;
	t->window--;
}

/* Returns the memory of a request; NULL: the general path must check the request. */
INLINED uint8_t *request_memory(struct adv_qp *qp, struct adv_send_wqe *wqe)
{
	if (!is_plain(wqe->opcode) || wqe->num_sge > 1 || wqe->failed ||
	    (wqe->send_flags & IBV_SEND_FENCE) || adv_long_is_next(qp, wqe))
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

/* Adds packets of requests, as adv_requester_tx(). */
static __attribute__((noinline)) void send_requests(struct adv_qp *qp, uint64_t now,
						    struct adv_tx_batch *batch)
{
	struct turn t = turn_begin(qp, batch);
	unsigned sent = t.room;

	while (t.room && qp->sq.next != qp->sq.head) {
		struct adv_send_wqe *wqe = adv_send_wqe_at(qp, qp->sq.next);
		uint8_t *memory = request_memory(qp, wqe);

		if (!memory)
			break;
		if (!wqe->started) {
			wqe->psn_count = adv_message_packets(wqe->length, qp->mtu);
			wqe->first_psn = t.psn;
			wqe->started = true;
		}
		send_request(qp, &t, wqe, memory);
	}
	sent -= t.room;
	qp->engine->in_flight += sent;
	qp->engine->counters.tx_packets += sent;
	qp->req.next_psn = qp->req.max_psn = t.psn;
	qp->req.since_ackreq = t.since_ackreq;
	if (sent && qp->req.retransmit_timer.when == ADV_NEVER)
		adv_retransmit_arm(qp, now);
	if (qp->sq.next != qp->sq.head) {
		adv_requester_tx(qp, now, batch, ADV_QUANTUM - sent);
		adv_qp_review(qp);
	}
}

/* ---- 3. receive ---- */

/* A received SEND or WRITE packet. The callers of the functions below set opcode, position and imm
 * to constants, so that the compiler keeps only what such packets need. */
struct arrival {
	uint8_t opcode;
	unsigned position;
	bool imm; /* with immediate data */
	const struct adv_rx_packet *pkt;
	const uint8_t *payload;
	uint32_t payload_len;
	uint32_t psn; /* the last four bytes of the BTH, with ADV_BTH_ACKREQ */
	uint8_t flags;
};

/* Returns the length of the packet's headers. */
INLINED uint32_t headers_of(const struct arrival *a)
{
	bool reth = (a->position & FIRST) && a->opcode >= ADV_OP_WRITE_FIRST;

	return ADV_BTH_LEN + (reth ? RETH_LEN : 0) + (a->imm ? IMMDT_LEN : 0);
}

/* Reads the BTH. False: the PSN is not the expected one, or the length is wrong (IBTA
 * 9.7.4.1.6). */
INLINED bool read_request(const struct adv_qp *qp, struct arrival *a)
{
	uint32_t header_len = headers_of(a), rest = a->pkt->len - header_len, pad;

	a->psn = adv_get_be32(a->pkt->data + 8);
	a->flags = a->pkt->data[1];
	pad = a->flags >> ADV_BTH_PAD_SHIFT & ADV_BTH_PAD_MASK;
	if ((a->psn & ADV_PSN_MASK) != qp->resp.epsn || a->pkt->len < header_len || pad > rest ||
	    (rest & 3))
		return false;
	a->payload = adv_rx_payload(a->pkt, header_len);
	a->payload_len = rest - pad;
	if (!(a->position & LAST))
		return a->payload_len == qp->mtu;
	return a->payload_len <= qp->mtu && ((a->position & FIRST) || a->payload_len > 0);
}

/* Returns the receive request that the next message uses; NULL: none. */
INLINED struct adv_recv_wqe *peek_recv(const struct adv_qp *qp)
{
	if (qp->srq)
		return adv_srq_peek(qp->srq);
	return qp->rq.next != qp->rq.head ? adv_recv_wqe_at(qp, qp->rq.next) : NULL;
}

/* Dequeues the receive request that peek_recv() returned. */
INLINED void take_recv(struct adv_qp *qp)
{
	if (qp->srq)
		adv_srq_take(qp->srq);
	else
		qp->rq.next++;
}

INLINED void complete_recv(struct adv_qp *qp, const struct arrival *a, struct adv_cqe *cqe,
			   struct adv_recv_wqe *recv, uint32_t length, uint64_t now);

/* Accepts a packet: advances the expected PSN and acknowledges (as adv_message_accept()). */
INLINED void accept_packet(struct adv_qp *qp, const struct arrival *a, enum adv_message message,
			   uint64_t now)
{
	struct adv_responder *resp = &qp->resp;

	ADV_PROBE(packet_rx, qp->qpn, resp->epsn, a->opcode, a->payload_len);
	resp->nak_sent = false;
	resp->message = a->position & LAST ? ADV_MSG_NONE : message;
	if (a->position & LAST)
		resp->msn = (resp->msn + 1) & ADV_PSN_MASK;
	if ((a->psn & ADV_BTH_ACKREQ) && (a->position & LAST))
		adv_responder_ack_message(qp, resp->epsn, now);
	else if (a->psn & ADV_BTH_ACKREQ)
		adv_responder_ack_queue(qp, ADV_AETH_ACK | ADV_AETH_NO_CREDITS, resp->epsn);
	resp->epsn = adv_psn_add(resp->epsn, 1);
}

INLINED bool receive_send(struct adv_qp *qp, struct arrival *a, uint64_t now)
{
	struct adv_responder *resp = &qp->resp;
	struct adv_recv_wqe *recv;
	struct adv_cqe *cqe = NULL;
	uint8_t *to = NULL;
	bool start = a->position & FIRST, last = a->position & LAST;
	uint64_t offset;

	if (!read_request(qp, a) || (start && resp->recv) ||
	    resp->message != (start ? ADV_MSG_NONE : ADV_MSG_SEND))
		return false;
	offset = start ? 0 : resp->offset;
	recv = start ? peek_recv(qp) : resp->recv;
	if (!recv || recv->num_sge != 1 || offset + a->payload_len > recv->length)
		return false;
	if (a->payload_len) {
		to = adv_mr_recall(qp, &qp->fast.recv, recv->sge->lkey, recv->sge->addr + offset,
				   a->payload_len, IBV_ACCESS_LOCAL_WRITE);
		if (!to)
			return false;
	}
	if (last) {
		cqe = adv_cq_reserve(qp->recv_cq);
		if (!cqe)
			return false;
	}
	if (start)
		take_recv(qp);
	if (a->payload_len)
		memcpy(to, a->payload, a->payload_len);
	resp->offset = offset + a->payload_len;
	resp->recv = last ? NULL : recv;
	accept_packet(qp, a, ADV_MSG_SEND, now);
	if (last)
		complete_recv(qp, a, cqe, recv, (uint32_t)resp->offset, now);
	return true;
}

/* Reads the RETH of a WRITE and checks the whole range. Returns its memory; NULL: the general path
 * must check the packet. Without a message in progress, the members that it sets have no meaning.
 */
INLINED uint8_t *begin_write(struct adv_qp *qp, const struct arrival *a)
{
	const uint8_t *reth = a->pkt->data + ADV_BTH_LEN;
	struct adv_responder *resp = &qp->resp;

	resp->write_va = adv_get_be64(reth);
	resp->write_rkey = adv_get_be32(reth + 8);
	resp->write_length = adv_get_be32(reth + 12);
	resp->offset = 0;
	if (!(qp->attr.qp_access_flags & IBV_ACCESS_REMOTE_WRITE) ||
	    resp->write_length > ADV_MAX_MSG || resp->write_length == 0)
		return NULL;
	return adv_mr_recall(qp, &qp->fast.remote, resp->write_rkey, resp->write_va,
			     resp->write_length, IBV_ACCESS_REMOTE_WRITE);
}

INLINED bool receive_write(struct adv_qp *qp, struct arrival *a, uint64_t now)
{
	struct adv_responder *resp = &qp->resp;
	struct adv_recv_wqe *recv = NULL;
	struct adv_cqe *cqe = NULL;
	bool start = a->position & FIRST, last = a->position & LAST;
	uint64_t next;
	uint8_t *to;

	if (!read_request(qp, a) || resp->recv ||
	    resp->message != (start ? ADV_MSG_NONE : ADV_MSG_WRITE))
		return false;
	if (a->imm) {
		recv = peek_recv(qp);
		cqe = adv_cq_reserve(qp->recv_cq);
		if (!recv || !cqe)
			return false;
	}
	if (start)
		to = begin_write(qp, a);
	else
		to = adv_mr_recall(qp, &qp->fast.remote, resp->write_rkey,
				   resp->write_va + resp->offset, a->payload_len,
				   IBV_ACCESS_REMOTE_WRITE);
	next = resp->offset + a->payload_len;
	if (!to || next > resp->write_length || (last && next != resp->write_length))
		return false;
	if (a->imm)
		take_recv(qp);
	adv_payload_store(to, a->payload, a->payload_len);
	resp->offset = next;
	if (start)
		qp->engine->counters.rx_write_requests++;
	accept_packet(qp, a, ADV_MSG_WRITE, now);
	if (a->imm)
		complete_recv(qp, a, cqe, recv, resp->write_length, now);
	return true;
}

/* ---- 4. complete ---- */

/* Completes a receive request. adv_cq_reserve() has returned cqe. */
INLINED void complete_recv(struct adv_qp *qp, const struct arrival *a, struct adv_cqe *cqe,
			   struct adv_recv_wqe *recv, uint32_t length, uint64_t now)
{
	*cqe = (struct adv_cqe){
		.wc = {.wr_id = recv->wr_id,
		       .status = IBV_WC_SUCCESS,
		       .opcode = a->opcode < ADV_OP_WRITE_FIRST ? IBV_WC_RECV
								: IBV_WC_RECV_RDMA_WITH_IMM,
		       .byte_len = length,
		       .qp_num = qp->qpn,
		       .src_qp = qp->attr.dest_qp_num,
		       .wc_flags = a->imm ? IBV_WC_WITH_IMM : 0},
		.timestamp = now,
		.qp = qp,
		.release = qp->rq.next,
		.is_recv = true,
	};
	if (a->imm) /* the last of the headers */
		memcpy(&cqe->wc.imm_data, a->pkt->data + headers_of(a) - IMMDT_LEN, IMMDT_LEN);
	if (qp->srq)
		adv_srq_release(qp->srq, recv);
	adv_cq_commit(qp->recv_cq, a->flags & ADV_BTH_SOLICITED, now);
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

/* A turn in which the ACK follows the requests. */
static void send_ack_behind(struct adv_qp *qp, uint64_t now, struct adv_tx_batch *batch)
{
	if (qp->sq.next != qp->sq.head)
		send_requests(qp, now, batch);
	if (!adv_responder_has_tx(qp))
		return;
	if (adv_responder_ack_goes_alone(qp, batch) || !adv_outgoing_has_room(batch))
		adv_qp_schedule(qp);
	else
		send_ack(qp, batch);
}

/* In the order of serve_connected() in engine_tx.c. */
void adv_fast_turn(struct adv_qp *qp, uint64_t now, struct adv_tx_batch *batch)
{
	if (qp->resp.ack_behind) {
		send_ack_behind(qp, now, batch);
		return;
	}
	if (adv_responder_has_tx(qp))
		send_ack(qp, batch);
	if (qp->sq.next != qp->sq.head)
		send_requests(qp, now, batch);
}

/* Completes the oldest request, which was successful, as adv_qp_complete_send(). */
INLINED void complete_send(struct adv_qp *qp, const struct adv_send_wqe *wqe, uint64_t now)
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
static bool receive_ack(struct adv_qp *qp, const struct adv_rx_packet *pkt, uint64_t now)
{
	struct adv_requester *req = &qp->req;
	uint32_t psn = adv_get_be32(pkt->data + 8) & ADV_PSN_MASK, end = adv_psn_add(psn, 1);
	uint32_t acked = (psn - req->una_psn) & ADV_PSN_MASK;

	if ((qp->unusual & ADV_UNUSUAL_FOR_ACK) || pkt->len != ADV_BTH_LEN + AETH_LEN ||
	    (pkt->data[1] >> ADV_BTH_PAD_SHIFT & ADV_BTH_PAD_MASK) ||
	    acked >= adv_flight_psns(qp) ||
	    (pkt->data[ADV_BTH_LEN] & ADV_AETH_TYPE_MASK) != ADV_AETH_ACK)
		return false;
	ADV_PROBE(packet_rx, qp->qpn, psn, ADV_OP_ACKNOWLEDGE, 0);
	ADV_PROBE(ack, qp->qpn, psn);
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

/* The bits of a BTH's first 8 bytes that must have one value: the service RC, the version, and the
 * P_Key except its membership bit. */
#define FIXED_MASK                                                                                 \
	((uint64_t)ADV_SERVICE_MASK << 56 | (uint64_t)ADV_BTH_TVER_MASK << 48 |                    \
	 (uint64_t)0x7fff << 32)
#define FIXED_VALUE ((uint64_t)(ADV_PKEY_DEFAULT & 0x7fff) << 32)

/* True if the QP's peer sent the packet to the QP. */
INLINED bool is_from_peer(const struct adv_qp *qp, const struct adv_rx_meta *meta)
{
	const struct adv_engine *e = qp->engine;

	return adv_gid_equal(&meta->sgid, &qp->path.dgid) &&
	       adv_gid_equal(&meta->dgid, &qp->path.sgid) &&
	       (!qp->peer_is_here || !e->sender_port ||
		adv_address_is_of_qpn(e, qp->attr.dest_qp_num, meta));
}

/* A function for each opcode. False: nothing has changed, the general path must check the
 * packet. */
typedef bool receiver(struct adv_qp *qp, const struct adv_rx_packet *pkt, uint64_t now);

#define RECEIVER(name, kind, op, position, imm)                                                    \
	static bool name(struct adv_qp *qp, const struct adv_rx_packet *pkt, uint64_t now)         \
	{                                                                                          \
		struct arrival a = {op, position, imm, .pkt = pkt};                                \
                                                                                                   \
		return receive_##kind(qp, &a, now);                                                \
	}
RECEIVER(send_first, send, ADV_OP_SEND_FIRST, FIRST, false)
RECEIVER(send_middle, send, ADV_OP_SEND_MIDDLE, MIDDLE, false)
RECEIVER(send_last, send, ADV_OP_SEND_LAST, LAST, false)
RECEIVER(send_last_imm, send, ADV_OP_SEND_LAST_WITH_IMM, LAST, true)
RECEIVER(send_only, send, ADV_OP_SEND_ONLY, ONLY, false)
RECEIVER(send_only_imm, send, ADV_OP_SEND_ONLY_WITH_IMM, ONLY, true)
RECEIVER(write_first, write, ADV_OP_WRITE_FIRST, FIRST, false)
RECEIVER(write_middle, write, ADV_OP_WRITE_MIDDLE, MIDDLE, false)
RECEIVER(write_last, write, ADV_OP_WRITE_LAST, LAST, false)
RECEIVER(write_last_imm, write, ADV_OP_WRITE_LAST_WITH_IMM, LAST, true)
RECEIVER(write_only, write, ADV_OP_WRITE_ONLY, ONLY, false)
RECEIVER(write_only_imm, write, ADV_OP_WRITE_ONLY_WITH_IMM, ONLY, true)

/* By the opcode's operation. */
static receiver *const receivers[ADV_OP_MASK + 1] = {
	[ADV_OP_SEND_FIRST] = send_first,   [ADV_OP_SEND_MIDDLE] = send_middle,
	[ADV_OP_SEND_LAST] = send_last,	    [ADV_OP_SEND_LAST_WITH_IMM] = send_last_imm,
	[ADV_OP_SEND_ONLY] = send_only,	    [ADV_OP_SEND_ONLY_WITH_IMM] = send_only_imm,
	[ADV_OP_WRITE_FIRST] = write_first, [ADV_OP_WRITE_MIDDLE] = write_middle,
	[ADV_OP_WRITE_LAST] = write_last,   [ADV_OP_WRITE_LAST_WITH_IMM] = write_last_imm,
	[ADV_OP_WRITE_ONLY] = write_only,   [ADV_OP_WRITE_ONLY_WITH_IMM] = write_only_imm,
	[ADV_OP_ACKNOWLEDGE] = receive_ack,
};

/* Returns the QP of a packet; NULL: the general path must check the packet. */
INLINED struct adv_qp *receiver_of(const struct adv_engine *e, const struct adv_rx_packet *pkt)
{
	struct adv_qp *qp;
	uint64_t bth;

	if (pkt->len < ADV_BTH_LEN || (pkt->meta->tclass & ADV_ECN_MASK) == ADV_ECN_CE)
		return NULL;
	bth = adv_get_be64(pkt->data);
	if ((bth & FIXED_MASK) != FIXED_VALUE || pkt->more || pkt->source)
		return NULL;
	qp = adv_qp_number_find(e, (uint32_t)bth & ADV_QPN_MASK);
	if (!qp || (qp->unusual & ADV_UNUSUAL_FOR_REQUEST) || !is_from_peer(qp, pkt->meta))
		return NULL;
	return qp;
}

void adv_engine_rx(struct adv_engine *e, uint64_t now, const struct adv_rx_packet *pkt)
{
	struct adv_qp *qp = receiver_of(e, pkt);
	receiver *receive = qp ? receivers[pkt->data[0] & ADV_OP_MASK] : NULL;

	if (receive && receive(qp, pkt, now))
		e->counters.rx_packets++;
	else
		adv_incoming_rx(e, now, pkt);
}
