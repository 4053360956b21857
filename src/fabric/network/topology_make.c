/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The named topologies. */
#include <errno.h>
#include <stdlib.h>

#include "fabric/network/topology.h"

/* Adds a cable if *err is 0. Sets *err on failure. */
static void add_cable(struct adv_topology *t, uint32_t a, uint32_t b, struct adv_cable cable,
		      int *err)
{
	if (!*err)
		*err = adv_topology_link(t, a, b, cable);
}

static int route_shortest(struct adv_topology *t, int err)
{
	uint32_t host;

	return err ? err : adv_topology_route(t, ADV_ROUTES_SHORTEST, &host);
}

int adv_topology_pair(struct adv_topology *t, struct adv_cable cable)
{
	int err = adv_topology_init(t, 2, 0);

	add_cable(t, 0, 1, cable, &err);
	return err;
}

int adv_topology_incast(struct adv_topology *t, uint32_t senders, struct adv_cable cable)
{
	int err = adv_topology_init(t, senders + 1, 1);

	for (uint32_t h = 0; !err && h <= senders; h++)
		add_cable(t, h, senders + 1, cable, &err);
	return route_shortest(t, err);
}

static void add_hosts(struct adv_topology *t, uint32_t switches, uint32_t hosts,
		      struct adv_cable cable, int *err)
{
	for (uint32_t h = 0; !*err && h < switches * hosts; h++)
		add_cable(t, h, t->hosts + h / hosts, cable, err);
}

int adv_topology_parking_lot(struct adv_topology *t, uint32_t switches, uint32_t hosts,
			     struct adv_cable cable, struct adv_cable trunk)
{
	int err = adv_topology_init(t, switches * hosts, switches);

	add_hosts(t, switches, hosts, cable, &err);
	for (uint32_t s = 0; !err && s + 1 < switches; s++)
		add_cable(t, t->hosts + s, t->hosts + s + 1, trunk, &err);
	return route_shortest(t, err);
}

int adv_topology_dumbbell(struct adv_topology *t, uint32_t hosts, struct adv_cable cable,
			  struct adv_cable trunk)
{
	return adv_topology_parking_lot(t, 2, hosts, cable, trunk);
}

int adv_topology_ring(struct adv_topology *t, uint32_t switches, uint32_t hosts,
		      struct adv_cable cable, struct adv_cable trunk)
{
	int err = adv_topology_init(t, switches * hosts, switches);

	if (!err && switches < 3)
		err = EINVAL;
	add_hosts(t, switches, hosts, cable, &err);
	for (uint32_t s = 0; !err && s < switches; s++)
		add_cable(t, t->hosts + s, t->hosts + (s + 1) % switches, trunk, &err);
	return route_shortest(t, err);
}

/* Sets the routes of switch s to all hosts of other switches: by the next switch. edge[] has the
 * switch node of each host. */
static int go_on(struct adv_topology *t, uint32_t s, const uint32_t *edge)
{
	uint32_t next = t->hosts + (s + 1) % t->switches, first = UINT32_MAX;
	int err = 0;

	for (uint32_t h = 0; !err && h < t->hosts; h++) {
		if (edge[h] == t->hosts + s)
			continue;
		if (first == UINT32_MAX) {
			first = h;
			err = adv_topology_route_by(t, t->hosts + s, h, next);
		} else {
			err = adv_route_set_alike(&t->routes[s], h, h + 1, first);
		}
	}
	return err;
}

int adv_topology_ring_one_way(struct adv_topology *t)
{
	uint32_t *edge = calloc(t->hosts, sizeof(*edge));
	int err = edge ? 0 : ENOMEM;

	for (uint32_t i = 0; edge && i < t->links; i++)
		for (unsigned k = 0; k < 2; k++)
			if (t->link[i].end[k].node < t->hosts)
				edge[t->link[i].end[k].node] = t->link[i].end[1 - k].node;
	for (uint32_t s = 0; !err && s < t->switches; s++)
		err = go_on(t, s, edge);
	free(edge);
	return err;
}

