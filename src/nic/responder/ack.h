/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The one pending ACK or NAK of a responder, which may be delayed. */
#ifndef ADV_NIC_RESPONDER_ACK_H
#define ADV_NIC_RESPONDER_ACK_H

#include "nic/queue/qp_state.h"

/* Queues an ACK, NAK or RNR NAK for the QP's next turn. */
void adv_responder_ack_queue(struct adv_qp *qp, uint8_t syndrome, uint32_t psn);
/* Drops the pending ACK, delayed or not. */
void adv_responder_ack_forget(struct adv_qp *qp);
/* Acknowledges a message that ends at psn: at once, or after at most ack_delay. */
void adv_responder_ack_message(struct adv_qp *qp, uint32_t psn, uint64_t now);
/* Handles the post of a send request: ends the delay of the QP's ACK, and updates the score of
 * prompt answers. */
void adv_responder_ack_posted(struct adv_qp *qp, uint64_t now);
/* Returns the earliest deadline of a delayed ACK; ADV_NEVER: there is none. */
uint64_t adv_responder_ack_deadline(const struct adv_engine *e);
void adv_responder_ack_expire(struct adv_engine *e, uint64_t now);

/* True if the QP's ACK is delayed. */
static inline bool adv_responder_ack_waits(const struct adv_qp *qp)
{
	return !adv_list_empty(&qp->delay_node);
}

/* True if the QP's delayed ACK needs a batch of its own: its requests must be sent before the ACK
 * is added. */
static inline bool adv_responder_ack_goes_alone(const struct adv_qp *qp,
						const struct adv_tx_batch *batch)
{
	return qp->resp.ack_behind && batch->count && qp->peer_is_here && qp->engine->local_memory;
}

#endif
