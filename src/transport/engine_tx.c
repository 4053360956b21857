/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sends packets: gives the queue pairs their turns. */
#include "transport/ah.h"
#include "transport/datagram.h"
#include "transport/fast.h"
#include "transport/flow.h"
#include "transport/outgoing.h"
#include "transport/requester.h"
#include "transport/responder_tx.h"
#include "transport/unreliable.h"

bool adv_engine_tx_ready(const struct adv_engine *e)
{
	return !adv_list_empty(&e->tx_ready) || e->note_tail != e->note_head;
}

void adv_engine_hold(struct adv_engine *e, uint64_t dscps)
{
	e->held_dscps = dscps;
	adv_list_move_tail(&e->tx_ready, &e->held);
	e->front.todo |= ADV_TODO_TX;
}

static bool is_held(const struct adv_engine *e, const struct adv_qp *qp)
{
	return e->held_dscps >> (qp->path.tclass >> 2) & 1 && qp->type != IBV_QPT_UD;
}

static void serve_connected(struct adv_qp *qp, uint64_t now, struct adv_tx_batch *batch)
{
	bool requests_first = qp->resp.ack_behind || qp->resp.cut;

	if (requests_first)
		adv_requester_tx(qp, now, batch, ADV_QUANTUM);
	if (adv_responder_ack_goes_alone(qp, batch)) {
		adv_qp_schedule(qp);
		return;
	}
	if (adv_responder_has_tx(qp)) {
		adv_responder_tx(qp, now, batch, ADV_QUANTUM);
		qp->resp.cut = !requests_first && adv_responder_has_tx(qp);
	}
	if (!requests_first)
		adv_requester_tx(qp, now, batch, ADV_QUANTUM);
}

/* The general path of a turn. */
static void serve_qp(struct adv_qp *qp, uint64_t now, struct adv_tx_batch *batch)
{
	if (is_held(qp->engine, qp)) {
		adv_flow_send_cnp(qp, batch);
		adv_list_add_tail(&qp->engine->held, &qp->tx_node);
	} else if (qp->type == IBV_QPT_UD) {
		adv_datagram_tx(qp, now, batch, ADV_QUANTUM);
	} else if (!qp->flow || !adv_flow_serve(qp, now, batch)) {
		serve_connected(qp, now, batch);
	}
	adv_qp_review(qp);
}

unsigned adv_engine_tx(struct adv_engine *e, uint64_t now, struct adv_tx_batch *batch)
{
	return adv_engine_tx_some(e, now, batch, ADV_TX_BATCH_PACKETS);
}

/* Gives turns until the batch is full or no QP is ready, and sends notes. */
static __attribute__((noinline)) unsigned serve_all(struct adv_engine *e, uint64_t now,
						    struct adv_tx_batch *batch)
{
	if (e->dead_ahs)
		adv_ahs_free(e);
	if (e->note_tail != e->note_head)
		adv_unreliable_tx(e, batch);
	while (!adv_list_empty(&e->tx_ready) && adv_outgoing_has_room(batch)) {
		struct adv_qp *qp = adv_container_of(e->tx_ready.next, struct adv_qp, tx_node);

		adv_list_del(&qp->tx_node);
		if (!(qp->unusual & ADV_UNUSUAL_FOR_TURN) && !e->held_dscps)
			adv_fast_turn(qp, now, batch);
		else
			serve_qp(qp, now, batch);
		if (adv_responder_ack_goes_alone(qp, batch))
			break;
	}
	if (!adv_engine_tx_ready(e))
		e->front.todo &= ~(uint32_t)ADV_TODO_TX;
	return batch->count;
}

/* Returns the only QP that is ready, if the engine has nothing else to send and the fast path may
 * serve the QP; else NULL. */
static inline struct adv_qp *only_usual_qp(const struct adv_engine *e)
{
	struct adv_list *first = e->tx_ready.next;
	struct adv_qp *qp = adv_container_of(first, struct adv_qp, tx_node);

	if (first->next != &e->tx_ready || first == &e->tx_ready || e->dead_ahs ||
	    e->note_tail != e->note_head || e->held_dscps)
		return NULL;
	return qp->unusual & ADV_UNUSUAL_FOR_TURN ? NULL : qp;
}

unsigned adv_engine_tx_some(struct adv_engine *e, uint64_t now, struct adv_tx_batch *batch,
			    unsigned limit)
{
	struct adv_qp *qp = only_usual_qp(e);

	batch->count = 0;
	batch->limit = limit;
	batch->iov_used = 0;
	if (!qp)
		return serve_all(e, now, batch);
	adv_list_del(&qp->tx_node);
	adv_fast_turn(qp, now, batch);
	/* Mostly the QP has sent all. */
	if (!adv_list_empty(&e->tx_ready) && !adv_responder_ack_goes_alone(qp, batch))
		return serve_all(e, now, batch);
	if (!adv_engine_tx_ready(e))
		e->front.todo &= ~(uint32_t)ADV_TODO_TX;
	return batch->count;
}

void adv_engine_fetch(const struct adv_engine *e)
{
	__builtin_prefetch(&e->counters);
	__builtin_prefetch(&e->counters.rx_write_requests);
	__builtin_prefetch(&e->range);
	__builtin_prefetch(&e->tx_ready);
	__builtin_prefetch(&e->in_flight);
	__builtin_prefetch(&e->note_head);
	__builtin_prefetch(&e->mr_generation);
}
