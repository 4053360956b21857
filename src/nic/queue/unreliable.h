/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Pacing of UC and UD. */
#ifndef ADV_NIC_QUEUE_UNRELIABLE_H
#define ADV_NIC_QUEUE_UNRELIABLE_H

#include "nic/queue/qp_state.h"

/* Initializes the pacing of an engine. Returns 0 or ENOMEM. */
int adv_unreliable_init(struct adv_engine *e);
/* True if a UC or UD QP may send a packet to this destination now. Else the QP is scheduled when it
 * may send. The function may add a probe to the batch, which has room. */
bool adv_unreliable_may_send(struct adv_qp *qp, struct adv_path *path, uint32_t dest_qpn,
			     struct adv_tx_batch *batch, uint64_t now);
/* Counts the newest packet of the batch. Call it after each packet. */
void adv_unreliable_sent(struct adv_qp *qp, struct adv_path *path, uint32_t dest_qpn,
			 struct adv_tx_batch *batch, uint64_t now);
/* The callback of rate_timer: schedules a UC or UD QP that waited for the rate. */
void adv_unreliable_rate_expired(struct adv_engine *e, struct adv_timer *t, uint64_t now);
/* Handles a probe or an answer to one. */
void adv_unreliable_rx(struct adv_engine *e, uint64_t now, const struct adv_headers *h,
		       const struct adv_rx_meta *meta);
/* Adds queued probes and answers to the batch. */
void adv_unreliable_tx(struct adv_engine *e, struct adv_tx_batch *batch);

#endif
