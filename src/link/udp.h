/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef ADV_LINK_UDP_H
#define ADV_LINK_UDP_H

#include "link/link.h"

struct adv_udp_config {
	int receive_fd; /* a slot's socket of the 4791 group; the link owns it from now on,
			 * also where adv_udp_create() fails */
	uint32_t
		qpn_first; /* QP numbers that packets may be for; others are counted and dropped. */
	uint32_t qpn_count; /* 0: any. Multicast packets always pass. */
	uint16_t port;	    /* where peers listen; 0: 4791 */
	bool errors;	    /* adv_udp_read_errors() has something to read */
	int error_epoll; /* ... when this epoll, the owner's, is readable; used by this link alone
			  */
	bool sender;	 /* packets to this machine leave by one port: adv_udp_sender() */
};

/*
 * A RoCE v2 link over UDP sockets. Receives on config->receive_fd (dual-stack AF_INET6 or
 * AF_INET; it is never connected), sends through sockets of its own, one for each
 * (source address, source port), made when first needed. Returns NULL with errno set where
 * a socket option that the link cannot do without is refused, or the sender's port (EADDRINUSE:
 * none is free).
 *
 * Payload is copied before its ICRC is computed, so that a program that changes memory while
 * it is being sent gets old or new bytes to its peer, never a packet that is dropped.
 */
struct adv_link *adv_udp_create(const struct adv_udp_config *config);

/*
 * The UDP port that everything to the machine's own addresses, multicast apart, comes from, where
 * the configuration asks for one; else 0. As long as the link lives, nobody else on the machine
 * can send from it without CAP_NET_RAW: whoever is told the port knows the sender by it.
 */
uint16_t adv_udp_sender(const struct adv_link *link);

#define ADV_UDP_RANGES 5 /* a link has at most */

/* Further QP numbers that packets on the socket of a link made by adv_udp_create() may be for. 0;
 * ENOSPC: it has ADV_UDP_RANGES of such ranges. */
int adv_udp_add_qpns(struct adv_link *link, uint32_t qpn_first, uint32_t qpn_count);

/*
 * A host says by ICMP that nobody listens on the port that a packet from sgid to dgid went to, and
 * quotes the first len bytes of it, BTH first; good during the call. Anybody may have made it up.
 */
typedef void adv_udp_error_fn(void *user, const struct adv_gid *sgid, const struct adv_gid *dgid,
			      const uint8_t *quote, size_t len);

/* Of a link whose configuration asks for errors: hands on what has come, `budget` messages at most,
 * those that say something else included. Returns how many it took; 0: there was nothing. */
unsigned adv_udp_read_errors(struct adv_link *link, unsigned budget, adv_udp_error_fn *fn,
			     void *user);

/* One of the machine's own addresses. */
struct adv_udp_address {
	struct adv_gid gid;
	uint32_t ifindex;
};

/*
 * Tells a link made by adv_udp_create() the machine's own addresses (copied), at start and
 * whenever they change: packets from them have Identifications that can be known, and
 * link-local and multicast destinations need the interface. 0 or ENOMEM (the old ones stay).
 */
int adv_udp_set_addresses(struct adv_link *link, const struct adv_udp_address *addresses,
			  unsigned count);

/*
 * In a child of fork(): closes the copies of the descriptors of a link made by adv_udp_create(),
 * which go on being the parent's. The link is not to be used or destroyed any more. No lock: the
 * parent's other threads may have been anywhere in it.
 */
void adv_udp_abandon(struct adv_link *link);

/* True where packets from this address can only come from this machine. */
bool adv_udp_is_own_address(const struct adv_link *link, const struct adv_gid *gid);

#endif
