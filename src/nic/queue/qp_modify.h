/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The states and attributes of RoCE queue pairs. */
#ifndef ADV_NIC_QUEUE_QP_MODIFY_H
#define ADV_NIC_QUEUE_QP_MODIFY_H

#include "nic/queue/qp_state.h"

/* The member `modify` of struct adv_protocol, for RoCE: the tables of ibv_modify_qp(3). */
int adv_qp_modify_roce(struct adv_qp *qp, uint64_t now, const struct ibv_qp_attr *attr, int mask);

#endif
