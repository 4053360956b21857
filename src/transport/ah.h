/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Address handles. */
#ifndef ADV_TRANSPORT_AH_H
#define ADV_TRANSPORT_AH_H

#include "transport/engine_state.h"

/* A request that refers to the handle was sent or flushed. */
void adv_ah_release(struct adv_engine *e, struct adv_ah *ah);
/* Frees the handles that were destroyed while requests referred to them. */
void adv_ahs_free(struct adv_engine *e);

#endif
