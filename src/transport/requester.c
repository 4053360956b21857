/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The requester of RC, XRC and UC (IBTA vol. 1, 9.7.2-9.7.3, 9.8, A14.4): the send queue
 * becomes request packets. A cursor (sq.next, offset, next_psn) moves over the requests; where
 * it is reliable, una_psn follows it as acknowledgements come, and loss moves the cursor back
 * (go-back-N).
 *
 * A READ is asked for in chunks with borders at fixed offsets, so that responses in
 * flight towards us never exceed the window either, and a repeated request never spans
 * two of those that the responder remembers.
 */
#include <stdlib.h>

#include "base/probe.h"
#include "transport/internal.h"

/* An acknowledgement is asked for at least once in so many packets. */
#define ACKREQ_INTERVAL 16

/* ---- PSNs in flight ---- */

static uint32_t in_flight(const struct adv_qp *qp)
{
	return (qp->req.next_psn - qp->req.una_psn) & ADV_PSN_MASK;
}

/* Wakes the QPs that waited for the window that all share. */
static void unstall(struct adv_engine *e)
{
	while (!adv_list_empty(&e->stalled)) {
		struct adv_qp *qp = adv_container_of(e->stalled.next, struct adv_qp, stall_node);

		adv_list_del(&qp->stall_node);
		adv_qp_schedule(qp);
	}
}

static void set_psns(struct adv_qp *qp, uint32_t una, uint32_t next)
{
	struct adv_engine *e = qp->engine;

	e->in_flight -= in_flight(qp);
	qp->req.una_psn = una;
	qp->req.next_psn = next;
	e->in_flight += in_flight(qp);
	if (e->in_flight < e->total_window)
		unstall(e);
}

/* False where n more packets must wait: for this QP's window, or for that of all together. */
static bool window_open(struct adv_qp *qp, uint32_t n)
{
	struct adv_engine *e = qp->engine;
	uint32_t own = in_flight(qp);

	if (own && own + n > qp->req.cwnd)
		return false;
	if (e->in_flight && e->in_flight + n > e->total_window) {
		if (adv_list_empty(&qp->stall_node))
			adv_list_add_tail(&e->stalled, &qp->stall_node);
		return false;
	}
	return true;
}

/* IBTA 9.7.6.1.3: 4.096 us x 2^timeout. */
static uint64_t timeout_ns(const struct adv_qp *qp)
{
	return 4096ull << qp->attr.timeout;
}

/* How many timeouts the timer runs for. Where half of the retries are used up it is one, whatever
 * was thought of the peer: the network may lose one question after the other. */
static uint8_t timer_ticks(const struct adv_qp *qp)
{
	return qp->req.retry_left > qp->attr.retry_cnt / 2 ? qp->req.backoff : 1;
}

static void arm_timer(struct adv_qp *qp, uint64_t now)
{
	struct adv_requester *req = &qp->req;

	if (req->rnr_wait)
		return;
	/* A timeout of 0 means none at all. */
	if (in_flight(qp) && qp->attr.timeout)
		adv_timer_set(qp->engine, &req->timer, now + timeout_ns(qp) * timer_ticks(qp));
	else
		adv_timer_cancel(qp->engine, &req->timer);
}

void adv_requester_start(struct adv_qp *qp)
{
	struct adv_requester *req = &qp->req;

	req->next_psn = req->una_psn = req->max_psn = qp->attr.sq_psn;
	if (!qp->reliable)
		return;
	req->rd_limit = qp->attr.max_rd_atomic;
	req->rd_room = 1;
	while (req->rd_room < req->rd_limit)
		req->rd_room *= 2;
	req->rd_head = req->rd_tail = 0;
	/* Two chunks fill the window, so that asking and answering overlap. */
	req->read_chunk = qp->engine->window;
	if (req->rd_limit > 1 && req->read_chunk > 1)
		req->read_chunk /= 2;
	req->retry_left = qp->attr.retry_cnt;
	req->rnr_left = qp->attr.rnr_retry;
	req->backoff = 1;
	adv_window_start(qp);
}

int adv_requester_reserve(struct adv_qp *qp)
{
	struct adv_requester *req = &qp->req;

	/* Never in RTS, so in error now: nothing will be in flight. */
	if (!req->rd_room)
		return 0;
	if (!req->rd_end)
		req->rd_end = calloc(req->rd_room, sizeof(*req->rd_end));
	return req->rd_end ? 0 : ENOMEM;
}

