/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The SQD state: the send queue drains (IBTA 10.3.1.5). */
#ifndef ADV_TRANSPORT_SQD_H
#define ADV_TRANSPORT_SQD_H

#include "transport/qp_state.h"

/* RTS to SQD: requests that have not started are kept back. */
void adv_sqd_enter(struct adv_qp *qp);
/* SQD or SQE to RTS. */
void adv_sqd_leave(struct adv_qp *qp);
/* Reports that the queue has drained, if it has. */
void adv_sqd_check(struct adv_qp *qp);

#endif
