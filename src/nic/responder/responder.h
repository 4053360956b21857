/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The receiving half of the responder. */
#ifndef ADV_NIC_RESPONDER_RESPONDER_H
#define ADV_NIC_RESPONDER_RESPONDER_H

#include "nic/engine/incoming.h"
#include "nic/queue/qp_state.h"

/* Initializes the responder when the QP enters RTR. qp->attr has the attributes. */
void adv_responder_start(struct adv_qp *qp);
/* Handles a request of RC or XRC. */
void adv_responder_rx(struct adv_qp *qp, uint64_t now, const struct adv_incoming *in);

#endif
