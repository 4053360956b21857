/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Multicast groups of UD queue pairs. */
#include <stdlib.h>

#include "verbs/objects.h"
#include "verbs/query.h"

struct membership {
	struct adv_list link; /* qp->groups */
	struct adv_gid group;
	struct adv_gid sgid; /* of the interface that it was joined on */
};

struct adv_gid adv_group_of(const union ibv_gid *gid)
{
	static const uint8_t ipv4_mgid[12] = {0xff, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
	struct adv_gid group;

	memcpy(group.raw, gid->raw, 16);
	if (memcmp(group.raw, ipv4_mgid, 12) == 0)
		group.raw[0] = group.raw[1] = 0;
	return group;
}

/* A UD QP has no address of its own: the first of the group's family stands for it. */
static int pick_sgid(struct ibv_context *context, const struct adv_gid *group, struct adv_gid *sgid)
{
	struct adv_gid_table *table = adv_gids_of(context);
	int err = ENETUNREACH;

	if (!table)
		return ENOMEM;
	for (uint32_t i = 0; i < table->count; i++) {
		if (adv_gid_is_ipv4(&table->entry[i].gid) == adv_gid_is_ipv4(group)) {
			*sgid = table->entry[i].gid;
			err = 0;
			break;
		}
	}
	free(table);
	return err;
}

static struct membership *find(struct adv_ibv_qp *qp, const struct adv_gid *group)
{
	for (struct adv_list *n = qp->groups.next; n != &qp->groups; n = n->next) {
		struct membership *m = adv_container_of(n, struct membership, link);

		if (adv_gid_equal(&m->group, group))
			return m;
	}
	return NULL;
}

/* With the device's lock held. Attaching again changes nothing. */
static int attach(struct adv_ibv_qp *qp, struct membership *m, bool *added)
{
	struct adv_device *d = adv_context_of(qp->ibv.context)->device;
	int err;

	if (find(qp, &m->group))
		return 0;
	err = adv_qp_attach_mcast(qp->qp, &m->group);
	if (err)
		return err;
	err = adv_device_join(d, &m->group, &m->sgid);
	if (err) {
		adv_qp_detach_mcast(qp->qp, &m->group);
		return err;
	}
	adv_list_add_tail(&qp->groups, &m->link);
	*added = true;
	return 0;
}

ADV_EXPORT int ibv_attach_mcast(struct ibv_qp *ibqp, const union ibv_gid *gid, uint16_t lid)
{
	struct membership *m;
	bool added = false;
	int err;

	m = calloc(1, sizeof(*m));
	if (!m)
		return ENOMEM;
	m->group = adv_group_of(gid);
	if (ibqp->qp_type != IBV_QPT_UD || !adv_gid_is_multicast(&m->group))
		err = EINVAL;
	else
		err = pick_sgid(ibqp->context, &m->group, &m->sgid);
	if (!err && !adv_enter(ibqp->context)) {
		err = ADV_EFOREIGN;
	} else if (!err) {
		err = attach(adv_qp_of(ibqp), m, &added);
		adv_leave(ibqp->context);
	}
	if (!added)
		free(m);
	return err;
}

ADV_EXPORT int ibv_detach_mcast(struct ibv_qp *ibqp, const union ibv_gid *gid, uint16_t lid)
{
	struct adv_gid group = adv_group_of(gid);
	struct adv_ibv_qp *qp = adv_qp_of(ibqp);
	struct membership *m;

	if (!adv_enter(ibqp->context))
		return ADV_EFOREIGN;
	m = find(qp, &group);
	if (m) {
		adv_qp_detach_mcast(qp->qp, &m->group);
		adv_device_leave(adv_context_of(ibqp->context)->device, &m->group, &m->sgid);
		adv_list_del(&m->link);
	}
	adv_leave(ibqp->context);
	free(m);
	return m ? 0 : EINVAL;
}

void adv_mcast_forget(struct adv_ibv_qp *qp)
{
	while (!adv_list_empty(&qp->groups)) {
		struct membership *m = adv_container_of(qp->groups.next, struct membership, link);

		adv_list_del(&m->link);
		free(m);
	}
}
