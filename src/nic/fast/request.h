/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Request packets of the fast path (fast.h). */
#ifndef ADV_NIC_FAST_REQUEST_H
#define ADV_NIC_FAST_REQUEST_H

#include "base/probe.h"
#include "nic/fast/packet.h"
#include "nic/requester/flight.h"
#include "nic/fast/mr_memo.h"
#include "nic/engine/outgoing.h"
#include "nic/requester/requester.h"
#include "nic/requester/retransmit.h"

/* As adv_requester_tx(), for a QP without ADV_UNUSUAL_FOR_PACED. */
void adv_fast_send_requests(struct adv_qp *qp, uint64_t now, struct adv_tx_batch *batch,
			    unsigned budget);
/* As adv_requester_tx(), for a QP with a flow: the packets that its rate and window allow. */
void adv_fast_requests(struct adv_qp *qp, uint64_t now, struct adv_tx_batch *batch,
		       unsigned budget);

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

/* Begins a turn of at most `room` packets. */
INLINED struct turn turn_begin(const struct adv_qp *qp, struct adv_tx_batch *batch, uint32_t room)
{
	const struct adv_engine *e = qp->engine;
	uint32_t own = adv_flight_psns(qp), window;

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

#endif
