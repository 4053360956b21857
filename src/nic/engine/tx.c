/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The general path of a queue pair's turn, and what an engine sends beside turns. */
#include "nic/queue/ah.h"
#include "nic/queue/datagram.h"
#include "nic/congestion/flow.h"
#include "nic/engine/outgoing.h"
#include "nic/requester/requester.h"
#include "nic/responder/tx.h"
#include "nic/queue/unreliable.h"
#include "nic/fast/unusual.h"

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

/* Sends what adv_engine_hold() does not hold: CNPs, and ACKs if they have another priority. */
static void serve_held(struct adv_qp *qp, uint64_t now, struct adv_tx_batch *batch)
{
	adv_flow_send_cnp(qp, batch);
	if (qp->engine->acks_not_held && !qp->resp.res_pending && adv_responder_has_tx(qp)) {
		if (!adv_outgoing_has_room(batch)) {
			adv_qp_schedule(qp);
			return;
		}
		adv_responder_tx(qp, now, batch, 1);
	}
	adv_list_add_tail(&qp->engine->held, &qp->tx_node);
}

void adv_outgoing_serve(struct adv_qp *qp, uint64_t now, struct adv_tx_batch *batch)
{
	if (is_held(qp->engine, qp)) {
		serve_held(qp, now, batch);
	} else if (qp->type == IBV_QPT_UD) {
		adv_datagram_tx(qp, now, batch, ADV_QUANTUM);
	} else if (!qp->flow || !adv_flow_serve(qp, now, batch)) {
		serve_connected(qp, now, batch);
	}
	adv_qp_review(qp);
}

void adv_outgoing_send_notes(struct adv_engine *e, struct adv_tx_batch *batch)
{
	if (e->dead_ahs)
		adv_ahs_free(e);
	if (e->note_tail != e->note_head)
		adv_unreliable_tx(e, batch);
}
