/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The receiving half of the requester (IBTA 9.7.5.2, 9.7.6): acknowledgements and responses
 * complete requests. A response also acknowledges all requests before it. An ACK for a PSN after an
 * unanswered READ or atomic shows that the response was lost.
 */
#include "base/probe.h"
#include "nic/requester/completer.h"
#include "nic/requester/flight.h"
#include "nic/engine/inject.h"
#include "nic/responder/message.h"
#include "nic/responder/payload.h"
#include "nic/queue/qp_complete.h"
#include "nic/requester/recovery.h"
#include "nic/requester/retransmit.h"
#include "nic/requester/selective.h"
#include "nic/queue/sqd.h"

/* Returns the PSN of the oldest READ or atomic without a response, or max_psn if there is none.
 * ACKs cannot move una_psn beyond this PSN. */
static uint32_t first_unanswered(const struct adv_qp *qp)
{
	for (uint32_t i = qp->sq.tail; i != qp->sq.head; i++) {
		const struct adv_send_wqe *wqe = adv_send_wqe_at(qp, i);

		if (!wqe->started)
			break;
		if (!adv_send_wqe_wants_response(wqe))
			continue;
		return adv_psn_diff(wqe->first_psn, qp->req.una_psn) > 0 ? wqe->first_psn
									 : qp->req.una_psn;
	}
	return qp->req.max_psn;
}

/* Requests lost responses again (IBTA 9.7.6.1.2). Does nothing if it has requested them already and
 * una_psn has not moved since. */
static void request_lost_responses(struct adv_qp *qp, uint64_t now)
{
	if (qp->req.gap_asked || qp->req.rnr_wait || qp->state == IBV_QPS_ERR)
		return;
	adv_qp_count(qp, &qp->engine->counters.implied_nak_seq_err);
	adv_retransmit_lost(qp, qp->req.una_psn, ADV_ERR_RESPONSES_LOST, now);
	qp->req.gap_asked = true;
}

/* Requests a response again whose payload could not be read, as an implied NAK. This costs no
 * retry: the network has not failed, and what is requested again is not long. */
static void request_unread_response(struct adv_qp *qp)
{
	if (qp->req.gap_asked || qp->req.rnr_wait)
		return;
	adv_qp_count(qp, &qp->engine->counters.implied_nak_seq_err);
	adv_retransmit_unread(qp);
	qp->req.gap_asked = true;
	qp->req.unread = true;
}

/* With selective retransmission, sets the cursor back to a lost packet. */
static void go_to_lost(struct adv_qp *qp)
{
	uint32_t psn = adv_selective_lost(qp);

	if (psn != qp->req.next_psn)
		adv_retransmit_from(qp, psn);
}

/* Moves una_psn to psn and completes the requests before it. */
static void advance_una(struct adv_qp *qp, uint32_t psn, uint64_t now)
{
	struct adv_requester *req = &qp->req;
	bool behind = adv_psn_diff(psn, req->next_psn) > 0;

	if (psn == req->una_psn)
		return;
	assert(adv_psn_diff(psn, req->una_psn) > 0 && adv_psn_diff(psn, req->max_psn) <= 0);
	adv_retransmit_progress(qp, psn, !behind, now);
	/* The peer received these packets from an earlier transmission: the cursor skips them. */
	if (behind) {
		adv_flight_set(qp, req->una_psn, psn);
		adv_retransmit_from(qp, psn);
	}
	adv_flight_set(qp, psn, req->next_psn);
	while (qp->sq.tail != qp->sq.head && qp->state != IBV_QPS_ERR) {
		const struct adv_send_wqe *wqe = adv_send_wqe_at(qp, qp->sq.tail);

		/* An acknowledged request is done, even if its retransmission failed. */
		if (!wqe->started ||
		    adv_psn_diff(adv_psn_add(wqe->first_psn, wqe->psn_count), psn) > 0)
			break;
		adv_qp_complete_send(qp, IBV_WC_SUCCESS, ADV_ERR_NONE, now);
	}
	if (qp->state == IBV_QPS_ERR)
		return;
	adv_retransmit_arm(qp, now);
	if (qp->selective)
		go_to_lost(qp);
	adv_sqd_check(qp);
	if (qp->sq.next != qp->sq.head)
		adv_qp_schedule(qp);
}

