/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The transitions between the states of queue pairs, with the required and accepted attributes of
 * each (IBTA 10.3.1, 11.2.5.2). Pure functions of constant tables. */
#ifndef ADV_NIC_QUEUE_QP_TRANSITION_H
#define ADV_NIC_QUEUE_QP_TRANSITION_H

#include <stdbool.h>

#include <infiniband/verbs.h>

/* Sets *required and *optional to the attributes (enum ibv_qp_attr_mask, without IBV_QP_STATE) that
 * ibv_modify_qp() needs and accepts in this transition of a QP of this type. False if there is no
 * such transition. */
bool adv_qp_transition(enum ibv_qp_type type, enum ibv_qp_state from, enum ibv_qp_state to,
		       int *required, int *optional);

#endif
