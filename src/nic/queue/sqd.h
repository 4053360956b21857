/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The SQD state: the send queue drains (IBTA 10.3.1.5). */
#ifndef ADV_NIC_QUEUE_SQD_H
#define ADV_NIC_QUEUE_SQD_H

#include "nic/queue/qp_state.h"

/* Starts to drain the send queue (RTS to SQD). Requests that have not started are not sent. */
void adv_sqd_enter(struct adv_qp *qp);
/* Resumes the send queue (SQD or SQE to RTS). */
void adv_sqd_leave(struct adv_qp *qp);
/* If the queue has drained, ends draining and raises IBV_EVENT_SQ_DRAINED if it is wanted. */
void adv_sqd_check(struct adv_qp *qp);

#endif