/* Handles the acknowledgement of all packets before psn, up to the first missing response. Returns
 * true if no response is missing and the QP is not in ERR. */
static bool acknowledge_before(struct adv_qp *qp, uint32_t psn, uint64_t now)
{
	uint32_t limit = first_unanswered(qp);

	if (adv_psn_diff(psn, limit) > 0) {
		advance_una(qp, limit, now);
		request_lost_responses(qp, now);
		return false;
	}
	advance_una(qp, psn, now);
	return qp->state != IBV_QPS_ERR;
}

static void handle_rnr_nak(struct adv_qp *qp, uint8_t timer, uint64_t now)
{
	struct adv_requester *req = &qp->req;

	adv_qp_count(qp, &qp->engine->counters.rnr_nak_retry_err);
	if (req->rnr_wait)
		return;
	if (req->rnr_left == 0) {
		adv_qp_count(qp, &qp->engine->counters.req_rnr_retries_exceeded);
		adv_qp_fail_send(qp, IBV_WC_RNR_RETRY_EXC_ERR, ADV_ERR_RNR_RETRIES, now);
		return;
	}
	/* The value 7 stands for unlimited retries (IBTA 9.7.5.2.8). */
	if (qp->attr.rnr_retry != 7)
		req->rnr_left--;
	adv_retransmit_after_rnr_nak(qp, adv_rnr_timer_ns(timer), now);
}

static void fail_by_nak(struct adv_qp *qp, uint8_t code, uint64_t now)
{
	switch (code) {
	case ADV_NAK_INVALID_REQUEST:
		adv_qp_count(qp, &qp->engine->counters.req_remote_invalid_request);
		adv_qp_fail_send(qp, IBV_WC_REM_INV_REQ_ERR, ADV_ERR_NAK_INVALID_REQUEST, now);
		break;
	case ADV_NAK_REMOTE_ACCESS_ERROR:
		adv_qp_count(qp, &qp->engine->counters.req_remote_access_errors);
		adv_qp_fail_send(qp, IBV_WC_REM_ACCESS_ERR, ADV_ERR_NAK_ACCESS, now);
		break;
	case ADV_NAK_REMOTE_OPERATIONAL_ERROR:
		adv_qp_fail_send(qp, IBV_WC_REM_OP_ERR, ADV_ERR_NAK_OPERATION, now);
		break;
	default:
		adv_qp_fail_send(qp, IBV_WC_BAD_RESP_ERR, ADV_ERR_NAK_RESERVED, now);
	}
}

/* Handles a selective NAK: the packets before psn are acknowledged, and packet `kept` is kept. */
static void handle_selective_nak(struct adv_qp *qp, uint32_t psn, uint32_t kept, uint64_t now)
{
	adv_qp_count(qp, &qp->engine->counters.packet_seq_err);
	if (!acknowledge_before(qp, psn, now))
		return;
	adv_selective_nak(qp, kept);
	go_to_lost(qp);
}

/* Handles a NAK of any kind for psn, which is in flight. */
static void handle_nak(struct adv_qp *qp, uint8_t syndrome, uint32_t psn, uint32_t msn,
		       uint64_t now)
{
	uint8_t value = syndrome & ADV_AETH_VALUE_MASK;

	ADV_PROBE(nak, qp->qpn, psn, syndrome);
	if (qp->selective && syndrome == (ADV_AETH_NAK | ADV_NAK_SELECTIVE)) {
		handle_selective_nak(qp, psn, msn, now);
		return;
	}
	if (syndrome != (ADV_AETH_NAK | ADV_NAK_PSN_SEQUENCE_ERROR)) {
		/* The NAK is for the oldest outstanding request, unless responses before it were
		 * lost. */
		bool rnr = (syndrome & ADV_AETH_TYPE_MASK) == ADV_AETH_RNR_NAK;
		bool all_before = acknowledge_before(qp, psn, now);

		/* A peer whose queue pair ends answers no READ whose payload it has recalled. */
		if (!all_before && (!qp->req.unread || rnr || qp->state == IBV_QPS_ERR))
			return;
		if (rnr)
			handle_rnr_nak(qp, value, now);
		else
			fail_by_nak(qp, value, now);
		return;
	}
	adv_qp_count(qp, &qp->engine->counters.packet_seq_err);
	if (!acknowledge_before(qp, psn, now) || qp->req.rnr_wait ||
	    (qp->req.nak_heard && qp->engine->recovery->nak_counts_once))
		return;
	qp->req.nak_heard = true;
	adv_retransmit_lost(qp, psn, ADV_ERR_SEQUENCE_RETRIES, now);
}

