/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "transport/message.h"
#include "transport/mw.h"
#include "transport/payload.h"
#include "transport/qp_complete.h"

void adv_message_acknowledge_inside(struct adv_qp *qp)
{
	/*
	 * With go-back-0, this acknowledges only the messages before this one. resp->offset already
	 * includes this packet, and epsn does not, so unfinished_psn() returns the newest PSN
	 * before this message.
	 */
	adv_responder_ack_queue(qp, ADV_AETH_ACK | ADV_AETH_NO_CREDITS,
				qp->engine->recovery->unfinished_psn(qp));
}

enum adv_vendor_err adv_message_begin_write(struct adv_qp *qp, const struct adv_incoming *in)
{
	enum adv_vendor_err why = ADV_ERR_NONE;
	struct adv_responder *resp = &qp->resp;

	if (!(qp->attr.qp_access_flags & IBV_ACCESS_REMOTE_WRITE))
		return ADV_ERR_QP_ACCESS;
	if (in->h->reth.length > ADV_MAX_MSG)
		return ADV_ERR_REQUEST_TOO_LONG;
	if (!adv_mw_remote(qp, qp->pd, in->h->reth.rkey, in->h->reth.va, in->h->reth.length,
			   IBV_ACCESS_REMOTE_WRITE, &why))
		return adv_mr_remote_cause(why);
	resp->message = ADV_MSG_WRITE;
	resp->write_va = in->h->reth.va;
	resp->write_rkey = in->h->reth.rkey;
	resp->write_length = in->h->reth.length;
	resp->offset = 0;
	return ADV_ERR_NONE;
}

enum adv_vendor_err adv_message_place_write(struct adv_qp *qp, const struct adv_incoming *in)
{
	enum adv_vendor_err why = ADV_ERR_NONE;
	struct adv_responder *resp = &qp->resp;
	uint64_t end = resp->offset + in->payload_len;
	uint8_t *to;

	if (end > resp->write_length ||
	    ((in->info->flags & ADV_PKT_END) && end != resp->write_length))
		return ADV_ERR_REQUEST_LENGTH;
	to = adv_mw_remote(qp, qp->pd, resp->write_rkey, resp->write_va + resp->offset,
			   in->payload_len, IBV_ACCESS_REMOTE_WRITE, &why);
	if (!to)
		return adv_mr_remote_cause(why);
	adv_payload_store(to, in->payload, in->payload_len);
	resp->offset = end;
	if (in->info->flags & ADV_PKT_START)
		qp->engine->counters.rx_write_requests++;
	return ADV_ERR_NONE;
}

void adv_message_complete(struct adv_qp *qp, const struct adv_incoming *in,
			  enum ibv_wc_opcode opcode, uint32_t length, uint64_t now)
{
	struct adv_recv_wqe *recv = qp->resp.recv;
	struct ibv_wc wc = {.status = IBV_WC_SUCCESS, .opcode = opcode, .byte_len = length};

	if (in->info->headers & ADV_HAS_IMMDT) {
		wc.wc_flags = IBV_WC_WITH_IMM;
		wc.imm_data = in->h->immdt;
	} else if (in->info->headers & ADV_HAS_IETH) {
		wc.wc_flags = IBV_WC_WITH_INV;
		wc.invalidated_rkey = in->h->ieth.rkey;
	}
	wc.src_qp = qp->attr.dest_qp_num;
	qp->resp.recv = NULL;
	adv_qp_complete_recv(qp, recv, &wc, in->h->bth.solicited, now);
}
