/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Limits the MADs to an address that has not proved that it receives messages of this CM. */
#ifndef ADV_NIC_CM_PROOF_H
#define ADV_NIC_CM_PROOF_H

#include "nic/cm/state.h"

/* True if the address has proved itself recently. */
bool adv_cm_proven(struct adv_cm *cm, uint64_t now, const struct adv_gid *gid);
/* If a received message is the proof of its source address, records the proof. */
void adv_cm_proof_take(struct adv_cm *cm, uint64_t now, const struct adv_rx_meta *meta,
		       const struct adv_cm_packet *packet);
/* Adds the credit for one received request of the id's peer, new or repeated. */
void adv_cm_id_add_credit(struct adv_cm_id *id);
/* If one more MAD may go to the peer, subtracts it from the credit and returns true. */
bool adv_cm_id_pay(struct adv_cm_id *id);
/* As adv_cm_id_pay(), for retransmission number id->tries. */
bool adv_cm_id_pay_again(struct adv_cm_id *id, uint64_t now);

#endif
