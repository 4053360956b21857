/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Multicast groups of UD queue pairs. */
#include <stdlib.h>

#include "verbs/objects.h"
#include "verbs/query.h"

#define ADV_MLID_FIRST 0xc000

struct membership {
	struct adv_list link; /* adv_ibv_context.memberships */
	struct adv_ibv_qp *qp;
	struct adv_gid group;
	struct adv_gid sgid; /* of the interface on which the group was joined */
};

struct adv_gid adv_ibv_group_of(const union ibv_gid *gid)
{
	static const uint8_t ipv4_mgid[12] = {0xff, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
	struct adv_gid group;

	memcpy(group.raw, gid->raw, 16);
	if (memcmp(group.raw, ipv4_mgid, 12) == 0)
		group.raw[0] = group.raw[1] = 0;
	return group;
}

/*
 * Selects the interface on which to join. A UD QP has no address of its own, so the first GID of
 * the group's address family is the default. A RoCE port does not use the LID, so a multicast LID
 * (IBTA vol. 1, 4.1.3: 0xC000 and up) may select another GID: 0xC000 + its index. librdmacm passes
 * such LIDs. 0 or errno.
 */
static int pick_sgid(struct ibv_context *context, const struct adv_gid *group, uint16_t lid,
		     struct adv_gid *sgid)
{
	struct adv_gid_table *table = adv_ibv_gids_of(context);
	uint32_t first = lid >= ADV_MLID_FIRST ? lid - ADV_MLID_FIRST : 0;
	int err = ENETUNREACH;

	if (!table)
		return ENOMEM;
	for (uint32_t i = first < table->count ? first : 0; i < table->count; i++) {
		if (adv_gid_is_ipv4(&table->entry[i].gid) == adv_gid_is_ipv4(group)) {
			*sgid = table->entry[i].gid;
			err = 0;
			break;
		}
	}
	free(table);
	return err;
}

/* With the device's lock held. */
static struct membership *find_membership(struct adv_ibv_context *c, const struct adv_ibv_qp *qp,
					  const struct adv_gid *group)
{
	adv_list_for_each(struct membership, m, &c->memberships, link) {
		if (m->qp == qp && adv_gid_equal(&m->group, group))
			return m;
	}
	return NULL;
}

/* True if a QP of the context is in the group on the interface of sgid. With the device's lock
 * held. */
static bool is_group_joined(struct adv_ibv_context *c, const struct adv_gid *group,
			    const struct adv_gid *sgid)
{
	adv_list_for_each(struct membership, m, &c->memberships, link) {
		if (adv_gid_equal(&m->sgid, sgid) && adv_gid_equal(&m->group, group))
			return true;
	}
	return false;
}

/* With the device's lock held. Attaching a QP again changes nothing. The device joins a group once
 * on each interface, however many QPs are in it. *added is set if m was added to the list. 0 or
 * errno. */
static int attach_membership(struct adv_ibv_context *c, struct membership *m, bool *added)
{
	int err;

	if (find_membership(c, m->qp, &m->group))
		return 0;
	err = adv_qp_attach_mcast(m->qp->qp, &m->group);
	if (err)
		return err;
	if (!is_group_joined(c, &m->group, &m->sgid))
		err = adv_device_join(c->device, &m->group, &m->sgid);
	if (err) {
		adv_qp_detach_mcast(m->qp->qp, &m->group);
		return err;
	}
	adv_list_add_tail(&c->memberships, &m->link);
	*added = true;
	return 0;
}

ADV_EXPORT int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	struct membership *m = calloc(1, sizeof(*m));
	bool added = false;
	int err;

	if (!m)
		return adv_ibv_refuse(ENOMEM);
	m->qp = adv_ibv_qp_of(qp);
	m->group = adv_ibv_group_of(gid);
	if (qp->qp_type != IBV_QPT_UD || !adv_gid_is_multicast(&m->group))
		err = EINVAL;
	else
		err = pick_sgid(qp->context, &m->group, lid, &m->sgid);
	if (!err && !adv_ibv_enter(qp->context)) {
		err = ADV_EFOREIGN;
	} else if (!err) {
		err = attach_membership(adv_ibv_context_of(qp->context), m, &added);
		adv_ibv_leave(qp->context);
	}
	if (!added)
		free(m);
	return adv_ibv_refuse(err);
}

/* With the device's lock held. The caller frees m. */
static void detach_membership(struct adv_ibv_context *c, struct membership *m)
{
	adv_list_del(&m->link);
	adv_qp_detach_mcast(m->qp->qp, &m->group);
	if (!is_group_joined(c, &m->group, &m->sgid))
		adv_device_leave(c->device, &m->group, &m->sgid);
}

ADV_EXPORT int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	struct adv_ibv_context *c = adv_ibv_context_of(qp->context);
	struct adv_gid group = adv_ibv_group_of(gid);
	struct membership *m;

	if (!adv_ibv_enter(qp->context))
		return adv_ibv_refuse(ADV_EFOREIGN);
	m = find_membership(c, adv_ibv_qp_of(qp), &group);
	if (m)
		detach_membership(c, m);
	adv_ibv_leave(qp->context);
	free(m);
	return adv_ibv_refuse(m ? 0 : EINVAL);
}

void adv_ibv_mcast_leave_groups(struct adv_ibv_context *c)
{
	bool ours = adv_ibv_enter(&c->verbs.context) != NULL;

	while (!adv_list_empty(&c->memberships)) {
		struct adv_list *n = c->memberships.next;
		struct membership *m = adv_container_of(n, struct membership, link);

		if (ours)
			detach_membership(c, m);
		else
			adv_list_del(n);
		free(m);
	}
	if (ours)
		adv_ibv_leave(&c->verbs.context);
}
