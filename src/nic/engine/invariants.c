/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/engine/invariants.h"

#include "nic/engine/engine.h"
#include "nic/queue/connected.h"
#include "nic/queue/cq.h"
#include "nic/queue/srq.h"
#include "nic/requester/flight.h"

/* True if `middle` lies between free running indices: begin <= middle <= end. */
static bool lies_between(uint32_t begin, uint32_t middle, uint32_t end)
{
	return middle - begin <= end - begin;
}

/* ---- queue pairs ---- */

static const char *check_send_queue(const struct adv_send_queue *q)
{
	if (q->head - q->freed > q->size)
		return "a send queue has more requests than slots";
	if (!lies_between(q->freed, q->tail, q->head))
		return "the oldest request is not in the send queue";
	if (!lies_between(q->tail, q->next, q->head))
		return "the cursor is not in the send queue";
	return NULL;
}

static const char *check_recv_queue(const struct adv_recv_queue *q)
{
	if (q->head - q->freed > q->size)
		return "a receive queue has more requests than slots";
	if (!lies_between(q->freed, q->next, q->head))
		return "the next receive request is not in the receive queue";
	return NULL;
}

static const char *check_requester(const struct adv_qp *qp)
{
	const struct adv_requester *r = &qp->req;
	bool ended = qp->state == IBV_QPS_RESET || qp->state == IBV_QPS_ERR;

	if (ended && adv_flight_psns(qp))
		return "a queue pair in RESET or ERR has packets in flight";
	if (ended && qp->reliable && r->timer.when != ADV_NEVER)
		return "a timer of a queue pair in RESET or ERR runs";
	if (adv_psn_diff(r->max_psn, r->next_psn) < 0)
		return "the cursor is behind the newest packet that was sent";
	if (adv_psn_diff(r->next_psn, r->una_psn) < 0)
		return "the cursor is before the oldest unacknowledged packet";
	if (r->rd_head - r->rd_tail > r->rd_room)
		return "more READs and atomics are in flight than there is room for";
	if (r->rnr_wait && r->timer.when == ADV_NEVER)
		return "a queue pair waits for a receiver without a timer";
	return NULL;
}

static const char *check_responder(const struct adv_responder *r)
{
	uint32_t pending = 0;

	if (r->res_head - r->res_next > r->res_room)
		return "more READs and atomics are to be answered than there is room for";
	for (uint32_t i = 0; r->res && i < r->res_room; i++)
		pending += r->res[i].pending;
	if (pending != r->res_pending)
		return "the count of unanswered READs and atomics is wrong";
	return NULL;
}

const char *adv_qp_check(const struct adv_qp *qp)
{
	const char *broken = check_send_queue(&qp->sq);

	if (!broken && !qp->srq)
		broken = check_recv_queue(&qp->rq);
	if (!broken && qp->reliable && !qp->connection)
		broken = check_requester(qp);
	if (!broken && adv_qp_can_receive(qp))
		broken = check_responder(&qp->resp);
	return broken;
}

/* ---- completion queues, shared receive queues ---- */

const char *adv_cq_check(const struct adv_cq *cq)
{
	if (cq->head - cq->tail > cq->room)
		return "a CQ has more completions than entries";
	if (cq->armed == ADV_CQ_DISARMED && cq->moderate_count == 0 &&
	    cq->moderation_timer.when != ADV_NEVER)
		return "the timer of a CQ that is not armed runs";
	return NULL;
}

const char *adv_srq_check(const struct adv_srq *srq)
{
	if (srq->free_count > srq->max_wr)
		return "an SRQ has more free slots than slots";
	if (srq->fifo_head - srq->fifo_tail > srq->max_wr - srq->free_count)
		return "an SRQ has more requests than slots in use";
	return NULL;
}

/* ---- engines ---- */

/* The summary of the engine's work, which spares the fast path a look at each queue. */
static const char *check_summary(const struct adv_engine *e)
{
	uint32_t todo = adv_engine_todo(e);

	if (!(todo & ADV_TODO_TX) && adv_engine_tx_ready(e))
		return "a queue pair is ready to send, and the summary does not say so";
	if (!(todo & ADV_TODO_EVENT) && adv_engine_has_event(e))
		return "an event is pending, and the summary does not say so";
	if (!!(todo & ADV_TODO_ACK) == adv_list_empty(&e->delayed))
		return "the summary is wrong about delayed ACKs";
	if (adv_engine_timers(e) !=
	    (e->timers.heap.count ? adv_timer_at(&e->timers, 1)->in_heap : ADV_NEVER))
		return "the summary is wrong about the first timer";
	return NULL;
}

static const char *check_queue_pairs(const struct adv_engine *e)
{
	const char *broken = NULL;
	uint32_t in_flight = 0;
	unsigned connected = 0;

	adv_list_for_each(const struct adv_qp, qp, &e->qps, node) {
		connected += adv_qp_state_is_connected(qp->state);
		in_flight += qp->reliable ? adv_flight_psns(qp) : 0;
		broken = adv_qp_check(qp);
		if (broken)
			return broken;
	}
	if (e->front.connected != connected)
		return "the count of connected queue pairs is wrong";
	if (e->in_flight != in_flight)
		return "the count of packets in flight is wrong";
	return NULL;
}

const char *adv_engine_check(const struct adv_engine *e)
{
	const char *broken = check_summary(e);

	if (!broken)
		broken = check_queue_pairs(e);
	adv_list_for_each(const struct adv_cq, cq, &e->cqs, node) {
		if (!broken)
			broken = adv_cq_check(cq);
	}
	adv_list_for_each(const struct adv_srq, srq, &e->srqs, node) {
		if (!broken)
			broken = adv_srq_check(srq);
	}
	return broken;
}
