/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Selective retransmission (IRN: Mittal et al., Revisiting Network Support for RDMA, SIGCOMM 2018,
 * 3.1), for simulations: adv_engine_config.selective, in all engines of the network.
 *
 * The responder keeps packets that arrive before their turn, and answers each with a selective NAK:
 * its PSN is the expected one, and its MSN field has the PSN of the packet that was kept. The
 * requester notes the kept PSNs in a bitmap and sends only lost packets again. A packet is lost if
 * a packet more than `reorder` PSNs after it was kept. After a timeout the oldest packet is sent
 * again; if that one alone is acknowledged then, all others sent before the timeout are lost too
 * (as in F-RTO, RFC 5682; IRN does not say what it does then). Requests are executed in order, when
 * the gap before them is filled.
 *
 * A queue pair that has posted READs or atomics goes back to everything from the lost packet on.
 */
#ifndef ADV_NIC_REQUESTER_SELECTIVE_H
#define ADV_NIC_REQUESTER_SELECTIVE_H

#include "nic/engine/incoming.h"
#include "nic/queue/qp_state.h"
#include "nic/requester/recovery.h"

extern const struct adv_recovery adv_recovery_selective;

/* Allocates the state of a reliable QP of an engine with selective retransmission, when the QP
 * enters RTR. Does nothing for other QPs. Returns 0 or ENOMEM. */
int adv_selective_start(struct adv_qp *qp);
/* Frees the state and the kept packets. */
void adv_selective_end(struct adv_qp *qp);

/* ---- responder ---- */

/* Keeps a request whose PSN is after the expected one, and prepares a selective NAK. Returns false
 * if it cannot be kept: its PSN is too far ahead, its payload is elsewhere, or there is no memory.
 */
bool adv_selective_keep(struct adv_qp *qp, const struct adv_incoming *in);

struct adv_kept_packet {
	struct adv_headers h;
	uint32_t payload_len;
	uint8_t payload[];
};

/* Counts the payload of a request with the expected PSN, after it was executed. */
void adv_selective_executed(struct adv_qp *qp, const struct adv_incoming *in);

/* Removes and returns the kept request with the expected PSN, which the caller must free; NULL:
 * there is none, or the QP executes nothing now. */
struct adv_kept_packet *adv_selective_take(struct adv_qp *qp);

/* Returns the next PSN to report in a selective NAK, and removes it from the list. Returns the
 * expected PSN if there is none. */
uint32_t adv_selective_report(struct adv_qp *qp);
/* If there are PSNs to report, prepares a further selective NAK. */
void adv_selective_report_more(struct adv_qp *qp);

/* ---- requester ---- */

/* Sets the requester's part when the QP enters RTS. */
void adv_selective_requester_start(struct adv_qp *qp);
/* Notes a selective NAK: the responder keeps the packet `kept`. */
void adv_selective_nak(struct adv_qp *qp, uint32_t kept);
/* Called after an acknowledgement or a NAK. Returns the PSN at which the cursor continues, see
 * adv_retransmit_from(): that of a lost packet, or the cursor's own. */
uint32_t adv_selective_lost(struct adv_qp *qp);
/* Notes that una_psn will move to psn. */
void adv_selective_progress(struct adv_qp *qp, uint32_t psn);
/* Notes that everything from psn on is to be sent again. */
void adv_selective_all_lost(struct adv_qp *qp, uint32_t psn);
/* Returns the PSN of the next packet to send: the first lost one from the cursor on, or max_psn. */
uint32_t adv_selective_next(const struct adv_qp *qp);
/* Notes that the packet before the cursor was sent. */
void adv_selective_sent(struct adv_qp *qp);
/* True if the packet at the cursor is a retransmission. */
static inline bool adv_selective_is_behind(const struct adv_qp *qp)
{
	return qp->selective && qp->req.next_psn != qp->req.max_psn;
}

/* Starts the retransmission timer at `now`. Returns its duration, ns: the short one of IRN if at
 * most three packets are in flight, else the long one; 0: that of the QP. */
uint64_t adv_selective_timer(struct adv_qp *qp, uint64_t now);
/* Returns the end of the timer, ns, for the packets that are in flight now: more may have followed
 * since it started. */
uint64_t adv_selective_due(const struct adv_qp *qp);
/* Called at a timeout. True if the QP's own timeout, ns, has passed since the first timeout without
 * an acknowledgement, so that the timeout costs a retry. */
bool adv_selective_costs_retry(struct adv_qp *qp, uint64_t timeout, uint64_t now);

#endif
