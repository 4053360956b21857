/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The sending half of the requester: makes request packets from the send queue. */
#ifndef ADV_TRANSPORT_REQUESTER_H
#define ADV_TRANSPORT_REQUESTER_H

#include "transport/qp_state.h"

/* Initializes the requester when the QP enters RTS. qp->attr has the attributes. */
void adv_requester_start(struct adv_qp *qp);
/* Allocates the room for READs and atomics in flight. Call it before the first such request is
 * posted. Returns 0 or ENOMEM. */
int adv_requester_reserve(struct adv_qp *qp);
/* Adds at most `budget` request packets to the batch. */
void adv_requester_tx(struct adv_qp *qp, uint64_t now, struct adv_tx_batch *batch, unsigned budget);

#endif
