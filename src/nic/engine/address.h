/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Checks of packets from this machine: its addresses, and the process that sends for a QP
 * number. */
#ifndef ADV_NIC_ENGINE_ADDRESS_H
#define ADV_NIC_ENGINE_ADDRESS_H

#include <stdatomic.h>

#include "nic/engine/state.h"
#include "nic/wire/slot.h"

/* True for an address of the GID table. */
bool adv_address_in_table(const struct adv_engine *e, const struct adv_gid *gid);
/* True if the GID table has the packet's destination, with the packet's version of RoCE. Within
 * this machine, packets of both versions take the same ways. */
bool adv_address_is_dest(const struct adv_engine *e, const struct adv_rx_meta *meta);
/* True for an address of the GID table, and for 127.0.0.0/8. */
bool adv_address_is_here(const struct adv_engine *e, const struct adv_gid *gid);
/* Returns false if the packet is from this machine, but another process than that of src_qpn sent
 * it. */
bool adv_address_sender_good(const struct adv_engine *e, uint32_t src_qpn,
			     const struct adv_rx_meta *meta);

/*
 * True if the process that has the QP number sent the packet. Local processes can forge a local
 * source address. They can use neither the UDP port of another process (see
 * runtime/link/udp_socket.c) nor its shared memory.
 */
static inline bool adv_address_is_of_qpn(const struct adv_engine *e, uint32_t qpn,
					 const struct adv_rx_meta *meta)
{
	uint16_t port;

	if (meta->slot)
		return meta->slot == 1 + atomic_load_explicit(&e->sender_home[adv_qpn_prefix(qpn)],
							      memory_order_relaxed);
	port = atomic_load_explicit(&e->sender_port[adv_qpn_prefix(qpn)], memory_order_relaxed);
	return port && port == meta->sport;
}

#endif