static void handle_acknowledgement(struct adv_qp *qp, const struct adv_incoming *in, uint64_t now)
{
	uint32_t psn = in->h->bth.psn;

	switch (in->h->aeth.syndrome & ADV_AETH_TYPE_MASK) {
	case ADV_AETH_ACK:
		ADV_PROBE(ack, qp->qpn, psn);
		acknowledge_before(qp, adv_psn_add(psn, 1), now);
		break;
	case ADV_AETH_RNR_NAK:
	case ADV_AETH_NAK:
		handle_nak(qp, in->h->aeth.syndrome, psn, in->h->aeth.msn, now);
		break;
	default:
		adv_qp_count(qp, &qp->engine->counters.rx_malformed);
	}
}

static void fail_by_response(struct adv_qp *qp, enum adv_vendor_err why, uint64_t now)
{
	adv_qp_fail_send(qp, IBV_WC_BAD_RESP_ERR, why, now);
}

/* Places a part of a READ's response. With an injector, and in a single SGE, the end of the part
 * may become visible first. */
static bool scatter_part(struct adv_qp *qp, const struct adv_send_wqe *wqe, uint32_t offset,
			 const void *data, uint32_t length, enum adv_vendor_err *why)
{
	struct iovec to[ADV_MAX_SGE];

	if (!qp->engine->injector || wqe->num_sge != 1 || !length)
		return adv_payload_scatter(qp, wqe->sge, wqe->num_sge, offset, data, length, why);
	if (!adv_payload_ranges(qp, wqe->sge, 1, offset, length, IBV_ACCESS_LOCAL_WRITE, to, why))
		return false;
	adv_inject_store(qp, ADV_WORK_SEND, to[0].iov_base, data, length);
	return true;
}

static void place_response(struct adv_qp *qp, const struct adv_send_wqe *wqe, uint32_t offset,
			   const void *data, uint32_t length, uint64_t now)
{
	enum adv_vendor_err why = ADV_ERR_NONE;
	uint32_t next = adv_psn_add(qp->req.una_psn, 1);

	if (scatter_part(qp, wqe, offset, data, length, &why))
		advance_una(qp, next, now);
	else
		adv_qp_fail_send(qp, IBV_WC_LOC_PROT_ERR, why, now);
}

/* As place_response(), for a response that is long or has its payload elsewhere. */
static void place_long_response(struct adv_qp *qp, const struct adv_send_wqe *wqe, uint32_t offset,
				const struct adv_incoming *in, uint64_t now)
{
	uint32_t next = adv_psn_add(qp->req.una_psn, in->more + 1);
	enum adv_vendor_err why = adv_message_place_long(qp, wqe->sge, wqe->num_sge, offset, in);

	if (why == ADV_ERR_LOST) {
		request_unread_response(qp);
		/* If it was requested after a timeout already, nothing else may start the timer. */
		if (qp->req.retransmit_timer.when == ADV_NEVER)
			adv_retransmit_arm(qp, now);
	} else if (why) {
		adv_qp_fail_send(qp, IBV_WC_LOC_PROT_ERR, why, now);
	} else {
		qp->engine->counters.rx_packets += in->more;
		advance_una(qp, next, now);
	}
}

