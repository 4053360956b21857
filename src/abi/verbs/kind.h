/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What differs between the device as a RoCE adapter and as an iWARP adapter, beside the queue pairs
 * (nic/engine/protocol.h). */
#ifndef ADV_ABI_VERBS_KIND_H
#define ADV_ABI_VERBS_KIND_H

#include <infiniband/verbs.h>
#include <stdbool.h>

#include "runtime/control/gid_table.h"

struct adv_ibv_kind {
	enum ibv_node_type node_type;
	enum ibv_transport_type transport_type;
	bool datagrams; /* UD, address handles, XRC: what needs more than connected queue pairs */
	/* Removes from the attributes what the device cannot do. */
	void (*limit_device)(struct ibv_device_attr_ex *attr);
	void (*limit_port)(struct ibv_port_attr *attr);
	/* Changes a copy of adverbd's table to that of the device. */
	void (*limit_gids)(struct adv_gid_table *table);
};

/* Returns the kind of this process's device. */
const struct adv_ibv_kind *adv_ibv_kind(void);

#endif
