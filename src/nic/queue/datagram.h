/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Unreliable datagrams. */
#ifndef ADV_NIC_QUEUE_DATAGRAM_H
#define ADV_NIC_QUEUE_DATAGRAM_H

#include "nic/engine/incoming.h"
#include "nic/queue/qp_state.h"

void adv_datagram_rx(struct adv_qp *qp, uint64_t now, const struct adv_incoming *in);
void adv_datagram_tx(struct adv_qp *qp, uint64_t now, struct adv_tx_batch *batch, unsigned budget);

#endif
