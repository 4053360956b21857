/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Congestion control for networks that lose packets. */
#ifndef ADV_NIC_REQUESTER_WINDOW_H
#define ADV_NIC_REQUESTER_WINDOW_H

#include "nic/queue/qp_state.h"

void adv_window_start(struct adv_qp *qp);
/* Opens the window after `packets` were acknowledged. sent_again: these packets were retransmitted
 * since the cursor was last set back. */
void adv_window_acked(struct adv_qp *qp, uint32_t packets, bool sent_again);
void adv_window_lost(struct adv_qp *qp);
void adv_window_timed_out(struct adv_qp *qp);

#endif
