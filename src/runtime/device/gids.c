/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The GID table of a device: a copy of adverbd's table. */
#include "runtime/device/port.h"
#include "runtime/identity/raw_table.h"
#include "runtime/identity/roce.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

_Static_assert(ADV_GID_TABLE_ENTRIES <= ADV_UDP_ADDRESSES, "the link takes a whole table");
_Static_assert(ADV_GID_TABLE_ENTRIES <= ADV_MAX_GIDS, "and so does the engine");

int adv_device_load_gids(struct adv_device *d)
{
	struct adv_engine_gid gids[ADV_GID_TABLE_ENTRIES];
	struct adv_udp_address addresses[ADV_GID_TABLE_ENTRIES];
	struct adv_gid_table t;
	int err;

	if (!adv_gid_table_read(adv_control_gids(d->control), &t) || !t.pkeys.count)
		return EAGAIN;
	if (d->rail)
		adv_rail_change_table(d->rail, &t);
	if (d->v1)
		adv_roce_change_table(&t, adv_roce());
	for (unsigned i = 0; i < t.count; i++) {
		gids[i].gid = t.entry[i].gid;
		gids[i].mtu = t.entry[i].path_mtu;
		gids[i].v1 = t.entry[i].type == ADV_GID_ROCE_V1;
		addresses[i].gid = t.entry[i].gid;
		addresses[i].ifindex = t.entry[i].ifindex;
	}
	err = adv_engine_set_gids(d->engine, gids, t.count);
	if (err)
		return err; /* everything has the old table; from here on nothing fails */
	(void)adv_engine_set_pkeys(d->engine, &t.pkeys);
	(void)adv_udp_set_addresses(d->udp, addresses, t.count);
	if (d->raw)
		adv_raw_table_set(d->raw, &t);
	adv_engine_set_line_rate(d->engine, adv_device_line_rate(d, &t));
	pthread_mutex_lock(&d->gids_lock);
	d->gids = t;
	pthread_mutex_unlock(&d->gids_lock);
	return 0;
}

static bool has_same_gids(const struct adv_gid_table *a, const struct adv_gid_table *b)
{
	return a->count == b->count &&
	       memcmp(a->entry, b->entry, a->count * sizeof(a->entry[0])) == 0;
}

void adv_device_gids_changed(struct adv_device *d)
{
	const struct adv_gid_table before = d->gids;
	bool was_active = before.port_active;
	int err = adv_device_load_gids(d);

	if (err) {
		adv_warn("the GID table has changed but cannot be loaded: %s", strerror(err));
		return;
	}
	if (has_same_gids(&before, &d->gids))
		return; /* adverbd's table has changed for other rails only */
	adv_device_deliver_port_event(d, IBV_EVENT_GID_CHANGE);
	if (was_active != (bool)d->gids.port_active)
		adv_device_deliver_port_event(d, was_active ? IBV_EVENT_PORT_ERR
							    : IBV_EVENT_PORT_ACTIVE);
}

void adv_device_gids(struct adv_device *d, struct adv_gid_table *copy)
{
	pthread_mutex_lock(&d->gids_lock);
	*copy = d->gids;
	pthread_mutex_unlock(&d->gids_lock);
	if (atomic_load(&d->port_down))
		copy->port_active = 0;
}

void adv_device_pkeys(struct adv_device *d, struct adv_pkey_table *copy)
{
	pthread_mutex_lock(&d->gids_lock);
	*copy = d->gids.pkeys;
	pthread_mutex_unlock(&d->gids_lock);
}
