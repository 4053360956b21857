/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The summary word of a queue pair, qp->unusual. It is 0 for most queue pairs at most times: fast.c
 * then serves them. Each bit is a reason for the general path.
 */
#ifndef ADV_NIC_FAST_UNUSUAL_H
#define ADV_NIC_FAST_UNUSUAL_H

#include "nic/queue/qp_state.h"

enum adv_unusual {
	ADV_UNUSUAL_KIND = 1 << 0,   /* not RC; or the engine has no fast path, or goes back to 0 */
	ADV_UNUSUAL_STATE = 1 << 1,  /* not RTS: for example SQD, ERR */
	ADV_UNUSUAL_FAULTS = 1 << 2, /* faults are injected into work requests */
	ADV_UNUSUAL_FLOW = 1 << 3,   /* marks or CNPs have arrived: a rate may be in force */
	ADV_UNUSUAL_ANSWERS = 1 << 4, /* responses to READs or atomics are to be sent */
	ADV_UNUSUAL_READS = 1 << 5,   /* responses to READs or atomics are awaited */
	ADV_UNUSUAL_RNR = 1 << 6,     /* rnr_nak_timer runs */
	ADV_UNUSUAL_LOSS = 1 << 7,  /* after a loss or timeout, until an acknowledgement arrives */
	ADV_UNUSUAL_FIRST = 1 << 8, /* no send request has completed, see completed.h */
	ADV_UNUSUAL_CONTROL = 1 << 9, /* congestion control reacts to ACKs */
};

/* The bits that each step of fast.c heeds. */
#define ADV_UNUSUAL_FOR_POST	(ADV_UNUSUAL_KIND | ADV_UNUSUAL_STATE | ADV_UNUSUAL_FAULTS)
#define ADV_UNUSUAL_FOR_REQUEST ADV_UNUSUAL_FOR_POST
#define ADV_UNUSUAL_FOR_ACK                                                                        \
	(ADV_UNUSUAL_FOR_POST | ADV_UNUSUAL_READS | ADV_UNUSUAL_RNR | ADV_UNUSUAL_LOSS |           \
	 ADV_UNUSUAL_FIRST | ADV_UNUSUAL_CONTROL)
#define ADV_UNUSUAL_FOR_PACED (ADV_UNUSUAL_FOR_POST | ADV_UNUSUAL_RNR | ADV_UNUSUAL_LOSS)
#define ADV_UNUSUAL_FOR_TURN  (ADV_UNUSUAL_FOR_PACED | ADV_UNUSUAL_FLOW | ADV_UNUSUAL_ANSWERS)

/* Returns the bits that the state of the QP requires. */
uint32_t adv_qp_unusual(const struct adv_qp *qp);
/* Sets the summary word again. The general path calls it after everything that may change the
 * reasons: a packet, a turn, a timer, a change of state. */
void adv_qp_review(struct adv_qp *qp);

#endif
