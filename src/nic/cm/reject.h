/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* REJ and MRA, sent and received (IBTA 12.6.6, 12.6.7). */
#ifndef ADV_NIC_CM_REJECT_H
#define ADV_NIC_CM_REJECT_H

#include "nic/cm/state.h"

adv_cm_rx_fn adv_cm_rx_rej, adv_cm_rx_mra;

/* Sends a REJ to the id's peer. The id's state determines which message the REJ rejects. */
void adv_cm_send_rej(struct adv_cm_id *id, uint16_t reason, const void *private_data,
		     uint8_t private_data_len);
/* Rejects a message that belongs to no id. */
void adv_cm_reject_stateless(struct adv_cm *cm, const struct adv_rx_meta *meta,
			     const struct adv_cm_packet *packet, uint16_t reason);
void adv_cm_send_mra(struct adv_cm_id *id, enum adv_cm_about about);

#endif
