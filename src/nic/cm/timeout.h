/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Expired timers of ids. */
#ifndef ADV_NIC_CM_TIMEOUT_H
#define ADV_NIC_CM_TIMEOUT_H

#include "nic/cm/state.h"

/* Handles an id's expired timer. Stops the timer or sets it later than `now`. */
void adv_cm_id_timeout(struct adv_cm_id *id, uint64_t now);

#endif
