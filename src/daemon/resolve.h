/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the kernel knows of the way to an address: source, interface, next hop, and whether the
 * next hop's Ethernet address is known. Each call is answered by the kernel at once; waiting
 * for a neighbour is the caller's, by asking again.
 */
#ifndef ADV_DAEMON_RESOLVE_H
#define ADV_DAEMON_RESOLVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/packet.h"

struct adv_resolver;

/* NULL and errno. */
struct adv_resolver *adv_resolver_create(void);
void adv_resolver_destroy(struct adv_resolver *r);

/* A way. Addresses as GIDs. */
struct adv_way {
	struct adv_gid source;	 /* as asked for, else as the kernel chooses */
	struct adv_gid next_hop; /* the destination itself, or a gateway */
	uint32_t ifindex;
	bool has_source;
	bool local;	/* the destination is this machine's own */
	bool multicast; /* the destination is a group */
};

/*
 * The way to `to`. `source` NULL: any; ifindex 0: any, or the one that packets have to leave by
 * (link-local addresses, groups). 0; ENETUNREACH, EHOSTUNREACH, EACCES as the routing table has it;
 * EINVAL or ENETUNREACH where `source` is not this machine's; or another errno.
 */
int adv_resolve_way(struct adv_resolver *r, const struct adv_gid *to, const struct adv_gid *source,
		    uint32_t ifindex, struct adv_way *way);

enum adv_neighbour {
	ADV_NEIGHBOUR_KNOWN,  /* or none is needed on that interface */
	ADV_NEIGHBOUR_NONE,   /* the kernel has not been asked for it */
	ADV_NEIGHBOUR_ASKED,  /* it is being looked for */
	ADV_NEIGHBOUR_FAILED, /* the kernel has asked in vain */
};

enum adv_neighbour adv_resolve_neighbour(struct adv_resolver *r, const struct adv_way *way);

/* Makes the kernel look for the neighbour: sends an empty datagram to the discard port of `to`. */
void adv_resolve_provoke(struct adv_resolver *r, const struct adv_gid *to,
			 const struct adv_way *way);

/* IFF_* of an interface; 0 where there is none. */
uint32_t adv_resolve_interface_flags(struct adv_resolver *r, uint32_t ifindex);

/* True where this is an address of the machine (of that interface: link-local ones). */
bool adv_resolve_is_own(struct adv_resolver *r, const struct adv_gid *gid, uint32_t ifindex);

/*
 * The parts that read what the kernel answers, any bytes whatever: one message that answers the
 * request with this serial. 0; an errno that the kernel gave; EPROTO: no such answer.
 * adv_resolve_parse_route() wants way->next_hop preset to the destination.
 */
int adv_resolve_parse_route(const void *data, size_t len, uint32_t serial, struct adv_way *way);
int adv_resolve_parse_neighbour(const void *data, size_t len, uint32_t serial, uint16_t *state);

#endif
