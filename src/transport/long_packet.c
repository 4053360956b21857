/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "transport/flight.h"
#include "transport/long_packet.h"
#include "transport/paging.h"

#define SGE_MOST 4 /* requests with more SGEs are sent in packets of the MTU */

/* True if the request's memory stays mapped until it is acknowledged: no on-demand paging. */
static bool is_memory_firm(const struct adv_qp *qp, const struct adv_send_wqe *wqe)
{
	if (wqe->num_sge == 0 || wqe->num_sge > SGE_MOST)
		return false;
	for (uint32_t i = 0; i < wqe->num_sge; i++)
		if (adv_mr_is_paged(qp->engine, wqe->sge[i].lkey))
			return false;
	return true;
}

/* Returns the packets for which the windows have room; 0 and 1: only one may be sent. */
static uint32_t room_in_windows(const struct adv_qp *qp)
{
	const struct adv_engine *e = qp->engine;
	uint32_t own = adv_flight_psns(qp), all = e->in_flight;
	uint32_t room = own < qp->req.cwnd ? qp->req.cwnd - own : 0;

	if (all >= e->total_window)
		return 0;
	return e->total_window - all < room ? e->total_window - all : room;
}

uint32_t adv_long_payload_here(const struct adv_qp *qp, const struct adv_send_wqe *wqe,
			       uint32_t left)
{
	const struct adv_engine *e = qp->engine;
	uint32_t most, packets;

	/* After a timeout, each packet finds out how far the peer is. After a NAK, the payload of
	 * another long packet might not be readable either. A rate counts packets. */
	if (qp->req.unanswered || qp->req.nak_heard || qp->flow || !is_memory_firm(qp, wqe))
		return qp->mtu;
	most = e->long_payload(e->long_user, &qp->path, qp->attr.dest_qp_num, wqe->length);
	packets = most / qp->mtu;
	if (packets > ADV_LONG_PACKETS)
		packets = ADV_LONG_PACKETS;
	if (packets > room_in_windows(qp))
		packets = room_in_windows(qp);
	if (packets <= 1)
		return qp->mtu;
	return left < packets * qp->mtu ? left : packets * qp->mtu;
}
