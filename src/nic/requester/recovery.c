/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/requester/flight.h"
#include "nic/requester/recovery.h"
#include "nic/requester/window.h"

/* ---- go-back-N ---- */

static uint32_t go_back_n(struct adv_qp *qp, uint32_t psn, enum adv_vendor_err why)
{
	if (why == ADV_ERR_TIMEOUT)
		adv_window_timed_out(qp);
	else
		adv_window_lost(qp);
	return psn;
}

static uint32_t expected_psn(const struct adv_qp *qp)
{
	return qp->resp.epsn;
}

static void keep_unfinished(struct adv_qp *qp)
{
}

static bool never_begins_again(struct adv_qp *qp, uint32_t psn)
{
	return false;
}

const struct adv_recovery adv_recovery_go_back_n = {
	.nak_costs_retry = true,
	.nak_counts_once = true,
	.duplicate_ack_counts = true,
	.one_packet_at_timeout = true,
	.go_back = go_back_n,
	.unfinished_psn = expected_psn,
	.drop_unfinished = keep_unfinished,
	.begins_again = never_begins_again,
};

/* As go_back_n(), but a loss does not reduce the window. */
static uint32_t go_back_with_full_window(struct adv_qp *qp, uint32_t psn, enum adv_vendor_err why)
{
	return psn;
}

const struct adv_recovery adv_recovery_fixed_window = {
	.nak_costs_retry = true,
	.nak_counts_once = true,
	.duplicate_ack_counts = true,
	.one_packet_at_timeout = false,
	.go_back = go_back_with_full_window,
	.unfinished_psn = expected_psn,
	.drop_unfinished = keep_unfinished,
	.begins_again = never_begins_again,
};

/* ---- go-back-0 ---- */

/* Returns the first PSN of the message that contains psn, so that the whole message is sent again,
 * or all responses of a READ are requested again. */
static uint32_t go_back_to_message(struct adv_qp *qp, uint32_t psn, enum adv_vendor_err why)
{
	const struct adv_send_wqe *wqe;

	if (qp->sq.tail == qp->sq.head)
		return psn;
	wqe = adv_send_wqe_at(qp, qp->sq.tail);
	if (!wqe->started || ((psn - wqe->first_psn) & ADV_PSN_MASK) >= wqe->psn_count)
		return psn;
	adv_flight_set(qp, wqe->first_psn, qp->req.next_psn);
	return wqe->first_psn;
}

/* Returns the first PSN of the message in progress, or epsn if there is none. All packets of the
 * message so far have filled the MTU. */
static uint32_t message_start(const struct adv_qp *qp)
{
	const struct adv_responder *resp = &qp->resp;

	if (resp->message == ADV_MSG_NONE)
		return resp->epsn;
	return (resp->epsn - (uint32_t)(resp->offset / qp->mtu)) & ADV_PSN_MASK;
}

/* Drops the received part of the message in progress. Keeps the receive request for when the
 * message begins again. */
static void drop_message(struct adv_qp *qp)
{
	qp->resp.epsn = message_start(qp);
	qp->resp.message = ADV_MSG_NONE;
}

static bool begins_message_again(struct adv_qp *qp, uint32_t psn)
{
	if (psn != message_start(qp))
		return false;
	drop_message(qp);
	return true;
}

const struct adv_recovery adv_recovery_go_back_0 = {
	.nak_costs_retry = false,
	.nak_counts_once = false,
	.duplicate_ack_counts = false,
	.one_packet_at_timeout = false, /* one packet may get no ACK: the responder acknowledges
					   whole messages only */
	.go_back = go_back_to_message,
	.unfinished_psn = message_start,
	.drop_unfinished = drop_message,
	.begins_again = begins_message_again,
};
