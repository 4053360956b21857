/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Multicast groups. */
#ifndef ADV_NIC_QUEUE_MCAST_H
#define ADV_NIC_QUEUE_MCAST_H

#include "nic/queue/qp_state.h"

struct adv_mcast_group {
	struct adv_list node; /* engine->groups */
	struct adv_gid gid;
	uint32_t count;
	struct adv_qp *member[ADV_MAX_MCAST_QP];
};

struct adv_mcast_group *adv_mcast_find(struct adv_engine *e, const struct adv_gid *gid);
/* Detaches the QP from all groups. */
void adv_mcast_leave_all(struct adv_qp *qp);
bool adv_mcast_is_member(const struct adv_qp *qp); /* member of any group */

#endif