/* Returns the bytes of the response from `offset` on that this packet must have. */
static uint32_t expected_payload(const struct adv_qp *qp, const struct adv_send_wqe *wqe,
				 const struct adv_incoming *in, uint32_t offset)
{
	uint32_t most = (in->more + 1) * qp->mtu;

	if (wqe->opcode != IBV_WR_RDMA_READ)
		return 0;
	return wqe->length - offset < most ? wqe->length - offset : most;
}

/* True if a response with the expected payload stands for as many packets as it says, none of which
 * was not requested. */
static bool is_more_right(const struct adv_qp *qp, const struct adv_incoming *in)
{
	uint32_t end = adv_psn_add(in->h->bth.psn, in->more + 1);

	return in->payload_len > in->more * qp->mtu && adv_psn_diff(end, qp->req.max_psn) <= 0;
}

static void read_response(struct adv_qp *qp, const struct adv_send_wqe *wqe,
			  const struct adv_incoming *in, uint64_t now)
{
	bool has_aeth = in->info->headers & ADV_HAS_AETH;
	uint32_t offset, expected;

	if (has_aeth && (in->h->aeth.syndrome & ADV_AETH_TYPE_MASK) != ADV_AETH_ACK) {
		fail_by_response(qp, ADV_ERR_BAD_RESPONSE, now);
		return;
	}
	offset = ((in->h->bth.psn - wqe->first_psn) & ADV_PSN_MASK) * qp->mtu;
	expected = expected_payload(qp, wqe, in, offset);
	if (in->payload_len != expected || (in->more && !is_more_right(qp, in))) {
		fail_by_response(qp, ADV_ERR_RESPONSE_LENGTH, now);
		return;
	}
	/* After a timeout the requester requests one packet. So a response that is not the last
	 * one, or stands for several, answers the longer request from before the timeout. */
	if (!(in->info->flags & ADV_PKT_END) || in->more)
		adv_retransmit_resume(qp);
	if (in->more || in->source)
		place_long_response(qp, wqe, offset, in, now);
	else
		place_response(qp, wqe, offset, in->payload, expected, now);
}

static void atomic_response(struct adv_qp *qp, const struct adv_send_wqe *wqe,
			    const struct adv_incoming *in, uint64_t now)
{
	uint64_t original = in->h->atomicacketh.original;

	place_response(qp, wqe, 0, &original, sizeof(original), now);
}

/* Handles a READ response or atomic acknowledge for a PSN in flight. */
static void handle_response(struct adv_qp *qp, const struct adv_incoming *in, uint64_t now)
{
	const struct adv_send_wqe *wqe;
	bool atomic_ack = in->info->headers & ADV_HAS_ATOMICACKETH;
	bool atomic_request;

	if (!acknowledge_before(qp, in->h->bth.psn, now) || qp->req.una_psn != in->h->bth.psn)
		return;
	wqe = adv_send_wqe_at(qp, qp->sq.tail);
	atomic_request = wqe->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
			 wqe->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
	/* The response has the wrong kind, or is for a SEND or WRITE: the peer violates the
	 * protocol. */
	if (!adv_send_wqe_wants_response(wqe) || atomic_ack != atomic_request)
		fail_by_response(qp, ADV_ERR_BAD_RESPONSE, now);
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
	/* The PSN is not in flight: the response is old, repeated or forged (ghosts, IBTA
	 * 9.7.5.2.1). */
	if (adv_psn_diff(psn, qp->req.una_psn) < 0) {
		if (!(in->info->headers & ADV_HAS_AETH) ||
		    (in->h->aeth.syndrome & ADV_AETH_TYPE_MASK) == ADV_AETH_ACK)
			adv_retransmit_duplicate_ack(qp, psn, now);
		return;
	}
	if (adv_psn_diff(psn, qp->req.max_psn) >= 0)
		return;
	if ((in->h->bth.opcode & ADV_OP_MASK) == ADV_OP_ACKNOWLEDGE)
		handle_acknowledgement(qp, in, now);
	else
		handle_response(qp, in, now);
}
