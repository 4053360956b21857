/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From the host's interfaces and addresses to a GID table: which addresses count, in what
 * order, with what MTU. Pure functions.
 */
#ifndef ADV_DAEMON_GID_POLICY_H
#define ADV_DAEMON_GID_POLICY_H

#include <stdint.h>

#include "host/gid_table.h"

#define ADV_SNAPSHOT_INTERFACES 1024
#define ADV_SNAPSHOT_ADDRESSES	1024

struct adv_interface {
	uint32_t ifindex;
	uint32_t flags; /* IFF_* */
	uint32_t mtu;	/* bytes */
	uint32_t speed_mbps;
	bool has_mac; /* mac is an Ethernet address */
	uint8_t mac[6];
	char name[16];
};

struct adv_address {
	uint32_t ifindex;
	uint32_t flags; /* IFA_F_* */
	struct adv_gid gid;
};

/* What the kernel says, unsorted. Addresses that did not fit are counted. */
struct adv_snapshot {
	unsigned interface_count;
	unsigned address_count;
	unsigned left_out;
	struct adv_interface interface[ADV_SNAPSHOT_INTERFACES];
	struct adv_address address[ADV_SNAPSHOT_ADDRESSES];
};

/* The largest IBTA MTU in bytes that packets of an interface can carry, by the rule of the Linux
 * kernel's RoCE drivers, so that both ends come to the same; 0: not even 256. */
uint32_t adv_gid_path_mtu(uint32_t if_mtu);

/*
 * Fills *out (but sequence and node_guid). Addresses of up and running interfaces: those that are
 * not loopback first, by interface (those with link-local addresses only behind the others), IPv4,
 * global IPv6, link-local IPv6; then loopback. Entries that *old has already keep their order among
 * each other and new ones come behind them, unless that put a link-local address first where there
 * are better.
 */
void adv_gid_policy_fill(const struct adv_snapshot *s, const struct adv_gid_table *old,
			 struct adv_gid_table *out);

/* EUI-64 of the first interface with a MAC that is not loopback, in network order; where there
 * is none, a locally administered one made of `seed`. Never 0. */
uint64_t adv_gid_policy_guid(const struct adv_snapshot *s, uint64_t seed);

#endif
