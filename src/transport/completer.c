/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The requester's receiving half (IBTA vol. 1, 9.7.5.2, 9.7.6): acknowledgements and
 * responses complete requests. Responses also acknowledge all before them; an ACK beyond a
 * READ or atomic without response tells that its response was lost.
 */
#include "base/probe.h"
#include "transport/internal.h"

/* The PSN from which on no acknowledgement, only a response, moves us; max_psn where none waits. */
static uint32_t first_unanswered(const struct adv_qp *qp)
{
	for (uint32_t i = qp->sq.tail; i != qp->sq.head; i++) {
		const struct adv_send_wqe *wqe = adv_send_wqe_at(qp, i);

		if (!wqe->started)
			break;
		if (!adv_wqe_wants_response(wqe))
			continue;
		return adv_psn_diff(wqe->first_psn, qp->req.una_psn) > 0 ? wqe->first_psn
									 : qp->req.una_psn;
	}
	return qp->req.max_psn;
}

/* Responses are missing: they are asked for again, once until they come (IBTA 9.7.6.1.2). */
static void implied_nak(struct adv_qp *qp, uint64_t now)
{
	if (qp->req.gap_asked || qp->req.rnr_wait || qp->state == IBV_QPS_ERR)
		return;
	qp->engine->counters.implied_nak_seq_err++;
	adv_requester_lost(qp, qp->req.una_psn, ADV_ERR_RESPONSES_LOST, now);
	qp->req.gap_asked = true;
}

/* Everything before psn is there: as far as responses allow. True where all of it is. */
static bool acked_before(struct adv_qp *qp, uint32_t psn, uint64_t now)
{
	uint32_t limit = first_unanswered(qp);

	if (adv_psn_diff(psn, limit) > 0) {
		adv_requester_acked(qp, limit, now);
		implied_nak(qp, now);
		return false;
	}
	adv_requester_acked(qp, psn, now);
	return qp->state != IBV_QPS_ERR;
}

static void rnr_nak(struct adv_qp *qp, uint8_t timer, uint64_t now)
{
	struct adv_requester *req = &qp->req;

	qp->engine->counters.rnr_nak_retry_err++;
	if (req->rnr_wait)
		return;
	if (req->rnr_left == 0) {
		qp->engine->counters.req_rnr_retries_exceeded++;
		adv_requester_fail(qp, IBV_WC_RNR_RETRY_EXC_ERR, ADV_ERR_RNR_RETRIES, now);
		return;
	}
	/* 7 is for ever (IBTA 9.7.5.2.8). */
	if (qp->attr.rnr_retry != 7)
		req->rnr_left--;
	adv_requester_rewind(qp, req->una_psn);
	req->rnr_wait = true;
	adv_timer_set(qp->engine, &req->timer, now + adv_rnr_timer_ns(timer));
}

static void fatal_nak(struct adv_qp *qp, uint8_t code, uint64_t now)
{
	switch (code) {
	case ADV_NAK_INVALID_REQUEST:
		qp->engine->counters.req_remote_invalid_request++;
		adv_requester_fail(qp, IBV_WC_REM_INV_REQ_ERR, ADV_ERR_NAK_INVALID_REQUEST, now);
		break;
	case ADV_NAK_REMOTE_ACCESS_ERROR:
		qp->engine->counters.req_remote_access_errors++;
		adv_requester_fail(qp, IBV_WC_REM_ACCESS_ERR, ADV_ERR_NAK_ACCESS, now);
		break;
	case ADV_NAK_REMOTE_OPERATIONAL_ERROR:
		adv_requester_fail(qp, IBV_WC_REM_OP_ERR, ADV_ERR_NAK_OPERATION, now);
		break;
	default:
		adv_requester_fail(qp, IBV_WC_BAD_RESP_ERR, ADV_ERR_NAK_RESERVED, now);
	}
}

/* A NAK of any kind for psn, which is in flight. */
static void nak(struct adv_qp *qp, uint8_t syndrome, uint32_t psn, uint64_t now)
{
	uint8_t value = syndrome & ADV_AETH_VALUE_MASK;

	ADV_PROBE(nak, qp->qpn, psn, syndrome);
	if (syndrome != (ADV_AETH_NAK | ADV_NAK_PSN_SEQUENCE_ERROR)) {
		/* It names the oldest request that is not done, or responses before it are missing.
		 */
		if (!acked_before(qp, psn, now))
			return;
		if ((syndrome & ADV_AETH_TYPE_MASK) == ADV_AETH_RNR_NAK)
			rnr_nak(qp, value, now);
		else
			fatal_nak(qp, value, now);
		return;
	}
	qp->engine->counters.packet_seq_err++;
	if (!acked_before(qp, psn, now) || qp->req.rnr_wait ||
	    (qp->req.nak_heard && !qp->engine->go_back_0))
		return;
	qp->req.nak_heard = true;
	adv_requester_lost(qp, psn, ADV_ERR_SEQUENCE_RETRIES, now);
}

