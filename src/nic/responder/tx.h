/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The sending half of the responder. */
#ifndef ADV_NIC_RESPONDER_TX_H
#define ADV_NIC_RESPONDER_TX_H

#include "nic/responder/ack.h"

/* Adds at most `budget` acknowledgements and responses to the batch. */
void adv_responder_tx(struct adv_qp *qp, uint64_t now, struct adv_tx_batch *batch, unsigned budget);

static inline bool adv_responder_has_tx(const struct adv_qp *qp)
{
	return qp->resp.res_pending || (qp->resp.ack_pending && !adv_responder_ack_waits(qp));
}

#endif
