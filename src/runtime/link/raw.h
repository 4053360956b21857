/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RoCE v1: frames of Ethertype 0x8915 (annex A16), by packet(7) sockets. A process opens its own
 * socket, which needs CAP_NET_RAW. The kernel gives the socket the frames with the process's QP
 * numbers only, by a classic BPF program. Frames are received through a ring in shared memory
 * (TPACKET_V2), and sent by sendmmsg(2).
 */
#ifndef ADV_RUNTIME_LINK_RAW_H
#define ADV_RUNTIME_LINK_RAW_H

#include "runtime/link/link.h"

#define ADV_ETHERTYPE_ROCE 0x8915u

/* The most addresses of a link. */
#define ADV_RAW_ADDRESSES 256

/* One of the machine's own addresses. */
struct adv_raw_address {
	struct adv_gid gid;
	uint32_t ifindex;
	uint8_t mac[6]; /* all 0: no frames leave from or arrive at this address */
};

/*
 * Wraps `inner`, a link of shm.h or udp.h: packets of a v1 path to other machines, and to multicast
 * groups, leave as RoCE v1 frames; all others go through `inner`. Frames for QP numbers from
 * qpn_first on are accepted; multicast frames always. The new link owns `inner`. Returns NULL with
 * errno, and `inner` still belongs to the caller. EPERM: the process lacks CAP_NET_RAW.
 *
 * A v1 path names the MAC address of the next hop. Its service level becomes the priority of the
 * frame's socket buffer; a VLAN interface makes the priority of the VLAN tag of it
 * (egress-qos-map).
 */
struct adv_link *adv_raw_create(struct adv_link *inner, uint32_t qpn_first, uint32_t qpn_count);

/* Accepts frames to further QP numbers. Returns 0; ENOSPC: the link has ADV_UDP_RANGES ranges
 * already; or errno. */
int adv_raw_add_qpns(struct adv_link *link, uint32_t qpn_first, uint32_t qpn_count);

/* Sets the machine's own addresses (copied). Call it at start and whenever the addresses change.
 * Returns 0, or ENOSPC for more than ADV_RAW_ADDRESSES (the old addresses stay). */
int adv_raw_set_addresses(struct adv_link *link, const struct adv_raw_address *addresses,
			  unsigned count);

/* Makes the interface receive frames to the group, or ends that. Joins are counted. Any thread may
 * call it without the link's lock. 0 or errno. */
int adv_raw_member(const struct adv_link *link, const struct adv_gid *group, uint32_t ifindex,
		   bool join);

/* Writes the MAC address of a multicast group, as Linux maps it for RoCE: 01:00:5e and 23 bits of
 * an IPv4 group, 33:33 and 32 bits of another one. */
void adv_raw_group_mac(const struct adv_gid *group, uint8_t mac[6]);

/* Returns the packet socket, readable when frames are queued. */
int adv_raw_fd(const struct adv_link *link);

/* Replaces the inner link by another one without a bell. The old one belongs to the caller. */
void adv_raw_set_inner(struct adv_link *link, struct adv_link *inner);

/* In a child of fork(): closes the child's descriptors. As adv_udp_abandon(). */
void adv_raw_abandon(struct adv_link *link);

#endif