void adv_requester_resume(struct adv_qp *qp)
{
	qp->req.draining = false;
	adv_qp_schedule(qp);
}

void adv_requester_abandon(struct adv_qp *qp)
{
	set_psns(qp, qp->req.max_psn, qp->req.max_psn);
	qp->req.rd_tail = qp->req.rd_head;
	qp->req.rnr_wait = false;
}

static void report_drained(struct adv_qp *qp)
{
	const struct adv_send_wqe *wqe;

	if (!qp->req.draining)
		return;
	if (qp->sq.tail != qp->sq.head) {
		wqe = adv_send_wqe_at(qp, qp->sq.tail);
		if (wqe->started)
			return;
	}
	qp->req.draining = false;
	if (qp->sqd_event_wanted)
		adv_async_event(qp->engine, IBV_EVENT_SQ_DRAINED, qp, NULL, NULL, ADV_ERR_NONE);
}

/* Nothing follows the newest packet: where it did not ask for an acknowledgement, what is out is
 * sent again, and then it does. */
static void ask_for_ack(struct adv_qp *qp)
{
	if (qp->reliable && in_flight(qp) && qp->req.since_ackreq)
		adv_requester_rewind(qp, qp->req.una_psn);
}

void adv_requester_drain(struct adv_qp *qp)
{
	qp->req.draining = true;
	ask_for_ack(qp);
	report_drained(qp);
}

/* ---- moving back, moving on, failing ---- */

bool adv_wqe_wants_response(const struct adv_send_wqe *wqe)
{
	switch ((int)wqe->opcode) {
	case IBV_WR_RDMA_READ:
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
	case ADV_WR_FLUSH:
	case ADV_WR_ATOMIC_WRITE:
		return true;
	default:
		return false;
	}
}

/* Requests that send nothing, about memory windows. */
static bool is_local(const struct adv_send_wqe *wqe)
{
	switch ((int)wqe->opcode) {
	case IBV_WR_BIND_MW:
	case ADV_WR_BIND_TYPE_1:
	case IBV_WR_LOCAL_INV:
		return true;
	default:
		return false;
	}
}

uint32_t adv_packet_count(uint32_t length, uint32_t mtu)
{
	return length ? (uint32_t)(((uint64_t)length + mtu - 1) / mtu) : 1;
}

void adv_requester_rewind(struct adv_qp *qp, uint32_t psn)
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
	set_psns(qp, req->una_psn, psn);
	adv_qp_schedule(qp);
}

/*
 * Answers were late, or lost. Until all that was in flight then is done, and in time, the timer
 * runs as long as it had to in the end. What is answered soon after it was sent again was lost: the
 * peer is not slow.
 */
static void note_time(struct adv_qp *qp, uint32_t psn, bool sent_again, uint64_t now)
{
	struct adv_requester *req = &qp->req;
	uint64_t timeout = timeout_ns(qp);
	uint64_t in_time = req->timer.when - timeout * (timer_ticks(qp) - 1u);

	if (now > in_time)
		req->late_psn = req->max_psn;
	else if (adv_psn_diff(psn, req->late_psn) >= 0 ||
		 (sent_again && now + timeout - timeout / 4 <= in_time))
		req->backoff = 1;
}

/* Where the cursor is before a timeout sets it back; what was noted at the first of several stays.
 */
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

void adv_requester_go_on(struct adv_qp *qp)
{
	struct adv_requester *req = &qp->req;

	if (!req->unanswered || !req->far)
		return;
	req->far = false;
	req->rd_end[req->rd_tail & (req->rd_room - 1)] = req->far_end;
	req->rd_head = req->far_head;
	adv_requester_rewind(qp, req->max_psn);
}

static void note_progress(struct adv_qp *qp, uint32_t psn, bool sent_again, uint64_t now)
{
	struct adv_requester *req = &qp->req;

	adv_window_acked(qp, (psn - req->una_psn) & ADV_PSN_MASK, sent_again);
	if (req->backoff > 1)
		note_time(qp, psn, sent_again, now);
	req->retry_left = qp->attr.retry_cnt;
	req->rnr_left = qp->attr.rnr_retry;
	req->ticks = 0;
	req->unanswered = false;
	req->gap_asked = false;
	req->nak_heard = false;
	while (req->rd_tail != req->rd_head &&
	       adv_psn_diff(req->rd_end[req->rd_tail & (req->rd_room - 1)], psn) <= 0)
		req->rd_tail++;
}

