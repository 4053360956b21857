/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/engine/inject.h"
#include "nic/responder/message.h"
#include "nic/memory/mw.h"
#include "nic/memory/paging.h"
#include "nic/responder/payload.h"
#include "nic/queue/qp_complete.h"

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

enum adv_vendor_err adv_message_place_long(struct adv_qp *qp, const struct ibv_sge *sge,
					   uint32_t num_sge, uint64_t offset,
					   const struct adv_incoming *in)
{
	enum adv_vendor_err why = ADV_ERR_NONE;
	struct iovec to[ADV_MAX_SGE];
	unsigned count = adv_payload_ranges(qp, sge, num_sge, offset, in->payload_len,
					    IBV_ACCESS_LOCAL_WRITE, to, &why);
	const uint8_t *from = in->payload;

	if (!count)
		return why;
	if (in->source && !in->source->pull(in->source, to, count))
		return ADV_ERR_LOST;
	for (unsigned i = 0; !in->source && i < count; i++) {
		memcpy(to[i].iov_base, from, to[i].iov_len);
		from += to[i].iov_len;
	}
	return ADV_ERR_NONE;
}

enum adv_vendor_err adv_message_place_long_send(struct adv_qp *qp, const struct adv_incoming *in)
{
	struct adv_responder *resp = &qp->resp;
	enum adv_vendor_err why =
		adv_message_place_long(qp, resp->recv->sge, resp->recv->num_sge, resp->offset, in);

	if (!why)
		resp->offset += in->payload_len;
	return why;
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

/* Brings in the pages that a long packet of a WRITE will fill, if its region uses on-demand paging.
 */
static bool bring_in_target(struct adv_qp *qp, const struct adv_incoming *in,
			    enum adv_vendor_err *why)
{
	const struct adv_responder *resp = &qp->resp;

	if (!adv_mr_is_paged(qp->engine, resp->write_rkey))
		return true;
	for (uint32_t at = 0; at < in->payload_len; at += ADV_PAGED_AT_ONCE) {
		uint32_t left = in->payload_len - at;

		if (!adv_mw_remote(qp, qp->pd, resp->write_rkey, resp->write_va + resp->offset + at,
				   left < ADV_PAGED_AT_ONCE ? left : ADV_PAGED_AT_ONCE,
				   IBV_ACCESS_REMOTE_WRITE, why))
			return false;
	}
	return true;
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
	if (in->payload_len > ADV_PAGED_AT_ONCE && !bring_in_target(qp, in, &why))
		return adv_mr_remote_cause(why);
	if (!in->source && qp->engine->injector)
		adv_inject_store(qp, ADV_WORK_RECV, to, in->payload, in->payload_len);
	else if (!in->source)
		adv_payload_store(to, in->payload, in->payload_len);
	else if (!adv_payload_pull(in->source, to))
		return ADV_ERR_LOST;
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
