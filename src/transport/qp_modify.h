/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The states and attributes of RoCE queue pairs. */
#ifndef ADV_TRANSPORT_QP_MODIFY_H
#define ADV_TRANSPORT_QP_MODIFY_H

#include "transport/qp_state.h"

/* The member `modify` of struct adv_protocol, for RoCE: the tables of ibv_modify_qp(3). */
int adv_roce_modify(struct adv_qp *qp, uint64_t now, const struct ibv_qp_attr *attr, int mask);

#endif
