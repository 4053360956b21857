/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Multicast groups of a device. adverbd joins and leaves them on request. The calling thread waits
 * for adverbd without the device's lock. One thread at a time requests, so that joins and leaves of
 * one group keep their order.
 */
#include "runtime/device/raw.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"

/* Returns the index of the interface that has this address; 0: no interface has it. */
static uint32_t find_interface(struct adv_device *d, const struct adv_gid *gid)
{
	uint32_t ifindex = 0;

	pthread_mutex_lock(&d->gids_lock);
	for (unsigned i = 0; i < d->gids.count && !ifindex; i++)
		if (adv_gid_equal(&d->gids.entry[i].gid, gid))
			ifindex = d->gids.entry[i].ifindex;
	pthread_mutex_unlock(&d->gids_lock);
	return ifindex;
}

static struct device_group *find_group(struct adv_device *d, const struct adv_gid *gid,
				       uint32_t ifindex)
{
	for (unsigned i = 0; i < d->group_count; i++)
		if (d->group[i].ifindex == ifindex && adv_gid_equal(&d->group[i].gid, gid))
			return &d->group[i];
	return NULL;
}

/* With groups_lock held. */
static int join_group(struct adv_device *d, const struct adv_gid *gid, uint32_t ifindex)
{
	struct device_group *g = find_group(d, gid, ifindex);
	int err;

	if (g) {
		g->joins++;
		return 0;
	}
	if (d->group_count == ADV_SLOT_GROUPS)
		return ENOBUFS;
	err = adv_control_join(d->control, &d->slot, gid, ifindex);
	if (!err && adv_device_raw_member(d, gid, ifindex, true))
		adv_warn("no RoCE v1 frames of a multicast group arrive: %s", strerror(errno));
	if (!err)
		d->group[d->group_count++] = (struct device_group){*gid, ifindex, 1};
	return err;
}

/* With groups_lock held. */
static int leave_group(struct adv_device *d, const struct adv_gid *gid, uint32_t ifindex)
{
	struct device_group *g = find_group(d, gid, ifindex);

	if (g && --g->joins > 0)
		return 0;
	if (g)
		*g = d->group[--d->group_count];
	(void)adv_device_raw_member(d, gid, ifindex, false);
	return adv_control_leave(d->control, &d->slot, gid, ifindex);
}

int adv_device_join(struct adv_device *d, const struct adv_gid *group, const struct adv_gid *sgid)
{
	uint32_t ifindex = find_interface(d, sgid);
	int err;

	if (!ifindex)
		return ENODEV;
	pthread_mutex_lock(&d->groups_lock);
	err = join_group(d, group, ifindex);
	pthread_mutex_unlock(&d->groups_lock);
	return err;
}

int adv_device_leave(struct adv_device *d, const struct adv_gid *group, const struct adv_gid *sgid)
{
	uint32_t ifindex = find_interface(d, sgid);
	int err;

	if (!ifindex)
		return ENODEV;
	pthread_mutex_lock(&d->groups_lock);
	err = leave_group(d, group, ifindex);
	pthread_mutex_unlock(&d->groups_lock);
	return err;
}
