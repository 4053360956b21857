/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Address handles. */
#ifndef ADV_NIC_QUEUE_AH_H
#define ADV_NIC_QUEUE_AH_H

#include "nic/engine/state.h"

/* Returns the handle that requests of this engine refer to: ah, or the engine's copy of it. NULL:
 * no memory. */
struct adv_ah *adv_ah_of(const struct adv_engine *e, struct adv_ah *ah);
/* Drops the reference of a send request that completed. If it was the last reference to a destroyed
 * handle, adv_ahs_free() frees the handle later. */
void adv_ah_release(struct adv_engine *e, struct adv_ah *ah);
/* Frees destroyed handles to which no request refers any more. */
void adv_ahs_free(struct adv_engine *e);

#endif
