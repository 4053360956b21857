/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Queries the kernel's routes and neighbours: the source, interface and next hop for an address,
 * and the state of the next hop's Ethernet address. The kernel answers each call at once. A caller
 * that waits for a neighbour calls again later.
 */
#ifndef ADV_RUNTIME_UCMA_RESOLVE_H
#define ADV_RUNTIME_UCMA_RESOLVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nic/wire/packet.h"

struct adv_resolver;

/* Opens the sockets of a resolver. Returns NULL and sets errno on failure. */
struct adv_resolver *adv_resolver_create(void);
void adv_resolver_destroy(struct adv_resolver *r);

/* A route. Addresses are GIDs. */
struct adv_ip_route {
	struct adv_gid source;	 /* the requested source, else the kernel's choice */
	struct adv_gid next_hop; /* the destination itself, or a gateway */
	uint32_t ifindex;
	bool has_source;
	bool local;	/* the destination is this machine's own */
	bool multicast; /* the destination is a multicast group */
};

/*
 * Finds the route to `to`. `source` NULL: any source. ifindex: the outgoing interface, for
 * link-local addresses and groups; 0: any. Returns 0; ENETUNREACH, EHOSTUNREACH or EACCES from the
 * routing table; EINVAL or ENETUNREACH if `source` is not an address of this machine; or another
 * errno.
 */
int adv_resolve_way(struct adv_resolver *r, const struct adv_gid *to, const struct adv_gid *source,
		    uint32_t ifindex, struct adv_ip_route *way);

enum adv_neighbour {
	ADV_NEIGHBOUR_KNOWN,  /* known, or not needed on that interface */
	ADV_NEIGHBOUR_NONE,   /* the kernel has not tried to resolve it */
	ADV_NEIGHBOUR_ASKED,  /* the kernel is resolving it */
	ADV_NEIGHBOUR_FAILED, /* the kernel got no answer */
};

enum adv_neighbour adv_resolve_neighbour(struct adv_resolver *r, const struct adv_ip_route *way);

/* As adv_resolve_neighbour(). ADV_NEIGHBOUR_KNOWN: *mac is the neighbour's Ethernet address. An
 * interface without such addresses has none: ADV_NEIGHBOUR_NONE. */
enum adv_neighbour adv_resolve_mac(struct adv_resolver *r, const struct adv_ip_route *way,
				   uint8_t mac[6]);

/* Makes the kernel resolve the neighbour: sends an empty datagram to the discard port of `to`. */
void adv_resolve_probe_neighbour(struct adv_resolver *r, const struct adv_gid *to,
				 const struct adv_ip_route *way);

/* Returns IFF_* of an interface; 0: there is no such interface. */
uint32_t adv_resolve_interface_flags(struct adv_resolver *r, uint32_t ifindex);

/* True if `gid` is an address of the machine. A link-local address must be on the interface
 * `ifindex`. */
bool adv_resolve_is_own(struct adv_resolver *r, const struct adv_gid *gid, uint32_t ifindex);

/*
 * Parses the kernel's answer to the route request with number `serial`. `data` may be any bytes.
 * The caller has set way->next_hop to the destination. Returns 0; an errno from the kernel; EPROTO:
 * `data` contains no such answer.
 */
int adv_resolve_parse_route(const void *data, size_t len, uint32_t serial,
			    struct adv_ip_route *way);

/* As adv_resolve_parse_route(), for a neighbour request. Sets *state to the neighbour's NUD_*. */
int adv_resolve_parse_neighbour(const void *data, size_t len, uint32_t serial, uint16_t *state);
/* Reads the neighbour's Ethernet address from such an answer. False: it has none. */
bool adv_resolve_parse_mac(const void *data, size_t len, uint32_t serial, uint8_t mac[6]);

#endif
