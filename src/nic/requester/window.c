/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A congestion window for networks that drop packets. A loss halves the window, at most once a
 * round trip. Without losses the window grows by one packet a round trip. Its maximum is the
 * assumed size of the peer's receive buffer.
 *
 * After a timeout there are two possibilities: the packets in flight are lost, or a slow peer still
 * has them in its buffer. In the second case, retransmissions would overload the peer. So one
 * packet is sent. Then each acknowledgement of retransmitted packets opens the window, up to half
 * of the old window; the window about doubles each round trip. An acknowledgement of packets that
 * were not retransmitted shows a slow peer and does not open the window.
 */
#include "nic/requester/window.h"

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
