/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Probes of the way to a peer's host. They send packets of their own and leave queue pairs alone.
 */
#ifndef ADV_CLI_DOCTOR_PROBE_H
#define ADV_CLI_DOCTOR_PROBE_H

#include "runtime/control/control.h"
#include "nic/wire/packet.h"

enum adv_probe_result {
	ADV_PROBE_NOT_TRIED, /* not permitted, or not possible for this address */
	ADV_PROBE_ANSWERED,
	ADV_PROBE_REFUSED, /* ICMP: the peer's UDP port 4791 is closed, or a firewall rejects */
	ADV_PROBE_SILENT,
	ADV_PROBE_TOO_LONG, /* the interface, or an ICMP message, allows no packet of this length */
};

/*
 * Requests a connection to an unused service ID of the peer's connection manager, as
 * rdma_connect() does. Any answer shows that UDP port 4791 gets through both ways, and that the
 * peer's host has an RDMA device. Blocks for up to 1.5 s.
 */
enum adv_probe_result adv_probe_cm(struct adv_control *c, const struct adv_gid *from,
				   const struct adv_gid *to);

/* Sends an ICMP echo request whose IP packet is as long as a RoCE v2 packet with `payload` bytes,
 * without fragments. Needs CAP_NET_RAW or net.ipv4.ping_group_range. Blocks for up to 0.6 s. */
enum adv_probe_result adv_probe_echo(const struct adv_gid *from, const struct adv_gid *to,
				     uint32_t payload);

#endif
