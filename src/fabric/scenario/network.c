/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Builds hosts, switches, cables and routes of a scenario. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "fabric/scenario/builder.h"

/* Measured memory, rounded up, bytes. */
#define MEMORY_HOST   24576u
#define MEMORY_SWITCH 1024u
#define MEMORY_PORT   2048u
#define MEMORY_ROUTE  2u /* memory of one route: from a switch to a host */

static bool key_is_given(struct adv_scenario_builder *b, const char *topology, const char *key,
			 uint64_t value)
{
	if (value != UINT64_MAX)
		return true;
	return adv_scenario_fail(b, adv_scenario_line(b, &b->s->network.topology),
				 "[network] topology = %s needs `%s`", topology, key);
}

/* The size of a topology. */
struct size {
	uint64_t hosts;
	uint64_t switches;
	uint64_t trunks;
};

static struct size size_of_dragonfly(const struct adv_scenario_network *n)
{
	uint64_t groups = n->routers * n->globals + 1, routers = groups * n->routers;

	return (struct size){routers * n->hosts, routers,
			     routers * (n->routers - 1) / 2 + groups * (groups - 1) / 2};
}

static struct size size_of_network(const struct adv_scenario_builder *b)
{
	const struct adv_scenario_network *n = &b->s->network;

	switch ((enum adv_scenario_topology)n->topology) {
	case ADV_SCENARIO_PAIR:
		return (struct size){2, 0, 0};
	case ADV_SCENARIO_INCAST:
		return (struct size){n->senders + 1, 1, 0};
	case ADV_SCENARIO_DUMBBELL:
		return (struct size){2 * n->hosts, 2, 1};
	case ADV_SCENARIO_PARKING_LOT:
		return (struct size){n->switches * n->hosts, n->switches, n->switches - 1};
	case ADV_SCENARIO_RING:
		return (struct size){n->switches * n->hosts, n->switches, n->switches};
	case ADV_SCENARIO_LEAF_SPINE:
		return (struct size){n->leaves * n->hosts, n->leaves + n->spines,
				     n->leaves * n->spines};
	case ADV_SCENARIO_FAT_TREE:
		return (struct size){n->ports * n->ports * n->ports / 4,
				     5 * n->ports * n->ports / 4,
				     n->ports * n->ports * n->ports / 2};
	case ADV_SCENARIO_RAILS:
		return (struct size){n->pods * n->rails * n->hosts, n->pods * n->rails + n->spines,
				     n->pods * n->rails * n->spines};
	case ADV_SCENARIO_DRAGONFLY:
		return size_of_dragonfly(n);
	case ADV_SCENARIO_LINKS:
		break;
	}
	return (struct size){n->hosts, n->switches, b->s->list[ADV_SCENARIO_LINK_LIST].count};
}

/* Returns the largest value of `hosts`. UINT64_MAX: in this topology `hosts` is not the number of
 * hosts at a switch. */
static uint64_t hosts_most(const struct adv_scenario_network *n)
{
	if (n->topology == ADV_SCENARIO_DRAGONFLY)
		return n->routers - 1 + n->globals < ADV_SWITCH_PORTS
			       ? ADV_SWITCH_PORTS - (n->routers - 1 + n->globals)
			       : 0;
	if (n->topology == ADV_SCENARIO_LEAF_SPINE || n->topology == ADV_SCENARIO_RAILS)
		return ADV_SWITCH_PORTS - n->spines;
	if (n->topology == ADV_SCENARIO_DUMBBELL)
		return ADV_SWITCH_PORTS - 1;
	if (n->topology == ADV_SCENARIO_PARKING_LOT && n->switches < 3)
		return ADV_SWITCH_PORTS - (n->switches - 1);
	if (n->topology == ADV_SCENARIO_PARKING_LOT || n->topology == ADV_SCENARIO_RING)
		return ADV_SWITCH_PORTS - 2;
	return UINT64_MAX;
}

