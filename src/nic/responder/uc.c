/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The responder of UC (IBTA 9.8.2). It sends no answers. It drops a message if a packet of it was
 * lost. */
#include "nic/engine/inject.h"
#include "nic/responder/message.h"
#include "nic/queue/qp_complete.h"
#include "nic/responder/refusal.h"
#include "nic/responder/uc.h"

/*
 * Drops the message in progress. Its receive request is used for the next message (IBTA 9.8.2.2). A
 * receive request of an SRQ cannot be returned, so it completes as aborted (9.9.3, class E). The QP
 * continues in both cases.
 */
static void uc_drop(struct adv_qp *qp, uint64_t now)
{
	struct ibv_wc wc = {.status = IBV_WC_REM_ABORT_ERR,
			    .vendor_err = ADV_ERR_MESSAGE_ABORTED,
			    .opcode = IBV_WC_RECV};
	struct adv_recv_wqe *recv = qp->resp.recv;

	qp->resp.message = ADV_MSG_SKIP;
	adv_qp_count(qp, &qp->engine->counters.uc_drops);
	if (!recv || !qp->srq)
		return;
	qp->resp.recv = NULL;
	adv_qp_complete_recv(qp, recv, &wc, false, now);
}

/* Fails the receive request in use, and the QP. */
static void uc_fail(struct adv_qp *qp, enum ibv_wc_status status, enum adv_vendor_err why,
		    uint64_t now)
{
	struct ibv_wc wc = {.status = status, .vendor_err = why, .opcode = IBV_WC_RECV};
	struct adv_recv_wqe *recv = qp->resp.recv;

	qp->resp.recv = NULL;
	adv_qp_complete_recv(qp, recv, &wc, false, now);
	adv_qp_enter_error(qp, now);
}

static bool uc_fail_on_purpose(struct adv_qp *qp, const struct adv_incoming *in, uint64_t now)
{
	enum ibv_wc_status status = IBV_WC_SUCCESS;

	if (qp->engine->injector)
		status = adv_inject_recv(qp->engine, qp, ADV_INJECT_COMPLETION, in->h->bth.opcode);
	if (status != IBV_WC_SUCCESS)
		uc_fail(qp, status, ADV_ERR_INJECTED, now);
	return status != IBV_WC_SUCCESS;
}

static void uc_send(struct adv_qp *qp, uint64_t now, const struct adv_incoming *in)
{
	struct adv_responder *resp = &qp->resp;
	enum adv_vendor_err why;

	if (in->info->flags & ADV_PKT_START) {
		if (!resp->recv)
			resp->recv = adv_qp_take_recv(qp);
		if (!resp->recv) {
			adv_qp_count(qp, &qp->engine->counters.out_of_buffer);
			uc_drop(qp, now);
			return;
		}
		resp->offset = 0;
		resp->message = ADV_MSG_SEND;
	}
	why = adv_message_place_send(qp, in);
	if (why) {
		uc_fail(qp, adv_refusal_of(why).status, why, now);
		return;
	}
	if ((in->info->flags & ADV_PKT_END) && uc_fail_on_purpose(qp, in, now))
		return;
	adv_message_accept(qp, in, now);
	if (in->info->flags & ADV_PKT_END)
		adv_message_complete(qp, in, IBV_WC_RECV, (uint32_t)resp->offset, now);
}

static void uc_write(struct adv_qp *qp, uint64_t now, const struct adv_incoming *in)
{
	struct adv_responder *resp = &qp->resp;
	bool imm = in->info->headers & ADV_HAS_IMMDT;
	uint32_t length;

	if ((in->info->flags & ADV_PKT_START) && adv_message_begin_write(qp, in)) {
		uc_drop(qp, now);
		return;
	}
	if (imm && !resp->recv)
		resp->recv = adv_qp_take_recv(qp);
	if (imm && !resp->recv) {
		adv_qp_count(qp, &qp->engine->counters.out_of_buffer);
		uc_drop(qp, now);
		return;
	}
	if (adv_message_place_write(qp, in)) {
		uc_drop(qp, now);
		return;
	}
	if (imm && uc_fail_on_purpose(qp, in, now))
		return;
	length = resp->write_length;
	adv_message_accept(qp, in, now);
	if (imm)
		adv_message_complete(qp, in, IBV_WC_RECV_RDMA_WITH_IMM, length, now);
}

void adv_responder_uc_rx(struct adv_qp *qp, uint64_t now, const struct adv_incoming *in)
{
	struct adv_responder *resp = &qp->resp;
	bool start = in->info->flags & ADV_PKT_START;
	bool send = in->info->flags & ADV_PKT_SEND;

	/* A packet with any PSN is accepted, and its PSN sets the next expected PSN. A gap damages
	 * the message in progress. */
	if (in->h->bth.psn != resp->epsn) {
		adv_qp_count(qp, &qp->engine->counters.out_of_sequence);
		if (resp->message != ADV_MSG_NONE)
			uc_drop(qp, now);
		resp->epsn = in->h->bth.psn;
	}
	if (start && resp->message == ADV_MSG_SEND)
		uc_drop(qp, now);
	/* The aborted request's completion may have overrun the CQ. */
	if (qp->state == IBV_QPS_ERR)
		return;
	if (start)
		resp->message = ADV_MSG_NONE;
	if (!adv_message_fits(qp, in) ||
	    !adv_message_continues(qp, in, send ? ADV_MSG_SEND : ADV_MSG_WRITE)) {
		if (resp->message != ADV_MSG_SKIP)
			uc_drop(qp, now);
		resp->epsn = adv_psn_add(resp->epsn, 1);
		return;
	}
	if (send)
		uc_send(qp, now, in);
	else
		uc_write(qp, now, in);
	if (resp->message == ADV_MSG_SKIP)
		resp->epsn = adv_psn_add(in->h->bth.psn, 1);
}
