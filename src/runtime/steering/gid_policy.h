/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Derives the GID table from the host's interfaces and addresses: chooses the addresses, their
 * order and their MTU. Pure functions.
 */
#ifndef ADV_RUNTIME_STEERING_GID_POLICY_H
#define ADV_RUNTIME_STEERING_GID_POLICY_H

#include <stdint.h>

#include "runtime/control/gid_table.h"

#define ADV_SNAPSHOT_INTERFACES 1024
#define ADV_SNAPSHOT_ADDRESSES	1024

struct adv_snapshot_interface {
	uint32_t ifindex;
	uint32_t flags; /* IFF_* */
	uint32_t mtu;	/* bytes */
	uint32_t speed_mbps;
	bool has_mac; /* mac is an Ethernet address */
	uint8_t mac[6];
	char name[16];
};

struct adv_snapshot_address {
	uint32_t ifindex;
	uint32_t flags; /* IFA_F_* */
	struct adv_gid gid;
};

/* The kernel's interfaces and addresses, unsorted. left_out is the number of addresses that did not
 * fit. */
struct adv_snapshot {
	unsigned interface_count;
	unsigned address_count;
	unsigned left_out;
	struct adv_snapshot_interface interface[ADV_SNAPSHOT_INTERFACES];
	struct adv_snapshot_address address[ADV_SNAPSHOT_ADDRESSES];
};

/* Returns the largest IBTA MTU, in bytes, that packets of an interface can carry; 0: less than 256.
 * The rule is that of the Linux kernel's RoCE drivers, so that both ends agree. */
uint32_t adv_gid_policy_mtu(uint32_t if_mtu);

/*
 * Fills *out (except sequence and node_guid) with the addresses of interfaces that are up and
 * running. They are sorted by these keys:
 *
 *  - addresses of loopback interfaces come last;
 *  - before them, interfaces that have only link-local addresses;
 *  - the interface index;
 *  - IPv4, global IPv6, link-local IPv6.
 * Entries of *old keep their order, and new entries follow them: an index stays the same while no
 * earlier entry disappears. Exception: if entry 0 would then be a loopback or link-local address
 * although a better address exists, the order of *old is ignored.
 */
void adv_gid_policy_fill(const struct adv_snapshot *s, const struct adv_gid_table *old,
			 struct adv_gid_table *out);

/* Returns the EUI-64 of the first interface that has a MAC and is not loopback, in network byte
 * order. If there is none, returns a locally administered number made from `seed`. Never 0. */
uint64_t adv_gid_policy_guid(const struct adv_snapshot *s, uint64_t seed);

#endif
