/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads a network from text (docs/planners.md): hosts, switches, links, and flows or routes. The
 * functions do no I/O and accept any text. The caller owns the objects. Only one thread at a time
 * may use an object. */
#ifndef ADV_FABRIC_PLAN_TOPOLOGY_H
#define ADV_FABRIC_PLAN_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADV_PLAN_NAME_MAX  31
#define ADV_PLAN_NODES_MAX 4096
#define ADV_PLAN_LINKS_MAX 16384
#define ADV_PLAN_FLOWS_MAX 65536
#define ADV_PLAN_HOPS_MAX  262144  /* sum of all routes */
#define ADV_PLAN_TEXT_MAX  4194304 /* bytes */
#define ADV_PLAN_LEVEL_MAX 255
#define ADV_PLAN_PRIORITY  3 /* default of flows */
#define ADV_PLAN_NONE	   UINT32_MAX

struct adv_plan_node {
	char name[ADV_PLAN_NAME_MAX + 1];
	bool is_switch;
	bool has_level;
	uint32_t level; /* as given */
	uint32_t line;
	uint32_t ports; /* number of links, including links that are down */
};

/* A full-duplex link. Link i is two directed links: 2 i from end 0 to end 1, and 2 i + 1 back. */
struct adv_plan_cable {
	uint32_t node[2];
	char port[2][ADV_PLAN_NAME_MAX + 1];
	bool down;
};

/* A flow from host to host. If `hops` is not 0, its route is that number of nodes, including both
 * hosts. */
struct adv_plan_flow {
	uint32_t src;
	uint32_t dst;
	uint32_t line;
	uint32_t hops;
	uint32_t first_hop; /* index in adv_plan_topology.hop */
	uint8_t priority;
};

enum adv_plan_routing { ADV_PLAN_ROUTING_NONE, ADV_PLAN_SHORTEST, ADV_PLAN_UPDOWN };

struct adv_plan_topology {
	uint32_t nodes, links, flows, hops;
	struct adv_plan_node *node;
	struct adv_plan_cable *link;
	struct adv_plan_flow *flow;
	uint32_t *hop;
	bool all_pairs; /* the text names no flow without a route: every host sends to every other
			 */
	enum adv_plan_routing routing;
	uint32_t root; /* root of up-down routing, or ADV_PLAN_NONE */
};

/* Returns the node at which the directed link `d` begins. */
static inline uint32_t adv_plan_from(const struct adv_plan_topology *t, uint32_t d)
{
	return t->link[d / 2].node[d % 2];
}

/* Returns the node at which the directed link `d` ends. */
static inline uint32_t adv_plan_to(const struct adv_plan_topology *t, uint32_t d)
{
	return t->link[d / 2].node[1 - d % 2];
}

#define ADV_PLAN_WHY 200

struct adv_plan_error {
	uint32_t line; /* from 1; 0: the error concerns no single line */
	char text[ADV_PLAN_WHY];
};

/* Reads a topology. NULL: *error has the number of the wrong line, and the expected form as one
 * printable line. The caller frees the result. */
struct adv_plan_topology *adv_plan_topology_parse(const char *text, size_t len,
						  struct adv_plan_error *error);

void adv_plan_topology_free(struct adv_plan_topology *t);

#endif