/* Refuses keys that the topology does not have. */
static bool check_keys(struct adv_scenario_builder *b)
{
	const struct adv_scenario_network *n = &b->s->network;
	const struct {
		const char *name;
		const uint64_t *value;
		unsigned topologies; /* a bit each */
	} keys[] = {
		{"senders", &n->senders, 1u << ADV_SCENARIO_INCAST},
		{"leaves", &n->leaves, 1u << ADV_SCENARIO_LEAF_SPINE},
		{"spines", &n->spines, 1u << ADV_SCENARIO_LEAF_SPINE | 1u << ADV_SCENARIO_RAILS},
		{"rails", &n->rails, 1u << ADV_SCENARIO_RAILS},
		{"pods", &n->pods, 1u << ADV_SCENARIO_RAILS},
		{"routers", &n->routers, 1u << ADV_SCENARIO_DRAGONFLY},
		{"globals", &n->globals, 1u << ADV_SCENARIO_DRAGONFLY},
		{"global-speed", &n->global_speed, 1u << ADV_SCENARIO_DRAGONFLY},
		{"global-cable", &n->global_cable, 1u << ADV_SCENARIO_DRAGONFLY},
		{"ports", &n->ports, 1u << ADV_SCENARIO_FAT_TREE},
		{"switches", &n->switches,
		 1u << ADV_SCENARIO_PARKING_LOT | 1u << ADV_SCENARIO_RING |
			 1u << ADV_SCENARIO_LINKS},
		{"hosts", &n->hosts,
		 ~(1u << ADV_SCENARIO_PAIR | 1u << ADV_SCENARIO_INCAST |
		   1u << ADV_SCENARIO_FAT_TREE)},
		{"trunk-speed", &n->trunk_speed,
		 ~(1u << ADV_SCENARIO_PAIR | 1u << ADV_SCENARIO_INCAST | 1u << ADV_SCENARIO_LINKS)},
		{"trunk-cable", &n->trunk_cable,
		 ~(1u << ADV_SCENARIO_PAIR | 1u << ADV_SCENARIO_INCAST | 1u << ADV_SCENARIO_LINKS)},
	};

	for (unsigned i = 0; i < ADV_ARRAY_SIZE(keys); i++)
		if (adv_scenario_line(b, keys[i].value) &&
		    !(keys[i].topologies & 1u << n->topology))
			return adv_scenario_fail(b, adv_scenario_line(b, keys[i].value),
						 "[network] %s is not a key of this topology",
						 keys[i].name);
	return true;
}

/* Checks the size of the topology. All needed keys must have been checked. */
static bool check_size(struct adv_scenario_builder *b)
{
	const struct adv_scenario_network *n = &b->s->network;
	struct size size = size_of_network(b);
	uint64_t most = hosts_most(n);

	if (n->topology == ADV_SCENARIO_FAT_TREE && n->ports % 2)
		return adv_scenario_fail(b, adv_scenario_line(b, &n->ports),
					 "[network] ports = %" PRIu64 ": expected an even number",
					 n->ports);
	if (n->topology == ADV_SCENARIO_RING && n->switches < 3)
		return adv_scenario_fail(b, adv_scenario_line(b, &n->switches),
					 "[network] switches = %" PRIu64
					 ": expected 3 or more for a ring",
					 n->switches);
	if (n->topology == ADV_SCENARIO_RAILS && n->pods * n->rails > ADV_SWITCH_PORTS)
		return adv_scenario_fail(b, adv_scenario_line(b, &n->pods),
					 "[network] pods = %" PRIu64 ": expected %" PRIu64
					 " at most with this number of rails: a spine has %u ports",
					 n->pods, ADV_SWITCH_PORTS / n->rails, ADV_SWITCH_PORTS);
	if (n->topology == ADV_SCENARIO_DRAGONFLY && size.switches > ADV_TOPOLOGY_SWITCHES)
		return adv_scenario_fail(b, adv_scenario_line(b, &n->routers),
					 "[network] routers = %" PRIu64 " and globals = %" PRIu64
					 ": %" PRIu64 " routers in all, expected %u at most",
					 n->routers, n->globals, size.switches,
					 ADV_TOPOLOGY_SWITCHES);
	if (n->hosts > most)
		return adv_scenario_fail(b, adv_scenario_line(b, &n->hosts),
					 "[network] hosts = %" PRIu64 ": expected %" PRIu64
					 " at most at each switch: it has %u ports, and some of "
					 "them go to other switches",
					 n->hosts, most, ADV_SWITCH_PORTS);
	return adv_scenario_afford(b, adv_scenario_line(b, &n->topology),
				   (unsigned __int128)size.hosts * (MEMORY_HOST + MEMORY_PORT +
								    size.switches * MEMORY_ROUTE) +
					   size.switches * MEMORY_SWITCH +
					   2 * size.trunks * MEMORY_PORT);
}

