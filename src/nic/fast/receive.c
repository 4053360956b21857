/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The receiving half of the fast path (fast.h): packets, and the completions that they cause. */
#include "base/copy.h"
#include "base/probe.h"
#include "nic/engine/address.h"
#include "nic/engine/completed.h"
#include "nic/queue/cq.h"
#include "nic/fast/packet.h"
#include "nic/requester/flight.h"
#include "nic/responder/message.h"
#include "nic/fast/mr_memo.h"
#include "nic/responder/payload.h"
#include "nic/queue/qp_complete.h"
#include "nic/queue/qpn.h"
#include "nic/responder/ack.h"
#include "nic/requester/retransmit.h"
#include "nic/queue/srq.h"
#include "nic/requester/window.h"

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
	a->payload = adv_rx_payload(a->pkt, header_len);
	pad = a->flags >> ADV_BTH_PAD_SHIFT & ADV_BTH_PAD_MASK;
	if ((a->psn & ADV_PSN_MASK) != qp->resp.epsn)
		return false;
	if (!(a->position & LAST)) {
		a->payload_len = qp->mtu;
		return pad == 0 && a->pkt->len == header_len + qp->mtu;
	}
	if (a->pkt->len < header_len || pad > rest || (rest & 3))
		return false;
	a->payload_len = rest - pad;
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
	resp->nak_sent = ADV_NO_NAK_SENT;
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
		to = adv_mr_recall(qp, &qp->rq.memo, recv->sge->lkey, recv->sge->addr + offset,
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
		adv_copy(to, a->payload, a->payload_len);
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
	/* The hosts of a simulated network share their memory. */
	if (to == a->payload)
		;
	else if (last)
		adv_payload_store(to, a->payload, a->payload_len);
	else
		memcpy(to, a->payload, a->payload_len);
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
	qp->engine->work.recv_completed++;
	adv_cq_commit(qp->recv_cq, a->flags & ADV_BTH_SOLICITED, now);
}

/* ---- 6. finish ---- */

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
	adv_completed_send(qp, wqe, now);
	if (qp->sq.next == qp->sq.tail)
		qp->sq.next++;
	qp->sq.tail++;
}

/* Handles an ACK for packets in flight: completes the requests that end before its PSN. */
INLINED bool receive_ack(struct adv_qp *qp, const struct adv_rx_packet *pkt, uint64_t now)
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
	adv_flight_acked(qp, end, acked + 1);
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

/* The bits of a BTH's first 8 bytes that must be 0: the service, which is then RC, and the
 * version. */
#define FIXED_MASK ((uint64_t)ADV_SERVICE_MASK << 56 | (uint64_t)ADV_BTH_TVER_MASK << 48)
/* The bits that decide which QP receives the packet. */
#define TARGET_MASK (FIXED_MASK | (uint64_t)0xffff << 32 | ADV_QPN_MASK)

/* True if the P_Key of the BTH that begins with these 8 bytes matches that of the QP. */
INLINED bool is_in_partition(const struct adv_qp *qp, uint64_t bth)
{
	const uint16_t pkey = (uint16_t)(bth >> 32);

	/* Mostly both are full members, with equal P_Keys. */
	return (pkey == qp->pkey && pkey > ADV_PKEY_FULL) || adv_pkey_matches(pkey, qp->pkey);
}

/* True if the QP's peer sent the packet to the QP. */
INLINED bool is_from_peer(const struct adv_qp *qp, const struct adv_rx_meta *meta)
{
	const struct adv_engine *e = qp->engine;

	return adv_gids_equal(&meta->sgid, &qp->path.dgid, &meta->dgid, &qp->path.sgid) &&
	       (!qp->peer_is_here || !e->sender_port ||
		adv_address_is_of_qpn(e, qp->attr.dest_qp_num, meta));
}

/* A function for each opcode. A packet that it cannot handle goes to the general path. */
typedef void receiver(struct adv_qp *qp, const struct adv_rx_packet *pkt, uint64_t now);

INLINED void count_or_leave(struct adv_qp *qp, const struct adv_rx_packet *pkt, uint64_t now,
			    bool handled)
{
	if (handled)
		qp->engine->counters.rx_packets++;
	else
		adv_incoming_rx(qp->engine, now, pkt);
}

