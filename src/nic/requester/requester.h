/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The sending half of the requester: makes request packets from the send queue. */
#ifndef ADV_NIC_REQUESTER_REQUESTER_H
#define ADV_NIC_REQUESTER_REQUESTER_H

#include "nic/requester/flight.h"
#include "nic/requester/long_packet.h"

/* Initializes the requester when the QP enters RTS. qp->attr has the attributes. */
void adv_requester_start(struct adv_qp *qp);
/* Allocates the room for READs and atomics in flight. Call it before the first such request is
 * posted. Returns 0 or ENOMEM. */
int adv_requester_reserve(struct adv_qp *qp);
/* Adds at most `budget` request packets to the batch. */
void adv_requester_tx(struct adv_qp *qp, uint64_t now, struct adv_tx_batch *batch, unsigned budget);

/* At least one of so many packets in a row requests an acknowledgement. */
#define ADV_ACKREQ_INTERVAL 16

/*
 * True if the requester may send nothing after this request until it is acknowledged: the queue
 * ends or drains, or the next request may wait for the window or for responses, or is local, or
 * fails.
 */
static inline bool adv_requester_may_pause_after(const struct adv_qp *qp, uint32_t request)
{
	const struct adv_send_wqe *next;

	if (request + 1 == qp->sq.head || qp->state == IBV_QPS_SQD)
		return true;
	next = adv_send_wqe_at(qp, request + 1);
	return adv_send_wqe_wants_response(next) || adv_send_wqe_is_local(next) || next->failed ||
	       (next->send_flags & IBV_SEND_FENCE);
}

/*
 * True if the packet at the cursor requests an ACK: before a pause, when a window is full, and at
 * regular intervals (IBTA 9.7.5.1.3 leaves the choice to the requester). After a timeout each
 * packet requests an ACK, because perhaps only the first packets of each retransmission arrive.
 */
static inline bool adv_requester_wants_ack(const struct adv_qp *qp, uint32_t packets, bool last)
{
	const struct adv_engine *e = qp->engine;
	const struct adv_requester *req = &qp->req;

	return qp->reliable &&
	       (req->unanswered || req->since_ackreq + packets >= e->ackreq_interval ||
		adv_flight_psns(qp) + packets >= req->cwnd ||
		e->in_flight + packets >= e->total_window ||
		adv_psn_add(req->next_psn, packets) == req->max_psn ||
		(last && adv_requester_may_pause_after(qp, qp->sq.next)));
}

#endif
