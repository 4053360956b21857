/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The sending half of the responder (IBTA 9.7.5.1). Responses are sent in the order of their PSNs.
 * A response to a READ or atomic acknowledges all requests before it. ACKs are coalesced: there is
 * one pending ACK when the engine fills a batch.
 */
#include "nic/requester/long_packet.h"
#include "nic/responder/message.h"
#include "nic/memory/mw.h"
#include "nic/engine/outgoing.h"
#include "nic/queue/qp_complete.h"
#include "nic/responder/tx.h"
#include "nic/requester/selective.h"

static void fill_response(const struct adv_qp *qp, struct adv_headers *h, uint8_t op, uint32_t psn,
			  uint32_t msn)
{
	memset(&h->bth, 0, sizeof(h->bth));
	h->bth.opcode = (uint8_t)(qp->service | op);
	h->bth.pkey = qp->pkey;
	h->bth.dest_qpn = qp->attr.dest_qp_num;
	h->bth.psn = psn;
	h->aeth.syndrome = ADV_AETH_ACK | ADV_AETH_NO_CREDITS;
	h->aeth.msn = msn;
}

static void emit_ack(struct adv_qp *qp, struct adv_tx_batch *batch)
{
	struct adv_responder *resp = &qp->resp;
	struct adv_headers h;

	fill_response(qp, &h, ADV_OP_ACKNOWLEDGE, resp->ack_psn, resp->msn);
	h.aeth.syndrome = resp->ack_syndrome;
	if (resp->ack_syndrome == (ADV_AETH_NAK | ADV_NAK_SELECTIVE))
		h.aeth.msn = adv_selective_report(qp);
	h.bth.becn = resp->ack_marked;
	resp->ack_marked = false;
	adv_outgoing_add(qp->engine, &qp->path, batch, &h);
	adv_responder_ack_forget(qp);
	adv_selective_report_more(qp);
}

/* Stops a response. Its rest is sent only if a further duplicate request arrives. */
static void leave_rest(struct adv_responder *resp, struct adv_responder_resource *res)
{
	res->pending = false;
	resp->res_pending--;
}

static void resource_done(struct adv_responder *resp, struct adv_responder_resource *res)
{
	leave_rest(resp, res);
	res->answered = res->reached == res->length;
}

static void emit_atomic_ack(struct adv_qp *qp, struct adv_tx_batch *batch,
			    struct adv_responder_resource *res)
{
	struct adv_headers h;

	fill_response(qp, &h, ADV_OP_ATOMIC_ACKNOWLEDGE, res->first_psn, res->msn);
	h.atomicacketh.original = res->original;
	adv_outgoing_add(qp->engine, &qp->path, batch, &h);
	resource_done(&qp->resp, res);
}

static uint8_t read_opcode(const struct adv_responder_resource *res, bool last)
{
	bool first = res->offset == res->start;

	if (first)
		return last ? ADV_OP_READ_RESPONSE_ONLY : ADV_OP_READ_RESPONSE_FIRST;
	return last ? ADV_OP_READ_RESPONSE_LAST : ADV_OP_READ_RESPONSE_MIDDLE;
}

/*
 * True if the next response packet may be sent although its PSN was sent before. The number of
 * packets that a peer causes must stay in proportion to the number that it sends. So each duplicate
 * request permits one window of repeated packets, and each packet sent for the first time permits
 * one repeated packet of the queue pair. When none is permitted, the response stops. A peer that
 * lost packets requests the rest.
 */
static bool may_send_again(struct adv_responder *resp, struct adv_responder_resource *res)
{
	if (res->again)
		res->again--;
	else if (resp->res_spare)
		resp->res_spare--;
	else
		return false;
	return true;
}

/* Refuses the rest of a response, because the region was deregistered. */
static void refuse_rest(struct adv_qp *qp, struct adv_responder_resource *res, uint32_t psn,
			enum adv_vendor_err why, uint64_t now)
{
	struct adv_responder *resp = &qp->resp;

	resource_done(resp, res);
	resp->res_pending = 0;
	adv_responder_ack_forget(qp);
	adv_qp_count(qp, &qp->engine->counters.resp_remote_access_errors);
	adv_responder_ack_queue(qp, ADV_AETH_NAK | ADV_NAK_REMOTE_ACCESS_ERROR, psn);
	resp->dead = true;
	adv_qp_fatal(qp, IBV_EVENT_QP_ACCESS_ERR, adv_mr_remote_cause(why), now);
	adv_qp_note_memory(qp, res->rkey, res->va, res->length);
}