#define RECEIVER(name, kind, op, position, imm)                                                    \
	static void name(struct adv_qp *qp, const struct adv_rx_packet *pkt, uint64_t now)         \
	{                                                                                          \
		struct arrival a = {op, position, imm, .pkt = pkt};                                \
                                                                                                   \
		count_or_leave(qp, pkt, now, receive_##kind(qp, &a, now));                         \
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

static void acknowledge(struct adv_qp *qp, const struct adv_rx_packet *pkt, uint64_t now)
{
	count_or_leave(qp, pkt, now, receive_ack(qp, pkt, now));
}

/* By the opcode's operation. */
static receiver *const receivers[ADV_OP_MASK + 1] = {
	[ADV_OP_SEND_FIRST] = send_first,   [ADV_OP_SEND_MIDDLE] = send_middle,
	[ADV_OP_SEND_LAST] = send_last,	    [ADV_OP_SEND_LAST_WITH_IMM] = send_last_imm,
	[ADV_OP_SEND_ONLY] = send_only,	    [ADV_OP_SEND_ONLY_WITH_IMM] = send_only_imm,
	[ADV_OP_WRITE_FIRST] = write_first, [ADV_OP_WRITE_MIDDLE] = write_middle,
	[ADV_OP_WRITE_LAST] = write_last,   [ADV_OP_WRITE_LAST_WITH_IMM] = write_last_imm,
	[ADV_OP_WRITE_ONLY] = write_only,   [ADV_OP_WRITE_ONLY_WITH_IMM] = write_only_imm,
	[ADV_OP_ACKNOWLEDGE] = acknowledge,
};

INLINED uint32_t qpn_of(const struct adv_rx_packet *pkt)
{
	return adv_get_be32(pkt->data + 4) & ADV_QPN_MASK;
}

/* Returns the QP of a packet, whose QP number is in the range r; NULL: the general path must check
 * the packet. */
INLINED struct adv_qp *receiver_in_range(const struct adv_qpn_range *r,
					 const struct adv_rx_packet *pkt)
{
	struct adv_qp *qp;
	uint64_t bth;

	if ((pkt->meta->tclass & ADV_ECN_MASK) == ADV_ECN_CE)
		return NULL;
	bth = adv_get_be64(pkt->data);
	if ((bth & FIXED_MASK) || pkt->more || pkt->source)
		return NULL;
	qp = r->qp[((uint32_t)bth & ADV_QPN_MASK) - r->first];
	if (!qp || (qp->unusual & ADV_UNUSUAL_FOR_REQUEST) || !is_in_partition(qp, bth) ||
	    !is_from_peer(qp, pkt->meta))
		return NULL;
	return qp;
}

/* As receiver_in_range(), for any number. */
static __attribute__((noinline)) struct adv_qp *receiver_of(const struct adv_engine *e,
							    const struct adv_rx_packet *pkt)
{
	const struct adv_qpn_range *r;

	if (pkt->len < ADV_BTH_LEN)
		return NULL;
	r = adv_qp_number_range_of(e, qpn_of(pkt));
	return r ? receiver_in_range(r, pkt) : NULL;
}

/* Passes a packet to its QP. qp: NULL if the general path must check the packet. */
INLINED void deliver_packet(struct adv_engine *e, struct adv_qp *qp, uint64_t now,
			    const struct adv_rx_packet *pkt)
{
	receiver *receive = qp ? receivers[pkt->data[0] & ADV_OP_MASK] : NULL;

	if (receive)
		receive(qp, pkt, now);
	else
		adv_incoming_rx(e, now, pkt);
}

/* Passes on a packet whose QP has to be looked up, and notes the QP for further packets of the
 * packet's datagram. */
static __attribute__((noinline)) void rx_any(struct adv_engine *e, uint64_t now,
					     const struct adv_rx_packet *pkt)
{
	struct adv_qp *qp = receiver_of(e, pkt);

	if (qp && pkt->datagram) {
		e->rx_datagram = pkt->datagram;
		e->rx_bth = adv_get_be64(pkt->data) & TARGET_MASK;
		e->rx_qp = qp;
	}
	deliver_packet(e, qp, now, pkt);
}

/* Passes on a packet of a datagram of several packets. Mostly they are for one QP; then the
 * addresses of the first are those of all, and so are the fixed bits. */
INLINED void rx_in_datagram(struct adv_engine *e, uint64_t now, const struct adv_rx_packet *pkt)
{
	struct adv_qp *qp = e->rx_qp;

	if (pkt->datagram != e->rx_datagram || (adv_get_be64(pkt->data) & TARGET_MASK) != e->rx_bth)
		rx_any(e, now, pkt);
	else
		deliver_packet(e, qp->unusual & ADV_UNUSUAL_FOR_REQUEST ? NULL : qp, now, pkt);
}

/* Calls no function whose result it needs, so that it saves no registers. */
void adv_engine_rx(struct adv_engine *e, uint64_t now, const struct adv_rx_packet *pkt)
{
	const struct adv_qpn_range *r = &e->range[0]; /* the only one, mostly */

	if (pkt->len < ADV_BTH_LEN)
		rx_any(e, now, pkt);
	else if (pkt->datagram)
		rx_in_datagram(e, now, pkt);
	else if (qpn_of(pkt) - r->first >= r->count)
		rx_any(e, now, pkt);
	else
		deliver_packet(e, receiver_in_range(r, pkt), now, pkt);
}
