/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Creates, closes and frees ids. */
#ifndef ADV_NIC_CM_ID_H
#define ADV_NIC_CM_ID_H

#include "nic/cm/state.h"

/* Returns a new id that has an owner and is in state IDLE. NULL: no memory, or too many ids. */
struct adv_cm_id *adv_cm_id_new(struct adv_cm *cm);
void adv_cm_id_free(struct adv_cm_id *id);
/* Ends the protocol for this id, and frees the id if it has no owner. */
void adv_cm_id_close(struct adv_cm_id *id);
void adv_cm_id_timewait(struct adv_cm_id *id, uint64_t now);

#endif