void adv_requester_acked(struct adv_qp *qp, uint32_t psn, uint64_t now)
{
	struct adv_requester *req = &qp->req;
	bool behind = adv_psn_diff(psn, req->next_psn) > 0;

	if (psn == req->una_psn)
		return;
	assert(adv_psn_diff(psn, req->una_psn) > 0 && adv_psn_diff(psn, req->max_psn) <= 0);
	note_progress(qp, psn, !behind, now);
	/* An old transmission arrived after all: the cursor need not go over it again. */
	if (behind) {
		set_psns(qp, req->una_psn, psn);
		adv_requester_rewind(qp, psn);
	}
	set_psns(qp, psn, req->next_psn);
	while (qp->sq.tail != qp->sq.head && qp->state != IBV_QPS_ERR) {
		const struct adv_send_wqe *wqe = adv_send_wqe_at(qp, qp->sq.tail);

		/* One that cannot be sent again, but was acknowledged after all, is done. */
		if (!wqe->started ||
		    adv_psn_diff(adv_psn_add(wqe->first_psn, wqe->psn_count), psn) > 0)
			break;
		adv_qp_complete_send(qp, IBV_WC_SUCCESS, ADV_ERR_NONE, now);
	}
	if (qp->state == IBV_QPS_ERR)
		return;
	arm_timer(qp, now);
	report_drained(qp);
	adv_qp_schedule(qp);
}

void adv_requester_heard(struct adv_qp *qp, uint32_t psn, uint64_t now)
{
	struct adv_requester *req = &qp->req;

	if (!in_flight(qp) || qp->engine->go_back_0 ||
	    adv_psn_diff(req->una_psn, psn) > (int32_t)qp->engine->window)
		return;
	req->retry_left = qp->attr.retry_cnt;
	req->ticks = 0;
	arm_timer(qp, now);
}

void adv_requester_fail(struct adv_qp *qp, enum ibv_wc_status status, enum adv_vendor_err why,
			uint64_t now)
{
	adv_qp_complete_send(qp, status, why, now);
	if (qp->reliable)
		adv_qp_enter_error(qp, now);
	else if (qp->state != IBV_QPS_ERR)
		adv_qp_enter_sqe(qp, now);
}

/* Go-back-0: all responses to the READ that psn belongs to are asked for again. Of other messages
 * nothing was acknowledged. Returns where to go back to. */
static uint32_t restart_message(struct adv_qp *qp, uint32_t psn)
{
	const struct adv_send_wqe *wqe;

	if (qp->sq.tail == qp->sq.head)
		return psn;
	wqe = adv_send_wqe_at(qp, qp->sq.tail);
	if (!wqe->started || ((psn - wqe->first_psn) & ADV_PSN_MASK) >= wqe->psn_count)
		return psn;
	set_psns(qp, wqe->first_psn, qp->req.next_psn);
	return wqe->first_psn;
}

/* Everything from psn on is sent again: after a timeout one packet, which asks for an
 * acknowledgement, and the others when that has come. */
static void send_again(struct adv_qp *qp, uint32_t psn, enum adv_vendor_err why)
{
	ADV_PROBE(retransmission, qp->qpn, psn, in_flight(qp));
	if (qp->engine->go_back_0)
		psn = restart_message(qp, psn);
	else if (why == ADV_ERR_TIMEOUT)
		adv_window_timed_out(qp);
	else
		adv_window_lost(qp);
	adv_requester_rewind(qp, psn);
	adv_timer_cancel(qp->engine, &qp->req.timer);
}

void adv_requester_lost(struct adv_qp *qp, uint32_t psn, enum adv_vendor_err why, uint64_t now)
{
	struct adv_requester *req = &qp->req;

	/* Where somebody answers, it goes on for ever. */
	if (qp->engine->go_back_0 && why != ADV_ERR_TIMEOUT) {
		req->retry_left = qp->attr.retry_cnt;
		send_again(qp, psn, why);
		return;
	}
	if (req->retry_left == 0) {
		qp->engine->counters.req_transport_retries_exceeded++;
		adv_requester_fail(qp, IBV_WC_RETRY_EXC_ERR, why, now);
		return;
	}
	req->retry_left--;
	send_again(qp, psn, why);
}

