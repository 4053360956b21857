/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The requester's timers and retransmissions. */
#include "base/probe.h"
#include "nic/requester/flight.h"
#include "nic/queue/qp_complete.h"
#include "nic/requester/recovery.h"
#include "nic/requester/retransmit.h"
#include "nic/requester/selective.h"
#include "nic/fast/unusual.h"
#include "nic/requester/window.h"

/* ---- the retransmission timer ---- */

/* Returns the duration of the timer, in timeouts. If half of the retries are used, it is 1 even for
 * a slow peer, because the network may lose one retransmission after the other. */
static uint8_t timer_ticks(const struct adv_qp *qp)
{
	return qp->req.retry_left > qp->attr.retry_cnt / 2 ? qp->req.backoff : 1;
}

/* Starts the timer. Returns its duration, ns. */
static uint64_t start_timer(struct adv_qp *qp, uint64_t now)
{
	uint64_t short_or_long = qp->selective ? adv_selective_timer(qp, now) : 0;

	return short_or_long ? short_or_long : adv_retransmit_timeout_ns(qp) * timer_ticks(qp);
}

void adv_retransmit_arm(struct adv_qp *qp, uint64_t now)
{
	struct adv_requester *req = &qp->req;

	if (req->rnr_wait)
		return;
	/* attr.timeout 0 stands for no timeout. */
	if (adv_flight_psns(qp) && qp->attr.timeout)
		adv_timer_set(&qp->engine->timers, &req->retransmit_timer,
			      now + start_timer(qp, now));
	else
		adv_timer_cancel(&req->retransmit_timer);
}

/* ---- the cursor ---- */

void adv_retransmit_from(struct adv_qp *qp, uint32_t psn)
{
	struct adv_requester *req = &qp->req;
	uint32_t i;

	while (req->rd_head != req->rd_tail &&
	       adv_psn_diff(req->rd_end[(req->rd_head - 1) & (req->rd_room - 1)], psn) > 0)
		req->rd_head--;
	req->offset = 0;
	for (i = qp->sq.tail; i != qp->sq.head; i++) {
		const struct adv_send_wqe *wqe = adv_send_wqe_at(qp, i);
		uint32_t packets = (psn - wqe->first_psn) & ADV_PSN_MASK;

		if (!wqe->started)
			break;
		if (packets < wqe->psn_count) {
			req->offset = packets * qp->mtu;
			break;
		}
	}
	qp->sq.next = i;
	adv_flight_set(qp, req->una_psn, psn);
	adv_qp_schedule(qp);
}

void adv_retransmit_for_ack(struct adv_qp *qp)
{
	if (!qp->reliable || !adv_flight_psns(qp) || !qp->req.since_ackreq)
		return;
	adv_selective_all_lost(qp, qp->req.una_psn);
	adv_retransmit_from(qp, qp->req.una_psn);
}

/* Notes the position of the cursor before a timeout sets it back. If several timeouts follow each
 * other, only the first notes it. */
static void note_cursor(struct adv_qp *qp)
{
	struct adv_requester *req = &qp->req;

	if (req->unanswered)
		return;
	req->far = req->next_psn == req->max_psn && req->rd_head != req->rd_tail;
	if (!req->far)
		return;
	req->far_head = req->rd_head;
	req->far_end = req->rd_end[req->rd_tail & (req->rd_room - 1)];
}

void adv_retransmit_resume(struct adv_qp *qp)
{
	struct adv_requester *req = &qp->req;

	if (!req->unanswered || !req->far)
		return;
	req->far = false;
	req->rd_end[req->rd_tail & (req->rd_room - 1)] = req->far_end;
	req->rd_head = req->far_head;
	adv_retransmit_from(qp, req->max_psn);
}

/* ---- acknowledgements ---- */

/*
 * Adjusts the duration of the timer. After a late answer the timer stays long, until all packets
 * that were in flight at that time are acknowledged in time. If an answer arrives soon after a
 * retransmission, a packet was lost and the peer is not slow: the timer becomes short.
 */
static void note_time(struct adv_qp *qp, uint32_t psn, bool sent_again, uint64_t now)
{
	struct adv_requester *req = &qp->req;
	uint64_t timeout = adv_retransmit_timeout_ns(qp);
	uint64_t in_time = req->retransmit_timer.when - timeout * (timer_ticks(qp) - 1u);

	if (now > in_time)
		req->late_psn = req->max_psn;
	else if (adv_psn_diff(psn, req->late_psn) >= 0 ||
		 (sent_again && now + timeout - timeout / 4 <= in_time))
		req->backoff = 1;
}

/*
 * Without a loss this stores nothing. adv_qp_review() reads these bytes next, several by one load.
 * A processor forwards no load from several stores that are under way: the load would wait until
 * they and the payload that was copied before them have reached the cache, about a microsecond.
 */
static void reset_retries(struct adv_qp *qp)
{
	struct adv_requester *req = &qp->req;

	if (req->retry_left != qp->attr.retry_cnt || req->rnr_left != qp->attr.rnr_retry) {
		req->retry_left = qp->attr.retry_cnt;
		req->rnr_left = qp->attr.rnr_retry;
	}
	if (req->ticks || req->unanswered || req->gap_asked || req->nak_heard) {
		req->ticks = 0;
		req->unanswered = false;
		req->gap_asked = false;
		req->unread = false;
		req->nak_heard = false;
	}
}

void adv_retransmit_progress(struct adv_qp *qp, uint32_t psn, bool sent_again, uint64_t now)
{
	struct adv_requester *req = &qp->req;

	adv_selective_progress(qp, psn);
	adv_window_acked(qp, (psn - req->una_psn) & ADV_PSN_MASK, sent_again);
	if (req->backoff > 1)
		note_time(qp, psn, sent_again, now);
	reset_retries(qp);
	while (req->rd_tail != req->rd_head &&
	       adv_psn_diff(req->rd_end[req->rd_tail & (req->rd_room - 1)], psn) <= 0)
		req->rd_tail++;
}

