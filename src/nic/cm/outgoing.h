/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* MADs to be sent, and their retransmission. */
#ifndef ADV_NIC_CM_OUTGOING_H
#define ADV_NIC_CM_OUTGOING_H

#include "nic/cm/state.h"

/* Queues a MAD for an id's peer. The MAD is lost, as packets can be, if the queue is full, if there
 * is no memory, or if the peer is not proven and has no credit left. */
void adv_cm_send(struct adv_cm_id *id, const struct adv_cm_packet *packet);
/* Queues an answer to a message that belongs to no id. */
void adv_cm_send_stateless(struct adv_cm *cm, const struct adv_rx_meta *meta,
			   const struct adv_cm_packet *packet);
/* Queues a message and starts the retransmit timer. The CM retransmits it until the id's state
 * changes. */
void adv_cm_send_repeated(struct adv_cm_id *id, uint64_t now, const struct adv_cm_packet *packet);
/* Retransmits the id's message and restarts the timer. */
void adv_cm_retransmit(struct adv_cm_id *id, uint64_t now);
/* Frees all queued MADs. */
void adv_cm_outgoing_free(struct adv_cm *cm);

#endif