/* Counts the packets that a long one stands for, and notes that its payload may be read later. */
static void note_long(struct adv_qp *qp, struct adv_responder_resource *res,
		      struct adv_tx_packet *pkt, uint32_t packets)
{
	res->long_sent = true;
	pkt->more = packets - 1;
	qp->engine->counters.tx_packets += packets - 1;
	qp->resp.long_sent = true;
}

static void emit_read_response(struct adv_qp *qp, uint64_t now, struct adv_tx_batch *batch,
			       struct adv_responder_resource *res)
{
	uint32_t left = res->end - res->offset;
	uint32_t n = adv_long_response(qp, res, left);
	uint32_t packets = adv_message_packets(n, qp->mtu);
	bool last = n == left;
	uint32_t psn = adv_psn_add(res->first_psn, res->offset / qp->mtu);
	enum adv_vendor_err why = ADV_ERR_NONE;
	struct adv_tx_packet *pkt;
	struct adv_headers h;
	uint8_t *from;

	from = adv_mw_remote(qp, res->pd, res->rkey, res->va + res->offset, n,
			     IBV_ACCESS_REMOTE_READ, &why);
	if (!from && res->answered) {
		/* The whole response was sent before, so the READ may be done, and the region may
		 * have been deregistered since. A long response may have been recalled by that: the
		 * peer must know. If its READ is done, it ignores the NAK. */
		resource_done(&qp->resp, res);
		if (res->long_sent)
			adv_responder_ack_queue(qp, ADV_AETH_NAK | ADV_NAK_REMOTE_ACCESS_ERROR,
						psn);
		return;
	}
	if (!from) {
		refuse_rest(qp, res, psn, why, now);
		return;
	}
	if (res->offset + n > res->reached) {
		res->reached = res->offset + n;
		qp->resp.res_spare += packets;
	} else if (n && !may_send_again(&qp->resp, res)) {
		leave_rest(&qp->resp, res);
		return;
	}
	fill_response(qp, &h, read_opcode(res, last), psn, res->msn);
	h.bth.pad = -n & 3;
	pkt = adv_outgoing_add(qp->engine, &qp->path, batch, &h);
	if (n) {
		batch->iov[batch->iov_used].iov_base = from;
		batch->iov[batch->iov_used++].iov_len = n;
		pkt->iov_count = 1;
		pkt->payload_len = n;
	}
	if (packets > 1)
		note_long(qp, res, pkt, packets);
	res->offset += n;
	if (last)
		resource_done(&qp->resp, res);
}

static struct adv_responder_resource *oldest_pending(struct adv_responder *resp)
{
	while (resp->res_next != resp->res_head) {
		struct adv_responder_resource *res =
			&resp->res[resp->res_next & (resp->res_room - 1)];

		if (res->pending)
			return res;
		resp->res_next++;
	}
	assert(!"pending responses are counted");
	return NULL;
}

static void emit_response(struct adv_qp *qp, uint64_t now, struct adv_tx_batch *batch)
{
	struct adv_responder *resp = &qp->resp;
	struct adv_responder_resource *res = oldest_pending(resp);

	if (resp->ack_pending && (resp->ack_syndrome & ADV_AETH_TYPE_MASK) == ADV_AETH_ACK &&
	    adv_psn_diff(resp->ack_psn, res->first_psn) < 0)
		adv_responder_ack_forget(qp);
	if (res->atomic)
		emit_atomic_ack(qp, batch, res);
	else
		emit_read_response(qp, now, batch, res);
}

void adv_responder_tx(struct adv_qp *qp, uint64_t now, struct adv_tx_batch *batch, unsigned budget)
{
	struct adv_responder *resp = &qp->resp;
	unsigned from;

	while (adv_responder_has_tx(qp)) {
		if (budget-- == 0 || !adv_outgoing_has_room(batch)) {
			adv_qp_schedule(qp);
			return;
		}
		from = batch->count;
		if (resp->res_pending)
			emit_response(qp, now, batch);
		else
			emit_ack(qp, batch);
		if (batch->count > from)
			budget -= adv_long_charge(&batch->packet[from], budget);
	}
}