void adv_retransmit_duplicate_ack(struct adv_qp *qp, uint32_t psn, uint64_t now)
{
	struct adv_requester *req = &qp->req;

	if (!adv_flight_psns(qp) || !qp->engine->recovery->duplicate_ack_counts ||
	    adv_psn_diff(req->una_psn, psn) > (int32_t)qp->engine->window)
		return;
	req->retry_left = qp->attr.retry_cnt;
	req->ticks = 0;
	adv_retransmit_arm(qp, now);
}

/* ---- losses ---- */

/* Sends everything from psn on again. After a timeout one packet is sent first and requests an
 * acknowledgement. The others follow when the acknowledgement arrives. */
static void send_again(struct adv_qp *qp, uint32_t psn, enum adv_vendor_err why)
{
	ADV_PROBE(retransmission, qp->qpn, psn, adv_flight_psns(qp));
	psn = qp->engine->recovery->go_back(qp, psn, why);
	adv_retransmit_from(qp, psn);
	adv_timer_cancel(&qp->req.retransmit_timer);
}

void adv_retransmit_unread(struct adv_qp *qp)
{
	send_again(qp, qp->req.una_psn, ADV_ERR_RESPONSES_LOST);
}

/* True if a long packet that ends after psn was sent. Its payload may have been unreadable, which
 * is no failure of the network. */
static bool is_long_lost(const struct adv_qp *qp, uint32_t psn)
{
	const struct adv_requester *req = &qp->req;

	return req->long_sent &&
	       ((req->long_end - psn - 1) & ADV_PSN_MASK) < ((req->max_psn - psn) & ADV_PSN_MASK);
}

void adv_retransmit_lost(struct adv_qp *qp, uint32_t psn, enum adv_vendor_err why, uint64_t now)
{
	struct adv_requester *req = &qp->req;

	/* Go-back-0: the peer answers, so a NAK restores all retries and the message may be
	 * repeated without limit. */
	if (!qp->engine->recovery->nak_costs_retry && why != ADV_ERR_TIMEOUT) {
		req->retry_left = qp->attr.retry_cnt;
		send_again(qp, psn, why);
		return;
	}
	/* Until una_psn moves no further long packet is sent (adv_long_payload()) and no further
	 * NAK counts, so this does not repeat without progress or a timeout. */
	if (why == ADV_ERR_SEQUENCE_RETRIES && is_long_lost(qp, psn)) {
		send_again(qp, psn, why);
		return;
	}
	if (req->retry_left == 0) {
		adv_qp_count(qp, &qp->engine->counters.req_transport_retries_exceeded);
		adv_qp_fail_send(qp, IBV_WC_RETRY_EXC_ERR, why, now);
		return;
	}
	req->retry_left--;
	send_again(qp, psn, why);
}

/*
 * Handles a timeout. A retry lasts timeout_ticks timeouts. The first retry retransmits after 1, 2
 * and 4 timeouts. Each later retry retransmits once, because more retransmissions do not make a
 * slow peer faster.
 */
static void timed_out(struct adv_qp *qp, uint64_t now)
{
	struct adv_requester *req = &qp->req;
	uint8_t ticks = req->ticks + timer_ticks(qp), most = qp->engine->timeout_ticks;

	if (qp->selective && now < adv_selective_due(qp)) {
		adv_timer_set(&qp->engine->timers, &req->retransmit_timer, adv_selective_due(qp));
		return;
	}
	adv_qp_count(qp, &qp->engine->counters.local_ack_timeout_err);
	if (qp->selective && !adv_selective_costs_retry(qp, adv_retransmit_timeout_ns(qp), now)) {
		send_again(qp, req->una_psn, ADV_ERR_TIMEOUT);
		return;
	}
	/* The timeout itself requests missing responses again. Responses that arrive late must not
	 * cause another request. */
	note_cursor(qp);
	req->unanswered = qp->engine->recovery->one_packet_at_timeout;
	req->gap_asked = true;
	req->nak_heard = false;
	req->late_psn = req->max_psn;
	if (ticks < most) {
		req->ticks = ticks;
		if (req->backoff < ticks)
			req->backoff = ticks < most - ticks ? ticks : most - ticks;
		send_again(qp, req->una_psn, ADV_ERR_TIMEOUT);
		return;
	}
	req->ticks = 0;
	req->backoff = most;
	adv_retransmit_lost(qp, req->una_psn, ADV_ERR_TIMEOUT, now);
}

/* ---- the RNR NAK timer ---- */

void adv_retransmit_after_rnr_nak(struct adv_qp *qp, uint64_t ns, uint64_t now)
{
	struct adv_requester *req = &qp->req;

	adv_selective_all_lost(qp, req->una_psn);
	adv_retransmit_from(qp, req->una_psn);
	req->rnr_wait = true;
	adv_timer_set(&qp->engine->timers, &req->rnr_nak_timer,
		      now + adv_time_of_clock(&qp->engine->time, ns));
}

static void rnr_nak_timer_expired(struct adv_qp *qp)
{
	qp->req.rnr_wait = false;
	adv_qp_schedule(qp);
}

void adv_retransmit_timer_expired(struct adv_engine *e, struct adv_timer *t, uint64_t now)
{
	struct adv_qp *qp = adv_container_of(t, struct adv_qp, req.timer);

	if (qp->req.rnr_wait)
		rnr_nak_timer_expired(qp);
	else if (adv_flight_psns(qp))
		timed_out(qp, now);
	adv_qp_review(qp);
}
