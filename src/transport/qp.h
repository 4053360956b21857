/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reset of a queue pair. */
#ifndef ADV_TRANSPORT_QP_H
#define ADV_TRANSPORT_QP_H

#include "transport/qp_state.h"

/* Moves the QP to RESET: empties its queues, removes its completions from the CQs, and drops its
 * state of packets in flight. */
void adv_qp_clear(struct adv_qp *qp);
/* As adv_qp_clear(), and forgets all attributes: ibv_modify_qp() to RESET. */
void adv_qp_reset(struct adv_qp *qp);

#endif