/*
 * No answer for the timeout. A retry lasts timeout_ticks of them; the first one is asked after 1, 2
 * and 4 timeouts, those behind it only once: a peer that is slow is not the quicker for it.
 */
static void timed_out(struct adv_qp *qp, uint64_t now)
{
	struct adv_requester *req = &qp->req;
	uint8_t ticks = req->ticks + timer_ticks(qp), most = qp->engine->timeout_ticks;

	qp->engine->counters.local_ack_timeout_err++;
	/* What is missing is asked for now: responses still on their way are no reason to do it
	 * again. */
	note_cursor(qp);
	req->unanswered = !qp->engine->go_back_0; /* which acknowledges whole messages only */
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
	adv_requester_lost(qp, req->una_psn, ADV_ERR_TIMEOUT, now);
}

void adv_requester_timer(struct adv_engine *e, struct adv_timer *t, uint64_t now)
{
	struct adv_qp *qp = adv_container_of(t, struct adv_qp, req.timer);

	if (!qp->reliable) {
		adv_qp_schedule(qp);
	} else if (qp->req.rnr_wait) {
		qp->req.rnr_wait = false;
		adv_qp_schedule(qp);
	} else if (in_flight(qp)) {
		timed_out(qp, now);
	}
}

/* The request at the cursor cannot be sent: it fails as soon as all before it are done. */
static void fail_at_cursor(struct adv_qp *qp, enum ibv_wc_status status, enum adv_vendor_err why,
			   uint64_t now)
{
	struct adv_send_wqe *wqe = adv_send_wqe_at(qp, qp->sq.next);

	wqe->failed = true;
	wqe->status = (uint8_t)status;
	wqe->vendor_err = (uint8_t)why;
	if (qp->sq.tail == qp->sq.next)
		adv_requester_fail(qp, status, why, now);
	else
		ask_for_ack(qp);
}

/* ---- packets ---- */

static void advance(struct adv_qp *qp, uint32_t psns, bool request_done)
{
	struct adv_requester *req = &qp->req;
	uint32_t next = adv_psn_add(req->next_psn, psns);

	if (qp->reliable)
		set_psns(qp, req->una_psn, next);
	else
		req->next_psn = req->una_psn = next;
	if (adv_psn_diff(next, req->max_psn) > 0)
		req->max_psn = next;
	if (request_done) {
		qp->sq.next++;
		req->offset = 0;
	}
}

/* Behind this request nothing is sure to be sent before it is acknowledged: the queue ends or
 * drains, or a request follows that may have to wait for the window, for responses, or fails. */
static bool may_pause_after(const struct adv_qp *qp, uint32_t request)
{
	const struct adv_send_wqe *next;

	if (request + 1 == qp->sq.head || qp->state == IBV_QPS_SQD)
		return true;
	next = adv_send_wqe_at(qp, request + 1);
	return adv_wqe_wants_response(next) || is_local(next) || next->failed ||
	       (next->send_flags & IBV_SEND_FENCE);
}

/* Whether this packet, the newest in flight, is to be acknowledged (IBTA 9.7.5.1.3 leaves the
 * choice to us): before a pause, where a window is full, and every so often on the way. Each one
 * after a timeout: of what is sent again perhaps only the beginning comes through, every time. */
static bool wants_ack(const struct adv_qp *qp, bool last)
{
	const struct adv_engine *e = qp->engine;
	const struct adv_requester *req = &qp->req;

	return qp->reliable &&
	       (req->unanswered || req->since_ackreq + 1 >= ACKREQ_INTERVAL ||
		in_flight(qp) + 1 >= req->cwnd || e->in_flight + 1 >= e->total_window ||
		adv_psn_add(req->next_psn, 1) == req->max_psn ||
		(last && may_pause_after(qp, qp->sq.next)));
}

