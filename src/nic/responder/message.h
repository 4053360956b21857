/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Messages of RC, XRC and UC: the number of packets of a message, and how the responder handles
 * them. */
#ifndef ADV_NIC_RESPONDER_MESSAGE_H
#define ADV_NIC_RESPONDER_MESSAGE_H

#include "nic/engine/incoming.h"
#include "nic/responder/payload.h"
#include "nic/queue/qp_state.h"
#include "nic/requester/recovery.h"
#include "nic/responder/ack.h"

/* Returns the number of packets of a message of `length` bytes (IBTA 9.7.1): at least 1. */
static inline uint32_t adv_message_packets(uint32_t length, uint32_t mtu)
{
	/* Most messages have one packet and need no division. */
	return length <= mtu ? 1 : (uint32_t)(((uint64_t)length + mtu - 1) / mtu);
}

/* IBTA 9.7.4.1.6: the payload of FIRST and MIDDLE fills the MTU, that of LAST is not empty. A long
 * packet fills the MTUs of all packets that it stands for, except perhaps the last one. */
static inline bool adv_message_fits(const struct adv_qp *qp, const struct adv_incoming *in)
{
	uint32_t before = in->more * qp->mtu;
	uint16_t flags = in->info->flags;

	if (!(flags & ADV_PKT_END))
		return in->payload_len == before + qp->mtu;
	return in->payload_len <= before + qp->mtu &&
	       (in->payload_len > before || ((flags & ADV_PKT_START) && !before));
}

static inline bool adv_message_continues(const struct adv_qp *qp, const struct adv_incoming *in,
					 enum adv_message message)
{
	if (in->info->flags & ADV_PKT_START)
		return qp->resp.message == ADV_MSG_NONE;
	return qp->resp.message == message;
}

/* Acknowledges a packet before the end of its message. */
void adv_message_acknowledge_inside(struct adv_qp *qp);

/* Accepts a packet: advances epsn and acknowledges the packet if requested. At the end of a
 * message, also advances the MSN. */
static inline void adv_message_accept(struct adv_qp *qp, const struct adv_incoming *in,
				      uint64_t now)
{
	struct adv_responder *resp = &qp->resp;

	if (in->more) {
		resp->epsn = adv_psn_add(resp->epsn, in->more);
		qp->engine->counters.rx_packets += in->more;
	}
	if (in->info->flags & ADV_PKT_END) {
		resp->message = ADV_MSG_NONE;
		resp->msn = (resp->msn + 1) & ADV_PSN_MASK;
	}
	if (qp->reliable && in->h->bth.ackreq && (in->info->flags & ADV_PKT_END))
		adv_responder_ack_message(qp, resp->epsn, now);
	else if (qp->reliable && in->h->bth.ackreq)
		adv_message_acknowledge_inside(qp);
	resp->epsn = adv_psn_add(resp->epsn, 1);
}

/* Not a cause: the payload could not be read from the sender's memory. The packet counts as lost.
 */
#define ADV_ERR_LOST ((enum adv_vendor_err)255)

/* Copies the payload of a packet that is long or has its payload elsewhere to the SGEs' memory,
 * from byte `offset` on. Returns ADV_ERR_NONE, the cause of the failure or ADV_ERR_LOST. */
enum adv_vendor_err adv_message_place_long(struct adv_qp *qp, const struct ibv_sge *sge,
					   uint32_t num_sge, uint64_t offset,
					   const struct adv_incoming *in);
/* As adv_message_place_send(), for a packet that is long or has its payload elsewhere. */
enum adv_vendor_err adv_message_place_long_send(struct adv_qp *qp, const struct adv_incoming *in);

/* Copies one packet of a SEND into the receive request's memory. Returns ADV_ERR_NONE, the cause of
 * the failure or ADV_ERR_LOST. */
static inline enum adv_vendor_err adv_message_place_send(struct adv_qp *qp,
							 const struct adv_incoming *in)
{
	enum adv_vendor_err why = ADV_ERR_NONE;
	struct adv_responder *resp = &qp->resp;
	struct adv_recv_wqe *recv = resp->recv;

	if (resp->offset + in->payload_len > recv->length)
		return ADV_ERR_RECV_TOO_SMALL;
	if (in->more || in->source)
		return adv_message_place_long_send(qp, in);
	adv_payload_scatter(qp, recv->sge, recv->num_sge, resp->offset, in->payload,
			    in->payload_len, &why);
	resp->offset += in->payload_len;
	return why;
}

/* Checks the first packet of a WRITE. Returns ADV_ERR_NONE if the message is in progress now, else
 * the cause of the failure. */
enum adv_vendor_err adv_message_begin_write(struct adv_qp *qp, const struct adv_incoming *in);
/* Copies one packet of a WRITE. Returns ADV_ERR_NONE, the cause of the failure or ADV_ERR_LOST.
 * Each call checks the key, because the region may have been deregistered. */
enum adv_vendor_err adv_message_place_write(struct adv_qp *qp, const struct adv_incoming *in);
/* Completes the receive request of a message. */
void adv_message_complete(struct adv_qp *qp, const struct adv_incoming *in,
			  enum ibv_wc_opcode opcode, uint32_t length, uint64_t now);

#endif
