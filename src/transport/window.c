/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A window for networks that drop: half of it after a loss, once a round trip, and one packet
 * more a round trip without. The upper bound is what the peer's receive buffer is thought to hold.
 *
 * After a timeout nobody knows what has become of the packets in flight. Perhaps they are lost;
 * perhaps the peer is slow and has them all still before it, and to send them again would drown it.
 * So one packet goes, and the window doubles with each round trip in which what was sent again is
 * acknowledged, up to the half. What is acknowledged that was not sent again shows a slow peer: it
 * opens nothing.
 */
#include "transport/window.h"

#define MIN_WINDOW 4

void adv_window_start(struct adv_qp *qp)
{
	qp->req.cwnd = qp->engine->window;
	qp->req.cwnd_half = qp->engine->window;
	qp->req.cwnd_acked = 0;
	qp->req.recover_psn = qp->req.next_psn;
}

void adv_window_acked(struct adv_qp *qp, uint32_t packets, bool sent_again)
{
	struct adv_requester *req = &qp->req;

	if (req->cwnd >= qp->engine->window)
		return;
	if (req->cwnd < req->cwnd_half) {
		if (sent_again)
			req->cwnd += packets > MIN_WINDOW ? packets : MIN_WINDOW;
		if (req->cwnd > req->cwnd_half)
			req->cwnd = req->cwnd_half;
		return;
	}
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
	req->cwnd_half = req->cwnd;
	req->cwnd_acked = 0;
}

void adv_window_timed_out(struct adv_qp *qp)
{
	adv_window_lost(qp);
	qp->req.cwnd = 1;
	qp->req.cwnd_acked = 0;
}
