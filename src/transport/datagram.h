/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Unreliable datagrams. */
#ifndef ADV_TRANSPORT_DATAGRAM_H
#define ADV_TRANSPORT_DATAGRAM_H

#include "transport/incoming.h"
#include "transport/qp_state.h"

void adv_datagram_rx(struct adv_qp *qp, uint64_t now, const struct adv_incoming *in);
void adv_datagram_tx(struct adv_qp *qp, uint64_t now, struct adv_tx_batch *batch, unsigned budget);

#endif
