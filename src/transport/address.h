/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The addresses of this machine, and which of its processes may send a packet. */
#ifndef ADV_TRANSPORT_ADDRESS_H
#define ADV_TRANSPORT_ADDRESS_H

#include <stdatomic.h>

#include "transport/engine_state.h"
#include "wire/slot.h"

/* True for an address of the GID table. */
bool adv_address_in_table(const struct adv_engine *e, const struct adv_gid *gid);
/* True for an address of the GID table, and for 127.0.0.0/8. */
bool adv_address_is_here(const struct adv_engine *e, const struct adv_gid *gid);
/* False if the packet is from this machine, but not from the process that has src_qpn. */
bool adv_address_sender_good(const struct adv_engine *e, uint32_t src_qpn,
			     const struct adv_rx_meta *meta);

/*
 * True if the process that has the QP number sent the packet. A local process may send with any
 * local address as the source, but not from the UDP port of another process (see
 * link/udp_socket.c), nor through the memory of another process.
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