/* Checks that the scenario has all keys that the topology needs. */
static bool all_said(struct adv_scenario_builder *b)
{
	const struct adv_scenario_network *n = &b->s->network;

	switch ((enum adv_scenario_topology)n->topology) {
	case ADV_SCENARIO_PAIR:
	case ADV_SCENARIO_DUMBBELL:
		return true;
	case ADV_SCENARIO_INCAST:
		return key_is_given(b, "incast", "senders", n->senders);
	case ADV_SCENARIO_PARKING_LOT:
		return key_is_given(b, "parking-lot", "switches", n->switches);
	case ADV_SCENARIO_RING:
		return key_is_given(b, "ring", "switches", n->switches);
	case ADV_SCENARIO_LEAF_SPINE:
		return key_is_given(b, "leaf-spine", "leaves", n->leaves) &&
		       key_is_given(b, "leaf-spine", "spines", n->spines);
	case ADV_SCENARIO_FAT_TREE:
		return key_is_given(b, "fat-tree", "ports", n->ports);
	case ADV_SCENARIO_RAILS:
		return key_is_given(b, "rails", "rails", n->rails) &&
		       key_is_given(b, "rails", "spines", n->spines);
	case ADV_SCENARIO_DRAGONFLY:
		return key_is_given(b, "dragonfly", "routers", n->routers) &&
		       key_is_given(b, "dragonfly", "globals", n->globals);
	case ADV_SCENARIO_LINKS:
		break;
	}
	return key_is_given(b, "links", "switches", n->switches);
}

static int make_named(struct adv_scenario_builder *b, struct adv_cable cable,
		      struct adv_cable trunk, struct adv_cable global)
{
	const struct adv_scenario_network *n = &b->s->network;
	uint32_t hosts = (uint32_t)n->hosts, switches = (uint32_t)n->switches;

	switch ((enum adv_scenario_topology)n->topology) {
	case ADV_SCENARIO_PAIR:
		return adv_topology_pair(b->t, cable);
	case ADV_SCENARIO_INCAST:
		return adv_topology_incast(b->t, (uint32_t)n->senders, cable);
	case ADV_SCENARIO_DUMBBELL:
		return adv_topology_dumbbell(b->t, hosts, cable, trunk);
	case ADV_SCENARIO_PARKING_LOT:
		return adv_topology_parking_lot(b->t, switches, hosts, cable, trunk);
	case ADV_SCENARIO_RING:
		return adv_topology_ring(b->t, switches, hosts, cable, trunk);
	case ADV_SCENARIO_LEAF_SPINE:
		return adv_topology_leaf_spine(b->t, (uint32_t)n->leaves, (uint32_t)n->spines,
					       hosts, cable, trunk);
	case ADV_SCENARIO_FAT_TREE:
		return adv_topology_fat_tree(b->t, (uint32_t)n->ports, cable, trunk);
	case ADV_SCENARIO_RAILS:
		return adv_topology_rails(b->t,
					  &(struct adv_rails){.rails = (uint32_t)n->rails,
							      .pods = (uint32_t)n->pods,
							      .servers = hosts,
							      .spines = (uint32_t)n->spines},
					  cable, trunk);
	case ADV_SCENARIO_DRAGONFLY:
		return adv_topology_dragonfly(
			b->t,
			&(struct adv_dragonfly){(uint32_t)n->routers, hosts, (uint32_t)n->globals},
			cable, trunk, global);
	case ADV_SCENARIO_LINKS:
		break;
	}
	return adv_topology_init(b->t, hosts, switches);
}

static uint32_t node_of(const struct adv_scenario_builder *b, uint64_t node)
{
	if (node >= ADV_SCENARIO_SWITCH)
		return b->t->hosts + (uint32_t)(node - ADV_SCENARIO_SWITCH);
	return node < b->t->hosts ? (uint32_t)node : UINT32_MAX;
}

#define NODE_NAME 16

/* Writes a value of a node as in the file: "h3" or "s1". */
static const char *node_name(uint64_t node, char name[NODE_NAME])
{
	snprintf(name, NODE_NAME, "%c%u", node & ADV_SCENARIO_SWITCH ? 's' : 'h', (uint32_t)node);
	return name;
}

/* Says why a cable is impossible. */
static bool refuse_link(struct adv_scenario_builder *b, const struct adv_scenario_link *link,
			uint64_t line)
{
	const struct adv_topology *t = b->t;
	const uint64_t end[2] = {link->from, link->to};
	char from[NODE_NAME], to[NODE_NAME], name[NODE_NAME];
	const char *why = NULL;

	if (link->from == link->to)
		return adv_scenario_fail(b, line, "[link] from and to are both %s",
					 node_name(link->from, from));
	for (unsigned i = 0; i < 2 && !why; i++) {
		uint32_t node = node_of(b, end[i]);

		node_name(end[i], name);
		if (node >= t->hosts + t->switches)
			why = "does not exist";
		else if (node < t->hosts && t->ports[node])
			why = "has a cable already, and a host has one";
		else if (t->ports[node] >= ADV_SWITCH_PORTS)
			why = "has no port left";
	}
	return adv_scenario_fail(b, line, "[link] from = %s, to = %s: %s %s",
				 node_name(link->from, from), node_name(link->to, to), name,
				 why ? why : "cannot have another cable");
}

