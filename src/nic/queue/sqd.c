/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/requester/flight.h"
#include "nic/requester/retransmit.h"
#include "nic/queue/sqd.h"

void adv_sqd_check(struct adv_qp *qp)
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
		adv_affiliated_raise(qp->engine, &qp->events, IBV_EVENT_SQ_DRAINED, ADV_ERR_NONE);
}

void adv_sqd_enter(struct adv_qp *qp)
{
	qp->req.draining = true;
	adv_retransmit_for_ack(qp);
	adv_sqd_check(qp);
}

void adv_sqd_leave(struct adv_qp *qp)
{
	qp->req.draining = false;
	adv_qp_schedule(qp);
}
