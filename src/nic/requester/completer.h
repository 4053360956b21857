/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The receiving half of the requester. */
#ifndef ADV_NIC_REQUESTER_COMPLETER_H
#define ADV_NIC_REQUESTER_COMPLETER_H

#include "nic/engine/incoming.h"
#include "nic/queue/qp_state.h"

/* Handles an acknowledgement or a response. */
void adv_completer_rx(struct adv_qp *qp, uint64_t now, const struct adv_incoming *in);

#endif
