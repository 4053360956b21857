/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A window for networks that drop: half of it after a loss, once a round trip, and one packet
 * more a round trip without. The upper bound is what the peer's receive buffer is thought to hold.
 */
#include "transport/internal.h"

#define MIN_WINDOW 4

void adv_window_start(struct adv_qp *qp)
{
	qp->req.cwnd = qp->engine->window;
	qp->req.cwnd_acked = 0;
	qp->req.recover_psn = qp->req.next_psn;
}

void adv_window_acked(struct adv_qp *qp, uint32_t packets)
{
	struct adv_requester *req = &qp->req;

	if (req->cwnd >= qp->engine->window)
		return;
	req->cwnd_acked += packets;
	if (req->cwnd_acked >= req->cwnd) {
		req->cwnd_acked -= req->cwnd;
		req->cwnd++;
	}
}

void adv_window_lost(struct adv_qp *qp)
{
	struct adv_requester *req = &qp->req;

	if (adv_psn_diff(req->una_psn, req->recover_psn) < 0)
		return;
	req->recover_psn = req->max_psn;
	req->cwnd = req->cwnd / 2 > MIN_WINDOW ? req->cwnd / 2 : MIN_WINDOW;
	if (req->cwnd > qp->engine->window)
		req->cwnd = qp->engine->window;
	req->cwnd_acked = 0;
}
