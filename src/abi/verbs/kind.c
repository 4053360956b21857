/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "abi/verbs/kind.h"

#include <string.h>

#include "runtime/identity/identity.h"

static void limit_no_device(struct ibv_device_attr_ex *attr)
{
}

static void limit_no_port(struct ibv_port_attr *attr)
{
}

static void limit_no_gids(struct adv_gid_table *table)
{
}

static void limit_iwarp_device(struct ibv_device_attr_ex *attr)
{
	const unsigned lacking = IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_XRC;
	struct ibv_device_attr *a = &attr->orig_attr;

	a->device_cap_flags &= ~lacking;
	a->atomic_cap = IBV_ATOMIC_NONE;
	a->max_mcast_grp = a->max_mcast_qp_attach = a->max_total_mcast_qp_attach = 0;
	a->max_ah = 0;
	a->local_ca_ack_delay = 0;
	/* The kernel reads and writes the memory of requests, and does not page it in. */
	memset(&attr->odp_caps, 0, sizeof(attr->odp_caps));
	attr->xrc_odp_caps = 0;
	attr->device_cap_flags_ex = a->device_cap_flags;
	memset(&attr->pci_atomic_caps, 0, sizeof(attr->pci_atomic_caps));
}

static void limit_iwarp_port(struct ibv_port_attr *attr)
{
	attr->flags = 0;
	attr->port_cap_flags = IBV_PORT_CM_SUP;
}

static const struct adv_ibv_kind kinds[] = {
	[ADV_TRANSPORT_ROCE] = {IBV_NODE_CA, IBV_TRANSPORT_IB, true, limit_no_device, limit_no_port,
				limit_no_gids},
	[ADV_TRANSPORT_IWARP] = {IBV_NODE_RNIC, IBV_TRANSPORT_IWARP, false, limit_iwarp_device,
				 limit_iwarp_port, adv_gid_table_to_mac},
	/* The device is listed, and cannot be opened. */
	[ADV_TRANSPORT_UNKNOWN] = {IBV_NODE_CA, IBV_TRANSPORT_IB, true, limit_no_device,
				   limit_no_port, limit_no_gids},
};

const struct adv_ibv_kind *adv_ibv_kind(void)
{
	return &kinds[adv_transport()];
}
