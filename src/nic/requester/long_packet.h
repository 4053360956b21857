/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Long packets (struct adv_tx_packet): when a queue pair may send one, and how long it is. */
#ifndef ADV_NIC_REQUESTER_LONG_PACKET_H
#define ADV_NIC_REQUESTER_LONG_PACKET_H

#include "nic/queue/qp_state.h"

/* As adv_long_payload(), for a QP that may send long packets. */
uint32_t adv_long_payload_here(const struct adv_qp *qp, const struct adv_send_wqe *wqe,
			       uint32_t left);

/* As adv_long_response(), for a QP that may send long packets. */
uint32_t adv_long_response_here(const struct adv_qp *qp, const struct adv_responder_resource *res,
				uint32_t left);

/* False if a packet with a part of `length` bytes is certainly not long. */
static inline bool adv_long_is_possible(const struct adv_qp *qp, uint32_t length)
{
	return length > qp->mtu && qp->peer_is_here && qp->reliable && qp->engine->long_payload;
}

/* Returns the bytes of the next packet of a SEND or WRITE of which `left` bytes are not sent yet.
 * More than the MTU if the QP may send a long packet now. */
static inline uint32_t adv_long_payload(const struct adv_qp *qp, const struct adv_send_wqe *wqe,
					uint32_t left)
{
	if (left <= qp->mtu)
		return left;
	return adv_long_is_possible(qp, left) ? adv_long_payload_here(qp, wqe, left) : qp->mtu;
}

/* As adv_long_payload(), of the response to a READ. */
static inline uint32_t adv_long_response(const struct adv_qp *qp,
					 const struct adv_responder_resource *res, uint32_t left)
{
	if (left <= qp->mtu)
		return left;
	return adv_long_is_possible(qp, left) ? adv_long_response_here(qp, res, left) : qp->mtu;
}

/* Returns the part of the budget of packets that a long packet uses beyond one packet. */
static inline unsigned adv_long_charge(const struct adv_tx_packet *pkt, unsigned budget)
{
	return pkt->more < budget ? pkt->more : budget;
}

/* True if the next packet of the request would be long now: the fast path has none. */
static inline bool adv_long_is_next(const struct adv_qp *qp, const struct adv_send_wqe *wqe)
{
	uint32_t left = wqe->length - qp->req.offset;

	return adv_long_is_possible(qp, left) && adv_long_payload_here(qp, wqe, left) > qp->mtu;
}

#endif
