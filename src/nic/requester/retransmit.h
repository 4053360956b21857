/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Timers, timeouts and losses of the requester of RC and XRC (IBTA 9.7.5, 9.7.6). */
#ifndef ADV_NIC_REQUESTER_RETRANSMIT_H
#define ADV_NIC_REQUESTER_RETRANSMIT_H

#include "nic/queue/qp_state.h"

/* The callback of retransmit_timer and rnr_nak_timer. */
void adv_retransmit_timer_expired(struct adv_engine *e, struct adv_timer *t, uint64_t now);
/* Handles an RNR NAK for una_psn: sends everything again after `ns` of the network's time. */
void adv_retransmit_after_rnr_nak(struct adv_qp *qp, uint64_t ns, uint64_t now);

/* Returns the QP's timeout by the clock, ns: 4.096 us x 2^timeout (IBTA 9.7.6.1.3) of the network's
 * time. */
static inline uint64_t adv_retransmit_timeout_ns(const struct adv_qp *qp)
{
	return qp->engine->timeout_unit << qp->attr.timeout;
}

/* Starts the retransmission timer if packets are in flight, else stops it. */
void adv_retransmit_arm(struct adv_qp *qp, uint64_t now);
/* Sets the cursor to psn. Everything from psn on is sent again. */
void adv_retransmit_from(struct adv_qp *qp, uint32_t psn);
/* Handles a loss whose first packet is psn: uses one retry and sends everything from psn on again.
 * If no retry is left, fails the oldest request and the QP. A NAK uses no retry if a long packet
 * may be lost. */
void adv_retransmit_lost(struct adv_qp *qp, uint32_t psn, enum adv_vendor_err why, uint64_t now);
/* Handles a response whose payload could not be read: requests everything from una_psn on again,
 * without a retry. */
void adv_retransmit_unread(struct adv_qp *qp);
/* Requests an acknowledgement when no packet will follow the newest one. If the newest packet did
 * not request one, sends the packets in flight again, now with a request. */
void adv_retransmit_for_ack(struct adv_qp *qp);
/* Undoes the effect of a timeout on a READ, when the peer answers the request from before the
 * timeout. Restores the cursor, so that nothing is requested again. */
void adv_retransmit_resume(struct adv_qp *qp);
/* Restores all retries and adjusts the timer and the window, before una_psn moves to psn.
 * sent_again: as for adv_window_acked(). */
void adv_retransmit_progress(struct adv_qp *qp, uint32_t psn, bool sent_again, uint64_t now);
/* Handles a duplicate ACK up to psn: the peer is alive, so all retries are restored and the timer
 * restarts. */
void adv_retransmit_duplicate_ack(struct adv_qp *qp, uint32_t psn, uint64_t now);

#endif
