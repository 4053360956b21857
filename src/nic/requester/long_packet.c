/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/requester/flight.h"
#include "nic/requester/long_packet.h"
#include "nic/memory/mr_table.h"
#include "nic/memory/mw_key.h"
#include "nic/memory/paging.h"

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

/* True if the key's memory stays mapped, and a change of the key is seen here: a window of type 1
 * serves the queue pairs of several engines. */
static bool is_key_firm(const struct adv_engine *e, uint32_t rkey)
{
	const struct adv_mr *key = adv_mr_table_find(&e->tpt->keys, rkey);

	return key && (!key->window || key->window->type_2) && !adv_mr_is_paged(e, rkey);
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

/* Returns the bytes of the next packet of a message of `length` bytes, of which `left` are not sent
 * yet and which may take `room` packets. */
static uint32_t payload_of(const struct adv_qp *qp, uint32_t length, uint32_t left, uint32_t room)
{
	const struct adv_engine *e = qp->engine;
	uint32_t most = e->long_payload(e->long_user, &qp->path, qp->attr.dest_qp_num, length);
	uint32_t packets = most / qp->mtu;

	if (packets > ADV_LONG_PACKETS)
		packets = ADV_LONG_PACKETS;
	if (packets > room)
		packets = room;
	if (packets <= 1)
		return qp->mtu;
	return left < packets * qp->mtu ? left : packets * qp->mtu;
}

uint32_t adv_long_payload_here(const struct adv_qp *qp, const struct adv_send_wqe *wqe,
			       uint32_t left)
{
	/* After a timeout, each packet finds out how far the peer is. After a NAK, the payload of
	 * another long packet might not be readable either. A rate counts packets. */
	if (qp->req.unanswered || qp->req.nak_heard || qp->flow || !is_memory_firm(qp, wqe))
		return qp->mtu;
	return payload_of(qp, wqe->length, left, room_in_windows(qp));
}

uint32_t adv_long_response_here(const struct adv_qp *qp, const struct adv_responder_resource *res,
				uint32_t left)
{
	/* What is requested again was lost, or could not be read. A rate counts packets. */
	if (res->offset < res->reached || qp->flow || !is_key_firm(qp->engine, res->rkey))
		return qp->mtu;
	return payload_of(qp, res->length, left, ADV_LONG_PACKETS);
}