static uint8_t data_opcode(const struct adv_send_wqe *wqe, bool first, bool last)
{
	bool imm = wqe->opcode == IBV_WR_SEND_WITH_IMM || wqe->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
	bool inv = wqe->opcode == IBV_WR_SEND_WITH_INV;
	bool send = wqe->opcode == IBV_WR_SEND || wqe->opcode == IBV_WR_SEND_WITH_IMM || inv;
	uint8_t op;

	if (first && last)
		op = send ? ADV_OP_SEND_ONLY : ADV_OP_WRITE_ONLY;
	else if (first)
		return send ? ADV_OP_SEND_FIRST : ADV_OP_WRITE_FIRST;
	else if (!last)
		return send ? ADV_OP_SEND_MIDDLE : ADV_OP_WRITE_MIDDLE;
	else
		op = send ? ADV_OP_SEND_LAST : ADV_OP_WRITE_LAST;
	if (inv)
		return first ? ADV_OP_SEND_ONLY_WITH_INV : ADV_OP_SEND_LAST_WITH_INV;
	return imm ? op + 1 : op;
}

/* BTH, and the SRQ's number, which every XRC request carries. */
static void fill_headers(const struct adv_qp *qp, struct adv_headers *h,
			 const struct adv_send_wqe *wqe, uint8_t op)
{
	memset(&h->bth, 0, sizeof(h->bth));
	h->bth.opcode = (uint8_t)(qp->service | op);
	h->bth.pkey = ADV_PKEY_DEFAULT;
	h->bth.dest_qpn = qp->attr.dest_qp_num;
	h->bth.psn = qp->req.next_psn;
	h->xrceth.xrcsrq = wqe->remote_qpn;
}

/* One packet of a SEND or WRITE. False where its memory is not there any more. */
static bool emit_data(struct adv_qp *qp, struct adv_tx_batch *batch, const struct adv_send_wqe *wqe,
		      uint64_t now)
{
	uint32_t left = wqe->length - qp->req.offset;
	bool last = left <= qp->mtu;
	uint32_t n = last ? left : qp->mtu;
	unsigned iov_used = batch->iov_used;
	enum adv_vendor_err why = ADV_ERR_NONE;
	struct adv_tx_packet *pkt;
	struct adv_headers h;

	fill_headers(qp, &h, wqe, data_opcode(wqe, qp->req.offset == 0, last));
	h.bth.pad = -n & 3;
	h.bth.solicited = last && (wqe->send_flags & IBV_SEND_SOLICITED);
	h.reth.va = wqe->remote_addr;
	h.reth.rkey = wqe->rkey;
	h.reth.length = wqe->length;
	h.immdt = wqe->imm;
	h.ieth.rkey = wqe->imm;
	h.bth.ackreq = wants_ack(qp, last);
	pkt = adv_packet_start(qp->engine, &qp->path, batch, &h);
	if (!adv_gather(qp, wqe, qp->req.offset, n, batch, pkt, &why)) {
		batch->count--;
		batch->iov_used = iov_used;
		fail_at_cursor(qp, IBV_WC_LOC_PROT_ERR, why, now);
		return false;
	}
	if (qp->reliable)
		qp->req.since_ackreq = h.bth.ackreq ? 0 : qp->req.since_ackreq + 1;
	qp->req.offset += n;
	advance(qp, 1, last);
	return true;
}

static void note_response_awaited(struct adv_qp *qp, uint32_t psns)
{
	struct adv_requester *req = &qp->req;

	req->rd_end[req->rd_head++ & (req->rd_room - 1)] = adv_psn_add(req->next_psn, psns);
	req->since_ackreq = 0;
}

static void emit_read(struct adv_qp *qp, struct adv_tx_batch *batch, const struct adv_send_wqe *wqe,
		      uint32_t length)
{
	uint32_t psns = adv_packet_count(length, qp->mtu);
	struct adv_headers h;

	fill_headers(qp, &h, wqe, ADV_OP_READ_REQUEST);
	h.reth.va = wqe->remote_addr + qp->req.offset;
	h.reth.rkey = wqe->rkey;
	h.reth.length = length;
	adv_packet_start(qp->engine, &qp->path, batch, &h);
	note_response_awaited(qp, psns);
	qp->req.offset += length;
	advance(qp, psns, qp->req.offset == wqe->length);
}

