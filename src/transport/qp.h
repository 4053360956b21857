/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The life of a queue pair. */
#ifndef ADV_TRANSPORT_QP_H
#define ADV_TRANSPORT_QP_H

#include "transport/qp_state.h"

/* The QP enters RESET: its queues are empty, its completions are removed from the CQs, nothing is
 * in flight. */
void adv_qp_clear(struct adv_qp *qp);

#endif
