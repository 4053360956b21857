/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/requester/flight.h"

void adv_flight_unstall(struct adv_engine *e)
{
	while (!adv_list_empty(&e->stalled)) {
		struct adv_qp *qp = adv_container_of(e->stalled.next, struct adv_qp, stall_node);

		adv_list_del(&qp->stall_node);
		adv_qp_schedule(qp);
	}
}

void adv_flight_stall(struct adv_qp *qp)
{
	if (adv_list_empty(&qp->stall_node))
		adv_list_add_tail(&qp->engine->stalled, &qp->stall_node);
}

void adv_flight_abandon(struct adv_qp *qp)
{
	/* After a NAK, the READs before the refused request are still answered. */
	bool responses = qp->resp.long_sent && !qp->resp.dead;

	/* The requests complete now, and the program may use their memory again. Nor may the peer
	 * read what it has requested. */
	if ((qp->req.long_sent || responses) && qp->engine->withdraw)
		qp->engine->withdraw(qp->engine->long_user, &qp->path, NULL, 0);
	qp->req.long_sent = false;
	qp->resp.long_sent = qp->resp.long_sent && !responses;
	adv_flight_set(qp, qp->req.max_psn, qp->req.max_psn);
	qp->req.rd_tail = qp->req.rd_head;
	qp->req.rnr_wait = false;
}
