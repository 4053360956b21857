/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Hosts, switches, their cables, and routes. Nodes are numbered: hosts from 0 to hosts - 1, then
 * switches. A host has one cable. The ports of a node are numbered in the order in which its
 * cables were added. */
#ifndef ADV_FABRIC_NETWORK_TOPOLOGY_H
#define ADV_FABRIC_NETWORK_TOPOLOGY_H

#include "fabric/switch/route.h"

/* A cable, the same in both directions. */
struct adv_cable {
	uint32_t ps_per_byte; /* 80: 100 Gb/s; 20: 400 Gb/s */
	uint64_t delay;	      /* propagation, ps: 5,000 per metre */
};

struct adv_link_end {
	uint32_t node;
	uint16_t port;
};

/* Delay of light in fibre for a millimetre, ps. */
#define ADV_FIBRE_PS_PER_MM 5

struct adv_topology_link {
	struct adv_link_end end[2];
	struct adv_cable cable;
};

struct adv_topology {
	uint32_t hosts;
	uint32_t switches;
	uint16_t *ports; /* number of ports by node */
	uint16_t *level; /* by switch: its level in up-down routes; 0 if it has hosts */
	uint32_t links;
	uint32_t link_room;
	struct adv_topology_link *link;
	struct adv_route_table *routes; /* by switch */
};

#define ADV_TOPOLOGY_SWITCHES (1u << 16) /* at most */

/* Makes nodes without cables and routes. Returns 0; EINVAL: no host, or more than 2^24 hosts or
 * 2^16 switches; ENOMEM. The caller must call adv_topology_free(), also after an error. */
int adv_topology_init(struct adv_topology *t, uint32_t hosts, uint32_t switches);
void adv_topology_free(struct adv_topology *t);

/* Adds a cable. Returns 0; EINVAL: no such node, both ends are the same, a host has a cable
 * already, a switch has ADV_SWITCH_PORTS cables, or the cable has no speed; ENOMEM. */
int adv_topology_link(struct adv_topology *t, uint32_t a, uint32_t b, struct adv_cable cable);

enum adv_routing {
	ADV_ROUTES_SHORTEST, /* all shortest paths; each flow takes one of them */
	ADV_ROUTES_UP_DOWN,  /* the shortest of the paths that first go up, then down; they have no
				cyclic dependencies in any topology (Autonet, Schroeder et al.
				1991) */
};

/* Sets the routes of all switches to all hosts. If the levels of the switches differ, up-down
 * routes use them; otherwise they use the distance from switch 0. Returns 0; ENOMEM; EHOSTUNREACH:
 * a switch has no path to *host. */
int adv_topology_route(struct adv_topology *t, enum adv_routing routing, uint32_t *host);

/* As adv_topology_route(), but writes to `routes` (by switch, made by adv_route_table_init()), and
 * routes use no cable whose `unused`, by link, is not 0. A switch without a path to a host gets no
 * route to it. Returns 0 or ENOMEM; EINVAL: see adv_route_set(). */
int adv_topology_route_without(const struct adv_topology *t, enum adv_routing routing,
			       const uint16_t *unused, struct adv_route_table *routes);

/* Sets one route: from node `sw` (a switch) to `host` by node `next`, over all cables between `sw`
 * and `next`. Returns 0; EINVAL: no such nodes, or no cable; ENOMEM. */
int adv_topology_route_by(struct adv_topology *t, uint32_t sw, uint32_t host, uint32_t next);

/* Returns the node at the other end of a port's cable; UINT32_MAX: no such port. */
uint32_t adv_topology_peer(const struct adv_topology *t, uint32_t node, uint16_t port);

/* ---- named topologies with shortest-path routes; they return 0, EINVAL or ENOMEM ---- */

/* Two hosts and one cable, no switch. */
int adv_topology_pair(struct adv_topology *t, struct adv_cable cable);
/* `senders` + 1 hosts at one switch; the last one is the receiver. */
int adv_topology_incast(struct adv_topology *t, uint32_t senders, struct adv_cable cable);
/* Two switches with `hosts` hosts each. Hosts 0 .. hosts - 1 are at the first switch. */
int adv_topology_dumbbell(struct adv_topology *t, uint32_t hosts, struct adv_cable cable,
			  struct adv_cable trunk);
/* `switches` switches in a row with `hosts` hosts each. Switch s has the hosts from s x hosts on.
 */
int adv_topology_parking_lot(struct adv_topology *t, uint32_t switches, uint32_t hosts,
			     struct adv_cable cable, struct adv_cable trunk);
/* As adv_topology_parking_lot(), but the switches form a ring; at least 3 switches. */
int adv_topology_ring(struct adv_topology *t, uint32_t switches, uint32_t hosts,
		      struct adv_cable cable, struct adv_cable trunk);
/* Sets routes in one direction of a ring, from switch s to s + 1. Their buffer dependencies form a
 * cycle. */
int adv_topology_ring_one_way(struct adv_topology *t);
/* A leaf-spine network. Each leaf has `hosts` hosts and a cable to each spine. Switches are
 * numbered: leaves, then spines. */
int adv_topology_leaf_spine(struct adv_topology *t, uint32_t leaves, uint32_t spines,
			    uint32_t hosts, struct adv_cable cable, struct adv_cable trunk);
/* A fat tree of switches with k ports (even) and k^3 / 4 hosts (Al-Fares et al., SIGCOMM 2008).
 * Switches are numbered: edges by pod, aggregations by pod, cores. */
int adv_topology_fat_tree(struct adv_topology *t, uint32_t k, struct adv_cable cable,
			  struct adv_cable trunk);

struct adv_rails {
	uint32_t rails; /* NICs of a server */
	uint32_t pods;
	uint32_t servers; /* of a pod */
	uint32_t spines;
};

/* A rail-optimized network for servers with several NICs: in each pod, NIC r of all servers is at
 * the pod's leaf r. Each leaf has a cable to each spine. NIC r of server v is host v x rails + r.
 * Switches are numbered: leaves by pod, spines. */
int adv_topology_rails(struct adv_topology *t, const struct adv_rails *r, struct adv_cable cable,
		       struct adv_cable trunk);

struct adv_dragonfly {
	uint32_t routers; /* a: routers of a group */
	uint32_t hosts;	  /* p: hosts of a router */
	uint32_t globals; /* h: global cables of a router; there are a h + 1 groups */
};

/* A dragonfly (Kim et al., ISCA 2008) of the largest size: the routers of a group have a cable to
 * each other, and each pair of groups has one global cable. Switches are numbered by group. */
int adv_topology_dragonfly(struct adv_topology *t, const struct adv_dragonfly *d,
			   struct adv_cable cable, struct adv_cable local, struct adv_cable global);

#endif