static bool add_links(struct adv_scenario_builder *b)
{
	const struct adv_scenario_list *l = &b->s->list[ADV_SCENARIO_LINK_LIST];
	const struct adv_scenario_link *link = l->item;

	if (b->s->network.topology != ADV_SCENARIO_LINKS && l->count)
		return adv_scenario_fail(b, l->line[0], "[link] is for topology = links");
	for (uint32_t i = 0; i < l->count; i++) {
		uint64_t speed = link[i].speed ? link[i].speed : b->s->network.speed;
		uint64_t length = link[i].cable == UINT64_MAX ? b->s->network.cable : link[i].cable;
		struct adv_cable cable;

		if (link[i].from == UINT64_MAX || link[i].to == UINT64_MAX)
			return adv_scenario_fail(b, l->line[i], "[link] needs `from` and `to`");
		if (!adv_scenario_cable(b, l->line[i], speed, length, &cable))
			return false;
		if (adv_topology_link(b->t, node_of(b, link[i].from), node_of(b, link[i].to),
				      cable))
			return refuse_link(b, &link[i], l->line[i]);
	}
	return true;
}

static bool set_routes(struct adv_scenario_builder *b)
{
	const struct adv_scenario_list *l = &b->s->list[ADV_SCENARIO_ROUTE_LIST];
	const struct adv_scenario_route *r = l->item;
	char at[NODE_NAME], to[NODE_NAME], by[NODE_NAME];
	uint32_t host = 0;
	int err = 0;

	if (b->s->network.routes == ADV_SCENARIO_ONE_WAY &&
	    b->s->network.topology != ADV_SCENARIO_RING)
		return adv_scenario_fail(b, adv_scenario_line(b, &b->s->network.routes),
					 "[network] routes = one-way is for topology = ring");
	if (b->s->network.routes == ADV_SCENARIO_UP_DOWN)
		err = adv_topology_route(b->t, ADV_ROUTES_UP_DOWN, &host);
	else if (b->s->network.topology == ADV_SCENARIO_LINKS)
		err = adv_topology_route(b->t, ADV_ROUTES_SHORTEST, &host);
	if (!err && b->s->network.routes == ADV_SCENARIO_ONE_WAY)
		err = adv_topology_ring_one_way(b->t);
	if (err == EHOSTUNREACH)
		return adv_scenario_fail(b, adv_scenario_line(b, &b->s->network.topology),
					 "not every node has a route to host %u: add a [link]",
					 host);
	if (err)
		return adv_scenario_fail(b, 0, "routes: %s", strerror(err));
	for (uint32_t i = 0; i < l->count; i++) {
		if (r[i].at == UINT64_MAX || r[i].to == UINT64_MAX || r[i].by == UINT64_MAX)
			return adv_scenario_fail(b, l->line[i],
						 "[route] needs `at`, `to` and `by`");
		err = adv_topology_route_by(b->t, node_of(b, r[i].at), node_of(b, r[i].to),
					    node_of(b, r[i].by));
		if (err == EINVAL)
			return adv_scenario_fail(
				b, l->line[i],
				"[route] at = %s, to = %s, by = %s: expected at = a switch, to = a "
				"host, by = a node with a cable to that switch",
				node_name(r[i].at, at), node_name(r[i].to, to),
				node_name(r[i].by, by));
		if (err)
			return adv_scenario_fail(b, l->line[i], "%s", strerror(err));
	}
	return true;
}

bool adv_scenario_build_network(struct adv_scenario_builder *b)
{
	const struct adv_scenario_network *n = &b->s->network;
	uint64_t trunk_speed = n->trunk_speed == UINT64_MAX ? n->speed : n->trunk_speed;
	uint64_t trunk_length = n->trunk_cable == UINT64_MAX ? n->cable : n->trunk_cable;
	uint64_t global_speed = n->global_speed == UINT64_MAX ? trunk_speed : n->global_speed;
	uint64_t global_length = n->global_cable == UINT64_MAX ? trunk_length : n->global_cable;
	struct adv_cable cable, trunk, global;
	int err;

	if (n->topology == UINT64_MAX)
		return adv_scenario_fail(b, 0, "[network] needs `topology`");
	if (!adv_scenario_cable(b, adv_scenario_line(b, &n->speed), n->speed, n->cable, &cable) ||
	    !adv_scenario_cable(b, adv_scenario_line(b, &n->trunk_speed), trunk_speed, trunk_length,
				&trunk) ||
	    !adv_scenario_cable(b, adv_scenario_line(b, &n->global_speed), global_speed,
				global_length, &global) ||
	    !all_said(b) || !check_keys(b) || !check_size(b))
		return false;
	err = make_named(b, cable, trunk, global);
	if (err)
		return adv_scenario_fail(b, adv_scenario_line(b, &n->topology),
					 "impossible topology: %s", strerror(err));
	return add_links(b) && set_routes(b);
}