static void emit_flush(struct adv_qp *qp, struct adv_tx_batch *batch,
		       const struct adv_send_wqe *wqe)
{
	struct adv_headers h;

	fill_headers(qp, &h, wqe, ADV_OP_FLUSH);
	h.feth.placement = (uint8_t)wqe->swap;
	h.feth.selectivity = (uint8_t)(wqe->swap >> 32);
	h.reth.va = wqe->remote_addr;
	h.reth.rkey = wqe->rkey;
	h.reth.length = (uint32_t)wqe->compare_add;
	adv_packet_start(qp->engine, &qp->path, batch, &h);
}

static void emit_atomic_write(struct adv_qp *qp, struct adv_tx_batch *batch,
			      struct adv_send_wqe *wqe)
{
	struct adv_tx_packet *pkt;
	struct adv_headers h;

	fill_headers(qp, &h, wqe, ADV_OP_ATOMIC_WRITE);
	h.reth.va = wqe->remote_addr;
	h.reth.rkey = wqe->rkey;
	h.reth.length = sizeof(uint64_t);
	pkt = adv_packet_start(qp->engine, &qp->path, batch, &h);
	batch->iov[batch->iov_used].iov_base = &wqe->compare_add;
	batch->iov[batch->iov_used++].iov_len = sizeof(uint64_t);
	pkt->iov_count = 1;
	pkt->payload_len = sizeof(uint64_t);
}

static void emit_atomic(struct adv_qp *qp, struct adv_tx_batch *batch, struct adv_send_wqe *wqe)
{
	bool cas = wqe->opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
	struct adv_headers h;

	if (wqe->opcode == ADV_WR_FLUSH) {
		emit_flush(qp, batch, wqe);
	} else if (wqe->opcode == ADV_WR_ATOMIC_WRITE) {
		emit_atomic_write(qp, batch, wqe);
	} else {
		fill_headers(qp, &h, wqe, cas ? ADV_OP_COMPARE_SWAP : ADV_OP_FETCH_ADD);
		h.atomiceth.va = wqe->remote_addr;
		h.atomiceth.rkey = wqe->rkey;
		h.atomiceth.swap_add = cas ? wqe->swap : wqe->compare_add;
		h.atomiceth.compare = cas ? wqe->compare_add : 0;
		adv_packet_start(qp->engine, &qp->path, batch, &h);
	}
	note_response_awaited(qp, 1);
	advance(qp, 1, true);
}

/* ---- the loop ---- */

/*
 * Bytes that the next READ request asks for: to the end of the chunk that the cursor is in. After a
 * timeout the first of these packets: a responder that is slow has the others to send already.
 */
static uint32_t read_length(const struct adv_qp *qp, const struct adv_send_wqe *wqe)
{
	uint64_t chunk = (uint64_t)qp->req.read_chunk * qp->mtu;
	uint64_t end = (qp->req.offset / chunk + 1) * chunk;
	uint32_t rest = (uint32_t)((end < wqe->length ? end : wqe->length) - qp->req.offset);

	return qp->req.unanswered && rest > qp->mtu ? qp->mtu : rest;
}

/* Carries a local request out. It completes like one that sends no packet: when all before it
 * have. */
static bool start_local(struct adv_qp *qp, struct adv_send_wqe *wqe, uint64_t now)
{
	enum adv_vendor_err why = adv_mw_execute(qp, wqe);

	if (why) {
		fail_at_cursor(qp, IBV_WC_MW_BIND_ERR, why, now);
		return false;
	}
	wqe->psn_count = 0;
	wqe->first_psn = qp->req.next_psn;
	wqe->started = true;
	return true;
}

/* All of its memory is looked at by adv_gather() before anything of it goes out. */
static bool is_checked_when_sent(const struct adv_qp *qp, const struct adv_send_wqe *wqe,
				 bool response)
{
	return !response && wqe->length <= qp->mtu;
}

