/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Multicast groups and their members (IBTA 10.5). */
#include <stdlib.h>

#include "nic/queue/mcast.h"

struct adv_mcast_group *adv_mcast_find(struct adv_engine *e, const struct adv_gid *gid)
{
	adv_list_for_each(struct adv_mcast_group, group, &e->groups, node) {
		if (adv_gid_equal(&group->gid, gid))
			return group;
	}
	return NULL;
}

/* Returns the QP's index among the members, or group->count if the QP is not a member. */
static uint32_t index_of_member(const struct adv_mcast_group *group, const struct adv_qp *qp)
{
	uint32_t i = 0;

	while (i < group->count && group->member[i] != qp)
		i++;
	return i;
}

bool adv_mcast_is_member(const struct adv_qp *qp)
{
	const struct adv_list *groups = &qp->engine->groups;

	adv_list_for_each(struct adv_mcast_group, group, groups, node) {
		if (index_of_member(group, qp) < group->count)
			return true;
	}
	return false;
}

void adv_mcast_leave_all(struct adv_qp *qp)
{
	struct adv_list *groups = &qp->engine->groups;

	adv_list_for_each_safe(struct adv_mcast_group, group, groups, node) {
		const struct adv_gid gid = group->gid; /* detaching may free the group */

		(void)adv_qp_detach_mcast(qp, &gid);
	}
}

int adv_qp_attach_mcast(struct adv_qp *qp, const struct adv_gid *gid)
{
	struct adv_engine *e = qp->engine;
	struct adv_mcast_group *group;

	if (qp->type != IBV_QPT_UD || !adv_gid_is_multicast(gid))
		return EINVAL;
	group = adv_mcast_find(e, gid);
	if (!group) {
		group = calloc(1, sizeof(*group));
		if (!group)
			return ENOMEM;
		group->gid = *gid;
		adv_list_add_tail(&e->groups, &group->node);
	}
	if (index_of_member(group, qp) < group->count)
		return 0;
	if (group->count == ADV_MAX_MCAST_QP)
		return adv_reason(
			ENOMEM,
			"the group has %d queue pairs of this process (max_mcast_qp_attach)",
			ADV_MAX_MCAST_QP);
	group->member[group->count++] = qp;
	return 0;
}

int adv_qp_detach_mcast(struct adv_qp *qp, const struct adv_gid *gid)
{
	struct adv_mcast_group *group = adv_mcast_find(qp->engine, gid);
	uint32_t i;

	if (!group)
		return EINVAL;
	i = index_of_member(group, qp);
	if (i == group->count)
		return EINVAL;
	group->member[i] = group->member[--group->count];
	if (!group->count) {
		adv_list_del(&group->node);
		free(group);
	}
	return 0;
}
