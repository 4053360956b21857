/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Numbers of XRC SRQs. Like QP numbers, they are unique among all engines. */
#ifndef ADV_NIC_QUEUE_XRC_NUMBER_H
#define ADV_NIC_QUEUE_XRC_NUMBER_H

#include "nic/engine/state.h"

/* Gives the SRQ a number and returns it. Returns 0 if no number is left or there is no memory. */
uint32_t adv_xrc_number_take(struct adv_engine *e, struct adv_srq *srq);
void adv_xrc_number_release(struct adv_engine *e, uint32_t number);
/* Returns the SRQ with this number; NULL: none. */
struct adv_srq *adv_xrc_number_find(const struct adv_engine *e, uint32_t number);

#endif
