/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Hosts, switches, the cables between them, and the way that frames take. Nodes are numbered: hosts
 * 0 .. hosts - 1, then switches. A host has one cable. Ports of a node are numbered in the order in
 * which its cables were added.
 */
#ifndef ADV_FABRIC_TOPOLOGY_H
#define ADV_FABRIC_TOPOLOGY_H

#include "fabric/route.h"

/* Both directions of it are alike. */
struct adv_cable {
	uint32_t ps_per_byte; /* 80: 100 Gb/s; 20: 400 Gb/s */
	uint64_t delay;	      /* ps from one end to the other: 5,000 a metre */
};

struct adv_link_end {
	uint32_t node;
	uint16_t port;
};

struct adv_topology_link {
	struct adv_link_end end[2];
	struct adv_cable cable;
};

struct adv_topology {
	uint32_t hosts;
	uint32_t switches;
	uint16_t *ports; /* of each node: how many */
	uint16_t *level; /* of each switch: those with hosts below are 0; for up-down routes */
	uint32_t links;
	uint32_t link_room;
	struct adv_topology_link *link;
	struct adv_route_table *routes; /* of each switch */
};

/* Nodes without cables and routes. 0; EINVAL: no host, or more than 2^24 hosts or 2^16 switches;
 * ENOMEM. adv_topology_free() also takes what could not be made. */
int adv_topology_init(struct adv_topology *t, uint32_t hosts, uint32_t switches);
void adv_topology_free(struct adv_topology *t);

/* A cable. 0; EINVAL: no such node, both ends are one, a host has one already, a switch has
 * ADV_SWITCH_PORTS, or the cable has no speed; ENOMEM. */
int adv_topology_link(struct adv_topology *t, uint32_t a, uint32_t b, struct adv_cable cable);

enum adv_routing {
	ADV_ROUTES_SHORTEST, /* all shortest paths, one picked for each flow */
	ADV_ROUTES_UP_DOWN,  /* ... of those that never go up again after they went down: free of
			      * cyclic dependencies in any topology (Autonet, Schroeder et al. 1991)
			      */
};

/* Sets the routes of all switches to all hosts. Up-down takes the levels where any differ, else
 * the distance from switch 0. 0; ENOMEM; EHOSTUNREACH: *host has no way from some switch. */
int adv_topology_route(struct adv_topology *t, enum adv_routing routing, uint32_t *host);

/* By hand: from node `sw` (a switch) to `host` by way of node `next`, over all cables between them.
 * 0; EINVAL: no such nodes, or no cable; ENOMEM. */
int adv_topology_route_by(struct adv_topology *t, uint32_t sw, uint32_t host, uint32_t next);

/* The node at the other end of a switch's or host's port; UINT32_MAX: no such port. */
uint32_t adv_topology_peer(const struct adv_topology *t, uint32_t node, uint16_t port);

/* ---- those with names: nodes, cables and shortest-path routes. 0, EINVAL, ENOMEM ---- */

/* Two hosts and one cable, no switch. */
int adv_topology_pair(struct adv_topology *t, struct adv_cable cable);
/* `senders` + 1 hosts at one switch; the last one is the receiver. */
int adv_topology_incast(struct adv_topology *t, uint32_t senders, struct adv_cable cable);
/* Two switches, `hosts` at each: 0 .. hosts - 1 at the first. */
int adv_topology_dumbbell(struct adv_topology *t, uint32_t hosts, struct adv_cable cable,
			  struct adv_cable trunk);
/* `switches` in a row, `hosts` at each; of switch s, hosts s x hosts and on. */
int adv_topology_parking_lot(struct adv_topology *t, uint32_t switches, uint32_t hosts,
			     struct adv_cable cable, struct adv_cable trunk);
/* ... in a ring, 3 or more. */
int adv_topology_ring(struct adv_topology *t, uint32_t switches, uint32_t hosts,
		      struct adv_cable cable, struct adv_cable trunk);
/* Routes of a ring that all go round one way, s to s + 1: they depend on each other in a cycle. */
int adv_topology_ring_one_way(struct adv_topology *t);
/* Each leaf has `hosts`, and a cable to each spine. Switches: leaves, then spines. */
int adv_topology_leaf_spine(struct adv_topology *t, uint32_t leaves, uint32_t spines,
			    uint32_t hosts, struct adv_cable cable, struct adv_cable trunk);
/* Al-Fares et al., SIGCOMM 2008: of switches with k ports (even), k^3 / 4 hosts. Switches: by pod
 * the edges, by pod the aggregations, then the cores. */
int adv_topology_fat_tree(struct adv_topology *t, uint32_t k, struct adv_cable cable,
			  struct adv_cable trunk);

#endif