/* Checks that need be made once, before a request's first packet. False: not now, or failed. */
static bool start_request(struct adv_qp *qp, struct adv_send_wqe *wqe, uint64_t now)
{
	bool response = adv_wqe_wants_response(wqe);
	enum adv_vendor_err why = ADV_ERR_NONE;

	if (qp->state == IBV_QPS_SQD)
		return false;
	if (wqe->failed) {
		fail_at_cursor(qp, wqe->status, wqe->vendor_err, now);
		return false;
	}
	/* Behind READs and atomics: the fence waits for their responses (IBTA 10.8.3.3). */
	if ((wqe->send_flags & IBV_SEND_FENCE) && qp->req.rd_head != qp->req.rd_tail)
		return false;
	if (is_local(wqe))
		return start_local(qp, wqe, now);
	if (response && qp->req.rd_limit == 0) {
		fail_at_cursor(qp, IBV_WC_LOC_QP_OP_ERR, ADV_ERR_NO_RD_ATOMIC, now);
		return false;
	}
	if (!is_checked_when_sent(qp, wqe, response) &&
	    !adv_sges_good(qp, wqe->sge, wqe->num_sge,
			   response ? IBV_ACCESS_LOCAL_WRITE : ADV_ACCESS_LOCAL_READ, &why)) {
		fail_at_cursor(qp, IBV_WC_LOC_PROT_ERR, why, now);
		return false;
	}
	wqe->psn_count = 1;
	if (!response || wqe->opcode == IBV_WR_RDMA_READ)
		wqe->psn_count = adv_packet_count(wqe->length, qp->mtu);
	wqe->first_psn = qp->req.next_psn;
	wqe->started = true;
	return true;
}

static bool emit_responded(struct adv_qp *qp, struct adv_tx_batch *batch, struct adv_send_wqe *wqe)
{
	uint32_t length;

	if (qp->req.rd_head - qp->req.rd_tail >= qp->req.rd_limit)
		return false;
	if (wqe->opcode != IBV_WR_RDMA_READ) {
		if (!window_open(qp, 1))
			return false;
		emit_atomic(qp, batch, wqe);
		return true;
	}
	length = read_length(qp, wqe);
	/* Nothing behind a request for less than the chunk: it is to be one request's again. */
	if ((qp->req.unanswered && in_flight(qp)) ||
	    !window_open(qp, adv_packet_count(length, qp->mtu)))
		return false;
	emit_read(qp, batch, wqe, length);
	return true;
}

/* The cursor goes over a local request, for the first time or after going back. */
static void pass_local(struct adv_qp *qp, uint64_t now)
{
	bool oldest = qp->sq.tail == qp->sq.next;

	advance(qp, 0, true);
	if (oldest) {
		adv_qp_complete_send(qp, IBV_WC_SUCCESS, ADV_ERR_NONE, now);
		report_drained(qp);
	}
}

/* One packet of the request at the cursor; false: nothing (more) can go now. */
static bool emit_next(struct adv_qp *qp, uint64_t now, struct adv_tx_batch *batch)
{
	struct adv_send_wqe *wqe = adv_send_wqe_at(qp, qp->sq.next);

	if (!wqe->started && !start_request(qp, wqe, now))
		return false;
	if (wqe->failed) {
		fail_at_cursor(qp, wqe->status, wqe->vendor_err, now);
		return false;
	}
	if (wqe->psn_count == 0) {
		pass_local(qp, now);
		return true;
	}
	if (qp->type == IBV_QPT_UC) {
		uint32_t request = qp->sq.next;

		if (!adv_unreliable_may_send(qp, &qp->path, qp->attr.dest_qp_num, batch, now) ||
		    !emit_data(qp, batch, wqe, now))
			return false;
		adv_unreliable_sent(qp, &qp->path, qp->attr.dest_qp_num, batch, now);
		if (qp->sq.next != request) {
			adv_qp_complete_send(qp, IBV_WC_SUCCESS, ADV_ERR_NONE, now);
			report_drained(qp);
		}
		return true;
	}
	if (adv_wqe_wants_response(wqe))
		return emit_responded(qp, batch, wqe);
	return window_open(qp, 1) && emit_data(qp, batch, wqe, now);
}

void adv_requester_tx(struct adv_qp *qp, uint64_t now, struct adv_tx_batch *batch, unsigned budget)
{
	bool sent = false;

	while (qp->sq.next != qp->sq.head && !qp->req.rnr_wait &&
	       (qp->state == IBV_QPS_RTS || qp->state == IBV_QPS_SQD)) {
		if (budget == 0 || !adv_batch_has_room(batch)) {
			adv_qp_schedule(qp);
			break;
		}
		if (!emit_next(qp, now, batch))
			break;
		sent = true;
		budget--;
	}
	if (sent && qp->reliable && qp->req.timer.when == ADV_NEVER)
		arm_timer(qp, now);
}
