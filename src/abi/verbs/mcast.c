/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Multicast groups of UD queue pairs. */
#include <stdlib.h>

#include "abi/verbs/objects.h"
#include "abi/verbs/query.h"

#define ADV_MLID_FIRST 0xc000

struct membership {
	struct adv_list link; /* adv_ibv_context.memberships */
	struct adv_ibv_qp *qp;
	struct adv_gid group;
	struct adv_gid sgid; /* GID of the interface on which the group was joined */
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
 * Selects the interface on which to join, by its GID. A UD QP has no address, so the default is the
 * first GID of the group's address family. A multicast LID (IBTA 4.1.3: 0xC000 and up) may select
 * another GID: its value is 0xC000 + the index of the GID. A RoCE port does not use the LID
 * otherwise; librdmacm passes such LIDs. 0 or errno.
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
	if (err)
		return adv_reason(err,
				  "no GID is an %s address: give the machine one (adverb devinfo "
				  "lists the GIDs)",
				  adv_gid_is_ipv4(group) ? "IPv4" : "IPv6");
	return 0;
}

/* With mcast_lock held: returns the QP's membership in the group, or NULL. */
static struct membership *find_membership(struct adv_ibv_context *c, const struct adv_ibv_qp *qp,
					  const struct adv_gid *group)
{
	adv_list_for_each(struct membership, m, &c->memberships, link)
		if (m->qp == qp && adv_gid_equal(&m->group, group))
			return m;
	return NULL;
}

/* With mcast_lock held: true if another QP of the same device is in the group of m, on the same
 * interface. */
static bool is_group_joined(struct adv_ibv_context *c, const struct membership *m)
{
	adv_list_for_each(const struct membership, other, &c->memberships, link)
		if (other->qp->device == m->qp->device && adv_gid_equal(&other->sgid, &m->sgid) &&
		    adv_gid_equal(&other->group, &m->group))
			return true;
	return false;
}

static int attach_in_engine(struct membership *m)
{
	int err;

	adv_device_lock(m->qp->device);
	err = adv_qp_attach_mcast(m->qp->qp, &m->group);
	adv_device_unlock(m->qp->device);
	return err;
}

static void detach_in_engine(struct membership *m)
{
	adv_device_lock(m->qp->device);
	adv_qp_detach_mcast(m->qp->qp, &m->group);
	adv_device_unlock(m->qp->device);
}

/*
 * With mcast_lock held: attaches a QP to a group. If the QP is attached already, changes nothing.
 * The device joins a group once on each interface, independent of the number of QPs in the group.
 * The join blocks this thread without the device's lock. Sets *added if m was added to the list. 0
 * or errno.
 */
static int attach_membership(struct adv_ibv_context *c, struct membership *m, bool *added)
{
	int err;

	if (find_membership(c, m->qp, &m->group))
		return 0;
	err = attach_in_engine(m);
	if (err)
		return err;
	if (!is_group_joined(c, m))
		err = adv_device_join(m->qp->device, &m->group, &m->sgid);
	if (err) {
		detach_in_engine(m);
		return err;
	}
	adv_list_add_tail(&c->memberships, &m->link);
	*added = true;
	return 0;
}

ADV_EXPORT int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	struct adv_ibv_context *c = adv_ibv_context_of(qp->context);
	struct membership *m = calloc(1, sizeof(*m));
	bool added = false;
	int err;

	if (!m)
		return adv_ibv_refuse(ENOMEM, "ibv_attach_mcast(qp 0x%06x)", qp->qp_num);
	m->qp = adv_ibv_qp_of(qp);
	m->group = adv_ibv_group_of(gid);
	if (qp->qp_type != IBV_QPT_UD || !adv_gid_is_multicast(&m->group))
		err = adv_reason(EINVAL, qp->qp_type != IBV_QPT_UD
						 ? "only a UD queue pair can join a group"
						 : "the GID is not a multicast GID");
	else
		err = pick_sgid(qp->context, &m->group, lid, &m->sgid);
	if (!err && adv_device_is_foreign(c->device)) {
		adv_ibv_refuse_foreign();
		err = ADV_EFOREIGN;
	} else if (!err) {
		pthread_mutex_lock(&c->mcast_lock);
		err = attach_membership(c, m, &added);
		pthread_mutex_unlock(&c->mcast_lock);
	}
	if (!added)
		free(m);
	return adv_ibv_refuse(err, "ibv_attach_mcast(qp 0x%06x)", qp->qp_num);
}

/* With mcast_lock held: removes m, and leaves the group if no other QP is in it. The caller frees
 * m. */
static void detach_membership(struct adv_ibv_context *c, struct membership *m)
{
	adv_list_del(&m->link);
	detach_in_engine(m);
	if (!is_group_joined(c, m))
		adv_device_leave(m->qp->device, &m->group, &m->sgid);
}

ADV_EXPORT int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	struct adv_ibv_context *c = adv_ibv_context_of(qp->context);
	struct adv_gid group = adv_ibv_group_of(gid);
	struct membership *m;

	if (adv_device_is_foreign(c->device)) {
		adv_ibv_refuse_foreign();
		return adv_ibv_refuse(ADV_EFOREIGN, "ibv_detach_mcast(qp 0x%06x)", qp->qp_num);
	}
	pthread_mutex_lock(&c->mcast_lock);
	m = find_membership(c, adv_ibv_qp_of(qp), &group);
	if (m)
		detach_membership(c, m);
	pthread_mutex_unlock(&c->mcast_lock);
	free(m);
	if (m)
		return 0;
	return adv_ibv_refuse(adv_reason(EINVAL, "the queue pair is not in this group"),
			      "ibv_detach_mcast(qp 0x%06x)", qp->qp_num);
}

void adv_ibv_mcast_leave_groups(struct adv_ibv_context *c)
{
	bool foreign = adv_device_is_foreign(c->device);

	adv_list_for_each_safe(struct membership, m, &c->memberships, link) {
		if (!foreign)
			detach_membership(c, m);
		free(m);
	}
}
