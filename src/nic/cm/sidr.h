/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Service ID resolution, by which UD finds the peer's QP (IBTA 12.11). */
#ifndef ADV_NIC_CM_SIDR_H
#define ADV_NIC_CM_SIDR_H

#include "nic/cm/state.h"

adv_cm_rx_fn adv_cm_rx_sidr_req, adv_cm_rx_sidr_rep;

int adv_cm_connect_sidr(struct adv_cm_id *id, uint64_t now, const struct adv_cm_conn_param *param);
/* Refuses a SIDR_REQ for a service that does not exist. */
void adv_cm_refuse_sidr(struct adv_cm *cm, const struct adv_rx_meta *meta,
			const struct adv_cm_packet *packet);
void adv_cm_send_sidr_rep(struct adv_cm_id *id, uint8_t status,
			  const struct adv_cm_conn_param *param);

#endif
