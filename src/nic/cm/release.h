/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* DREQ and DREP (IBTA 12.9.8). Also LAP, which this CM refuses during a connection. */
#ifndef ADV_NIC_CM_RELEASE_H
#define ADV_NIC_CM_RELEASE_H

#include "nic/cm/state.h"

adv_cm_rx_fn adv_cm_rx_dreq, adv_cm_rx_drep, adv_cm_rx_lap;

void adv_cm_send_dreq(struct adv_cm_id *id, uint64_t now);

#endif
