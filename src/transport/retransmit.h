/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Timers, timeouts and losses of the requester of RC and XRC (IBTA 9.7.5, 9.7.6). */
#ifndef ADV_TRANSPORT_RETRANSMIT_H
#define ADV_TRANSPORT_RETRANSMIT_H

#include "transport/qp_state.h"

/* The callback of retransmit_timer and rnr_nak_timer. */
void adv_retransmit_timer_expired(struct adv_engine *e, struct adv_timer *t, uint64_t now);
/* An RNR NAK for una_psn arrived: everything is sent again after `ns`. */
void adv_retransmit_after_rnr_nak(struct adv_qp *qp, uint64_t ns, uint64_t now);

/* Starts the retransmission timer if packets are in flight, else stops it. */
void adv_retransmit_arm(struct adv_qp *qp, uint64_t now);
/* Sets the cursor back to psn: everything from there on is sent again. */
void adv_retransmit_from(struct adv_qp *qp, uint32_t psn);
/* Packets were lost, the first of them psn. Costs one retry and sends everything again from there,
 * or fails the QP if no retry is left. */
void adv_retransmit_lost(struct adv_qp *qp, uint32_t psn, enum adv_vendor_err why, uint64_t now);
/* Nothing follows the newest packet. If it did not request an acknowledgement, the packets in
 * flight are sent again with such a request. */
void adv_retransmit_for_ack(struct adv_qp *qp);
/* The peer answers a READ that was requested before a timeout, and nothing of the READ is done yet:
 * nothing is requested again. */
void adv_retransmit_resume(struct adv_qp *qp);
/* una_psn is about to move to psn. sent_again: as for adv_window_acked(). */
void adv_retransmit_progress(struct adv_qp *qp, uint32_t psn, bool sent_again, uint64_t now);
/* A duplicate ACK of requests that are done, up to psn: the peer is alive. */
void adv_retransmit_duplicate_ack(struct adv_qp *qp, uint32_t psn, uint64_t now);

#endif
