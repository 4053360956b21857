/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The responder of UC. */
#ifndef ADV_NIC_RESPONDER_UC_H
#define ADV_NIC_RESPONDER_UC_H

#include "nic/engine/incoming.h"
#include "nic/queue/qp_state.h"

/* Handles a request of UC. */
void adv_responder_uc_rx(struct adv_qp *qp, uint64_t now, const struct adv_incoming *in);

#endif
