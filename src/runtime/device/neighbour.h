/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the MAC address of a RoCE v1 peer. */
#ifndef ADV_RUNTIME_DEVICE_NEIGHBOUR_H
#define ADV_RUNTIME_DEVICE_NEIGHBOUR_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#include "nic/wire/packet.h"

struct adv_device;

/* A neighbour, and the GID of this machine for which it was found. */
struct adv_next_hop {
	uint8_t mac[6];	     /* all 0: packets need none */
	uint8_t type;	     /* enum adv_gid_type; 0: the attributes name no GID of the table */
	struct adv_gid sgid; /* of the entry ah_attr.grh.sgid_index */
};

/*
 * Finds the MAC address to which packets with these address attributes are sent. Linux resolves it
 * in the same way: a link-local GID contains it; for another GID, the kernel's neighbour table has
 * it. Blocks without a lock, one second at most. Sets n->mac to 0 if packets need none: those of
 * RoCE v2, to a group, or to this machine. The table of GIDs may change until the caller has the
 * device's lock: the caller then asks adv_device_next_hop_holds(). Returns 0; ETIMEDOUT: the
 * neighbour does not answer; EHOSTUNREACH: it is behind a router, which RoCE v1 does not cross; or
 * errno. The reason is that of adv_reason().
 */
int adv_device_find_mac(struct adv_device *d, const struct ibv_ah_attr *attr,
			struct adv_next_hop *n);

/* With the device's lock held: true if the attributes still name the GID for which the neighbour
 * was found. If not, the caller releases the lock and searches again. */
bool adv_device_next_hop_holds(struct adv_device *d, const struct ibv_ah_attr *attr,
			       const struct adv_next_hop *n);

#endif
