/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Cables that fail and work again, and the routes that avoid them. */
#include <errno.h>
#include <stdlib.h>

#include "fabric/network/flying.h"
#include "base/grow.h"
#include "fabric/network/settle.h"

/* ---- frames ---- */

/* Marks the frames of a list as lost. They stay in the list, because an event is due for each. */
static void lose_all(struct adv_fabric *f, const struct adv_packet_list *l)
{
	for (struct adv_packet *p = l->head; p; p = p->next) {
		f->lost += p->kind == ADV_PACKET_DATA;
		p->kind = ADV_PACKET_LOST;
	}
}

/* The cable of a wire fails, or works again. */
static void change_wire(struct adv_fabric *f, uint32_t wire, bool works)
{
	struct adv_wire *w = &f->wire[wire];
	uint32_t hosts = f->config.topology->hosts, s = w->from.node - hosts;

	if (!works) {
		if (w->from.node >= hosts && adv_part_has_node(f, w->from.node))
			adv_fabric_recall(f->node[s].fabric, &f->node[s], wire);
		lose_all(adv_part_of(f, w->to.node), &w->flying);
		lose_all(adv_part_of(f, w->to.node), &w->pauses);
	}
	if (!adv_part_has_node(f, w->from.node))
		return;
	if (f->parts)
		f->parts->global_level = wire % 2; /* the order in which wires change */
	f = adv_part_of(f, w->from.node);
	/* A frame whose transmission began before the cable works is lost. */
	w->cut = !works || w->sending;
	if (w->from.node < hosts) {
		adv_fabric_host_link(f, &f->host[w->from.node], works);
		return;
	}
	if (works)
		adv_switch_link_up(f->node[s].sw, f->now, w->from.port);
	else
		adv_switch_link_down(f->node[s].sw, f->now, w->from.port);
	adv_fabric_serve(f, s);
}

static void change_link(struct adv_fabric *f, uint32_t link, bool works)
{
	uint16_t *down = &f->failures.down[link];
	bool was_down = *down != 0;

	*down = (uint16_t)(works ? *down - 1 : *down + 1);
	if (was_down == (*down != 0))
		return;
	change_wire(f, 2 * link, works);
	change_wire(f, 2 * link + 1, works);
}

/* ---- routes ---- */

static void free_routes(const struct adv_fabric *f, struct adv_route_table *routes)
{
	for (uint32_t s = 0; routes && s < f->config.topology->switches; s++)
		adv_route_table_free(&routes[s]);
	free(routes);
}

/* Returns routes without the avoided cables; NULL: no memory. */
static struct adv_route_table *new_routes(const struct adv_fabric *f)
{
	const struct adv_topology *t = f->config.topology;
	struct adv_route_table *routes = calloc(t->switches + 1ul, sizeof(*routes));
	int err = routes ? 0 : ENOMEM;

	for (uint32_t s = 0; !err && s < t->switches; s++)
		err = adv_route_table_init(&routes[s], t->hosts);
	if (!err)
		err = adv_topology_route_without(t, f->config.routing, f->failures.avoided, routes);
	if (!err)
		return routes;
	free_routes(f, routes);
	return NULL;
}

static void change_routes(struct adv_fabric *f, uint32_t link, bool used)
{
	struct adv_route_table *routes;
	uint16_t *avoided = &f->failures.avoided[link];

	*avoided = (uint16_t)(used ? *avoided - 1 : *avoided + 1);
	routes = new_routes(f);
	if (!routes) {
		f->no_memory = true;
		return;
	}
	for (uint32_t s = 0; s < f->config.topology->switches; s++)
		adv_switch_set_routes(f->node[s].sw, &routes[s]);
	for (uint32_t i = 0; i < f->wires; i++)
		adv_fabric_route_again(f, &f->wire[i]);
	free_routes(f, f->failures.routes);
	f->failures.routes = routes;
}

/* ---- changes ---- */

void adv_fabric_cable(struct adv_fabric *f, uint32_t change)
{
	const struct adv_fabric_change *c = &f->failures.change[change];

	if (c->what == ADV_CABLE_FAILS || c->what == ADV_CABLE_WORKS)
		change_link(f, c->link, c->what == ADV_CABLE_WORKS);
	else
		change_routes(f, c->link, c->what == ADV_CABLE_USED);
}

static void add_change(struct adv_fabric *f, uint64_t at, struct adv_fabric_change change)
{
	f->failures.change[f->failures.changes] = change;
	adv_fabric_at(f, at, ADV_DUE_CABLE, f->failures.changes++);
}

/* Makes room for the four changes of a failure. */
static bool reserve_changes(struct adv_fabric *f)
{
	struct adv_fabric_failures *x = &f->failures;

	if (!x->down)
		x->down = calloc(f->config.topology->links, sizeof(*x->down));
	if (!x->avoided)
		x->avoided = calloc(f->config.topology->links, sizeof(*x->avoided));
	return adv_grow_to(&x->change, x->changes + 4ul, sizeof(*x->change)) && x->down &&
	       x->avoided;
}

int adv_fabric_fail(struct adv_fabric *f, uint32_t link, uint64_t from, uint64_t to)
{
	uint64_t after = f->config.reroute;

	if (link >= f->config.topology->links || from < f->now || to <= from ||
	    f->failures.changes > ADV_DUE_INDEX - 4 || after > ADV_CALENDAR_NEVER / 2 ||
	    from > ADV_CALENDAR_NEVER / 4)
		return EINVAL;
	if (!reserve_changes(f))
		return ENOMEM;
	add_change(f, from, (struct adv_fabric_change){link, ADV_CABLE_FAILS});
	add_change(f, from + after, (struct adv_fabric_change){link, ADV_CABLE_AVOIDED});
	if (to > ADV_CALENDAR_NEVER / 4)
		return 0;
	add_change(f, to, (struct adv_fabric_change){link, ADV_CABLE_WORKS});
	add_change(f, to + after, (struct adv_fabric_change){link, ADV_CABLE_USED});
	return 0;
}

void adv_fabric_failures_free(struct adv_fabric *f)
{
	if (f->failures.routes)
		free_routes(f, f->failures.routes);
	free(f->failures.change);
	free(f->failures.down);
	free(f->failures.avoided);
}