static void acknowledge(struct adv_qp *qp, const struct adv_incoming *in, uint64_t now)
{
	uint32_t psn = in->h->bth.psn;

	switch (in->h->aeth.syndrome & ADV_AETH_TYPE_MASK) {
	case ADV_AETH_ACK:
		ADV_PROBE(ack, qp->qpn, psn);
		acked_before(qp, adv_psn_add(psn, 1), now);
		break;
	case ADV_AETH_RNR_NAK:
	case ADV_AETH_NAK:
		nak(qp, in->h->aeth.syndrome, psn, now);
		break;
	default:
		qp->engine->counters.rx_malformed++;
	}
}

static void bad_response(struct adv_qp *qp, enum adv_vendor_err why, uint64_t now)
{
	adv_requester_fail(qp, IBV_WC_BAD_RESP_ERR, why, now);
}

static void put_response(struct adv_qp *qp, const struct adv_send_wqe *wqe, uint32_t offset,
			 const void *data, uint32_t length, uint64_t now)
{
	enum adv_vendor_err why = ADV_ERR_NONE;
	uint32_t next = adv_psn_add(qp->req.una_psn, 1);

	if (adv_scatter(qp, wqe->sge, wqe->num_sge, offset, data, length, &why))
		adv_requester_acked(qp, next, now);
	else
		adv_requester_fail(qp, IBV_WC_LOC_PROT_ERR, why, now);
}

static void read_response(struct adv_qp *qp, const struct adv_send_wqe *wqe,
			  const struct adv_incoming *in, uint64_t now)
{
	bool has_aeth = in->info->headers & ADV_HAS_AETH;
	uint32_t offset, expected = 0;

	if (has_aeth && (in->h->aeth.syndrome & ADV_AETH_TYPE_MASK) != ADV_AETH_ACK) {
		bad_response(qp, ADV_ERR_BAD_RESPONSE, now);
		return;
	}
	offset = ((in->h->bth.psn - wqe->first_psn) & ADV_PSN_MASK) * qp->mtu;
	if (wqe->opcode == IBV_WR_RDMA_READ)
		expected = wqe->length - offset < qp->mtu ? wqe->length - offset : qp->mtu;
	if (in->payload_len != expected) {
		bad_response(qp, ADV_ERR_RESPONSE_LENGTH, now);
		return;
	}
	/* After a timeout one packet was asked for: if more are to follow, that is not the answer.
	 */
	if (!(in->info->flags & ADV_PKT_END))
		adv_requester_go_on(qp);
	put_response(qp, wqe, offset, in->payload, expected, now);
}

static void atomic_response(struct adv_qp *qp, const struct adv_send_wqe *wqe,
			    const struct adv_incoming *in, uint64_t now)
{
	uint64_t original = in->h->atomicacketh.original;

	put_response(qp, wqe, 0, &original, sizeof(original), now);
}

/* A READ response or atomic acknowledge for psn, which is in flight. */
static void response(struct adv_qp *qp, const struct adv_incoming *in, uint64_t now)
{
	const struct adv_send_wqe *wqe;
	bool atomic_ack = in->info->headers & ADV_HAS_ATOMICACKETH;
	bool atomic_request;

	if (!acked_before(qp, in->h->bth.psn, now) || qp->req.una_psn != in->h->bth.psn)
		return;
	wqe = adv_send_wqe_at(qp, qp->sq.tail);
	atomic_request = wqe->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
			 wqe->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
	/* A response to a SEND or WRITE, or of the wrong kind: not from a sane peer. */
	if (!adv_wqe_wants_response(wqe) || atomic_ack != atomic_request)
		bad_response(qp, ADV_ERR_BAD_RESPONSE, now);
	else if (atomic_ack)
		atomic_response(qp, wqe, in, now);
	else
		read_response(qp, wqe, in, now);
}

void adv_completer_rx(struct adv_qp *qp, uint64_t now, const struct adv_incoming *in)
{
	uint32_t psn = in->h->bth.psn;

	if (!qp->reliable || qp->xrcd || qp->state == IBV_QPS_RTR) {
		qp->engine->counters.rx_no_qp++;
		return;
	}
	/* Of a PSN that is not in flight: old, repeated, or a guess (IBTA 9.7.5.2.1: ghosts). */
	if (adv_psn_diff(psn, qp->req.una_psn) < 0) {
		if (!(in->info->headers & ADV_HAS_AETH) ||
		    (in->h->aeth.syndrome & ADV_AETH_TYPE_MASK) == ADV_AETH_ACK)
			adv_requester_heard(qp, psn, now);
		return;
	}
	if (adv_psn_diff(psn, qp->req.max_psn) >= 0)
		return;
	if ((in->h->bth.opcode & ADV_OP_MASK) == ADV_OP_ACKNOWLEDGE)
		acknowledge(qp, in, now);
	else
		response(qp, in, now);
}
