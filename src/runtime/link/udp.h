/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef ADV_RUNTIME_LINK_UDP_H
#define ADV_RUNTIME_LINK_UDP_H

#include "runtime/link/link.h"

struct adv_udp_config {
	int receive_fd;	    /* a slot's socket of the 4791 group; belongs to the link, also if
			     * adv_udp_create() fails */
	uint32_t qpn_first; /* destination QP numbers accepted; other packets are counted and
			       dropped */
	uint32_t qpn_count; /* 0: any; multicast packets are always accepted */
	uint16_t port;	    /* port on which peers listen; 0: 4791 */
	bool errors;	    /* collect errors for adv_udp_read_errors() */
	int error_epoll;    /* epoll of the owner, readable when there are errors; not used for
			     * anything else */
	bool sender;	    /* packets to this machine leave from one port: adv_udp_sender() */
};

/*
 * Creates a RoCE v2 link over UDP sockets. It receives on config->receive_fd (dual-stack AF_INET6
 * or AF_INET, never connected). It sends through its own sockets, one for each (source address,
 * source port), opened when first needed. Returns NULL with errno if a required socket option
 * fails, or if no port is free for the sender (EADDRINUSE).
 *
 * Payload is copied before its ICRC is computed: if a program changes memory during a send, its
 * peer receives old or new bytes, but the ICRC is right.
 */
struct adv_link *adv_udp_create(const struct adv_udp_config *config);

/*
 * Returns the UDP port from which the link sends to the machine's own addresses, except multicast.
 * Returns 0 if the configuration requests no such port. As long as the link exists, no other
 * process of the machine can send from this port without CAP_NET_RAW, so the port identifies the
 * sender.
 */
uint16_t adv_udp_sender(const struct adv_link *link);

#define ADV_UDP_RANGES 5 /* maximum number of QP number ranges of a link */

/* Accepts packets to further QP numbers, on a link made by adv_udp_create(). Returns 0; ENOSPC: the
 * link has ADV_UDP_RANGES ranges already. */
int adv_udp_add_qpns(struct adv_link *link, uint32_t qpn_first, uint32_t qpn_count);

/*
 * Handles an ICMP message which claims that no process listens on the destination port of a packet
 * from sgid to dgid. The message quotes the first len bytes of the packet from the BTH on; they are
 * valid during the call. Any host may forge such a message.
 */
typedef void adv_udp_error_fn(void *user, const struct adv_gid *sgid, const struct adv_gid *dgid,
			      const uint8_t *quote, size_t len);

/* Passes queued ICMP errors to fn, on a link that collects errors. Reads at most `budget` messages,
 * including those with other contents. Returns the number of messages read; 0: none was queued. */
unsigned adv_udp_read_errors(struct adv_link *link, unsigned budget, adv_udp_error_fn *fn,
			     void *user);

/* The most addresses of a link. */
#define ADV_UDP_ADDRESSES 256

/* One of the machine's own addresses. */
struct adv_udp_address {
	struct adv_gid gid;
	uint32_t ifindex;
};

/*
 * Sets the machine's own addresses (copied) of a link made by adv_udp_create(). Call it at start
 * and whenever the addresses change. The link can predict the Identifications of packets from these
 * addresses, and needs the interface for link-local and multicast destinations. Returns 0, or
 * ENOSPC for more than ADV_UDP_ADDRESSES (the old addresses stay).
 */
int adv_udp_set_addresses(struct adv_link *link, const struct adv_udp_address *addresses,
			  unsigned count);

/*
 * In a child of fork(): closes the child's descriptors of a link made by adv_udp_create(). The link
 * still belongs to the parent; the child must not use or destroy it afterwards. The call acquires
 * no lock: other threads of the parent may have held it.
 */
void adv_udp_abandon(struct adv_link *link);

/* True if packets from this address can only come from this machine. */
bool adv_udp_is_own_address(const struct adv_link *link, const struct adv_gid *gid);

#endif
