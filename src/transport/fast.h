/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The fast path: what nearly all messages are, from post to completion. fast.c also defines
 * adv_qp_post_send(), adv_qp_post_recv() and adv_engine_rx(), where messages enter it.
 */
#ifndef ADV_TRANSPORT_FAST_H
#define ADV_TRANSPORT_FAST_H

#include "transport/unusual.h"

/* Gives a QP without ADV_UNUSUAL_FOR_TURN its turn: adds its ACK and its requests to the batch,
 * which has room. Calls the general path for requests that are unusual themselves. */
void adv_fast_turn(struct adv_qp *qp, uint64_t now, struct adv_tx_batch *batch);

#endif