int adv_topology_leaf_spine(struct adv_topology *t, uint32_t leaves, uint32_t spines,
			    uint32_t hosts, struct adv_cable cable, struct adv_cable trunk)
{
	int err = adv_topology_init(t, leaves * hosts, leaves + spines);

	add_hosts(t, leaves, hosts, cable, &err);
	for (uint32_t l = 0; !err && l < leaves; l++)
		for (uint32_t s = 0; !err && s < spines; s++) {
			add_cable(t, t->hosts + l, t->hosts + leaves + s, trunk, &err);
			t->level[leaves + s] = 1;
		}
	return route_shortest(t, err);
}

int adv_topology_fat_tree(struct adv_topology *t, uint32_t k, struct adv_cable cable,
			  struct adv_cable trunk)
{
	uint32_t half = k / 2, edges = k * half, cores = half * half;
	int err = adv_topology_init(t, edges * half, 2 * edges + cores);

	if (!err && (k % 2 || k > 128))
		err = EINVAL;
	add_hosts(t, edges, half, cable, &err);
	for (uint32_t e = 0; !err && e < edges; e++)
		for (uint32_t a = 0; !err && a < half; a++)
			add_cable(t, t->hosts + e, t->hosts + edges + e / half * half + a, trunk,
				  &err);
	for (uint32_t a = 0; !err && a < edges; a++) {
		t->level[edges + a] = 1;
		for (uint32_t c = 0; !err && c < half; c++) {
			uint32_t core = 2 * edges + a % half * half + c;

			add_cable(t, t->hosts + edges + a, t->hosts + core, trunk, &err);
			t->level[core] = 2;
		}
	}
	return route_shortest(t, err);
}

int adv_topology_rails(struct adv_topology *t, const struct adv_rails *r, struct adv_cable cable,
		       struct adv_cable trunk)
{
	uint32_t leaves = r->pods * r->rails;
	int err = adv_topology_init(t, leaves * r->servers, leaves + r->spines);

	for (uint32_t h = 0; !err && h < t->hosts; h++) {
		uint32_t pod = h / r->rails / r->servers;

		add_cable(t, h, t->hosts + pod * r->rails + h % r->rails, cable, &err);
	}
	for (uint32_t l = 0; !err && l < leaves; l++)
		for (uint32_t s = 0; !err && s < r->spines; s++) {
			add_cable(t, t->hosts + l, t->hosts + leaves + s, trunk, &err);
			t->level[leaves + s] = 1;
		}
	return route_shortest(t, err);
}

/* Adds the cables between groups. Cable k of a group goes to the group k + 1 further on, and begins
 * at router k / h. */
static void add_globals(struct adv_topology *t, const struct adv_dragonfly *d, uint32_t groups,
			struct adv_cable cable, int *err)
{
	for (uint32_t from = 0; !*err && from < groups; from++)
		for (uint32_t to = from + 1; !*err && to < groups; to++) {
			uint32_t there = to - from - 1, back = groups - 2 - there;

			add_cable(t, t->hosts + from * d->routers + there / d->globals,
				  t->hosts + to * d->routers + back / d->globals, cable, err);
		}
}

int adv_topology_dragonfly(struct adv_topology *t, const struct adv_dragonfly *d,
			   struct adv_cable cable, struct adv_cable local, struct adv_cable global)
{
	uint32_t groups = d->routers * d->globals + 1, routers = groups * d->routers;
	int err = adv_topology_init(t, routers * d->hosts, routers);

	add_hosts(t, routers, d->hosts, cable, &err);
	for (uint32_t r = 0; !err && r < routers; r++)
		for (uint32_t other = r + 1; !err && other / d->routers == r / d->routers; other++)
			add_cable(t, t->hosts + r, t->hosts + other, local, &err);
	add_globals(t, d, groups, global, &err);
	return route_shortest(t, err);
}
