/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Computes the routes of all switches to all hosts, by breadth-first search from each host's
 * switch. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/switch/switch.h"
#include "fabric/network/topology.h"

#define FAR UINT32_MAX

/* The state of the search. Arrays are by switch. */
struct search {
	const struct adv_topology *t;
	struct adv_route_table *routes; /* the result, by switch */
	const uint16_t *unused;		/* by link: not 0 if routes avoid the cable; NULL: none */
	struct adv_link_end *end;	/* the switches' neighbours, by port */
	uint32_t *first;		/* index in `end` of the switch's first port */
	uint32_t *edge; /* by host: the switch at the other end of its cable; FAR: none */
	uint32_t *rank; /* position in the order by level */
	uint32_t *by_rank;
	uint32_t *down; /* cables to the host on paths that only go down; shortest routing: on all
			   paths */
	uint32_t *any;	/* cables to the host on paths that go up, then down */
	uint32_t *queue;
	bool up_down;
};

/* `unused`: as in struct search. */
static bool search_open(struct search *s, const struct adv_topology *t, bool up_down,
			const uint16_t *unused)
{
	uint32_t n = t->switches, ends = 0;
	uint32_t *all = calloc(6 * (size_t)n + 1, sizeof(*all));

	*s = (struct search){.t = t, .first = all, .up_down = up_down, .unused = unused};
	s->end = malloc((2 * (size_t)t->links + 1) * sizeof(*s->end));
	s->edge = malloc(t->hosts * sizeof(*s->edge));
	if (!all || !s->end || !s->edge)
		return false;
	memset(s->edge, 0xff, t->hosts * sizeof(*s->edge));
	memset(s->end, 0xff, (2 * (size_t)t->links + 1) * sizeof(*s->end));
	s->rank = all + n + 1;
	s->by_rank = s->rank + n;
	s->down = s->by_rank + n;
	s->any = s->down + n;
	s->queue = s->any + n;
	for (uint32_t i = 0; i < n; i++) {
		s->first[i] = ends;
		ends += t->ports[t->hosts + i];
	}
	s->first[n] = ends;
	for (uint32_t i = 0; i < t->links; i++)
		for (unsigned k = 0; k < 2 && !(unused && unused[i]); k++) {
			struct adv_link_end e = t->link[i].end[k];

			uint32_t other = t->link[i].end[1 - k].node;

			if (e.node >= t->hosts)
				s->end[s->first[e.node - t->hosts] + e.port] =
					t->link[i].end[1 - k];
			else if (other >= t->hosts)
				s->edge[e.node] = other - t->hosts;
		}
	return true;
}

static void search_close(struct search *s)
{
	free(s->first);
	free(s->end);
	free(s->edge);
}

/* Returns the switch at port p of switch `sw`; FAR: a host is there, or the cable is unused. */
static uint32_t neighbour_at(const struct search *s, uint32_t sw, uint32_t p)
{
	uint32_t node = s->end[s->first[sw] + p].node;

	return node < s->t->hosts || node == FAR ? FAR : node - s->t->hosts;
}

static uint32_t ports_of(const struct search *s, uint32_t sw)
{
	return s->first[sw + 1] - s->first[sw];
}

/* Sets s->down to the distances from switch `from`. If `upwards`, uses only steps to a higher
 * rank. */
static void spread_distances(struct search *s, uint32_t from, bool upwards)
{
	uint32_t head = 0, tail = 0;

	memset(s->down, 0xff, s->t->switches * sizeof(*s->down));
	s->down[from] = 0;
	s->queue[tail++] = from;
	while (head < tail) {
		uint32_t sw = s->queue[head++];

		for (uint32_t p = 0; p < ports_of(s, sw); p++) {
			uint32_t next = neighbour_at(s, sw, p);

			if (next == FAR || s->down[next] != FAR ||
			    (upwards && s->rank[next] < s->rank[sw]))
				continue;
			s->down[next] = s->down[sw] + 1;
			s->queue[tail++] = next;
		}
	}
}

/* Orders the switches by level, or by distance from switch 0. */
static void order_switches(struct search *s)
{
	const struct adv_topology *t = s->t;
	uint32_t n = t->switches, count = 0;
	bool levels = false;

	for (uint32_t i = 1; i < n; i++)
		levels |= t->level[i] != t->level[0];
	if (!levels) {
		spread_distances(s, 0, false);
		for (uint32_t i = 0; i < n; i++)
			s->any[i] = s->down[i] == FAR ? 0 : n - s->down[i];
	} else {
		for (uint32_t i = 0; i < n; i++)
			s->any[i] = t->level[i];
	}
	for (uint32_t level = 0; count < n; level++)
		for (uint32_t i = 0; i < n; i++)
			if (s->any[i] == level) {
				s->rank[i] = count;
				s->by_rank[count++] = i;
			}
}

/* Sets s->any. If a switch has no path that only goes down, its distance is that of the best
 * switch above it plus one. */
static void climb_ranks(struct search *s)
{
	for (uint32_t i = s->t->switches; i-- > 0;) {
		uint32_t sw = s->by_rank[i];

		s->any[sw] = s->down[sw];
		for (uint32_t p = 0; s->down[sw] == FAR && p < ports_of(s, sw); p++) {
			uint32_t next = neighbour_at(s, sw, p);

			if (next != FAR && s->rank[next] > i && s->any[next] != FAR &&
			    s->any[next] + 1 < s->any[sw])
				s->any[sw] = s->any[next] + 1;
		}
	}
}

/* True if the step from switch `sw` to switch `next` is on a path of the routing. */
static bool is_step(const struct search *s, uint32_t sw, uint32_t next)
{
	if (s->down[sw] != FAR)
		return s->down[next] != FAR && s->down[next] + 1 == s->down[sw] &&
		       (!s->up_down || s->rank[next] < s->rank[sw]);
	return s->up_down && s->rank[next] > s->rank[sw] && s->any[next] != FAR &&
	       s->any[next] + 1 == s->any[sw];
}

static int set_routes(const struct search *s, uint32_t host)
{
	const struct adv_topology *t = s->t;
	uint16_t port[ADV_SWITCH_PORTS];

	for (uint32_t sw = 0; sw < t->switches; sw++) {
		uint32_t count = 0;
		int err;

		for (uint32_t p = 0; p < ports_of(s, sw); p++) {
			uint32_t next = neighbour_at(s, sw, p);

			if (next == FAR ? s->end[s->first[sw] + p].node == host
					: is_step(s, sw, next))
				port[count++] = (uint16_t)p;
		}
		if (count == 0 && !s->unused)
			return EHOSTUNREACH;
		err = adv_route_set(&s->routes[sw], host, port, count);
		if (err)
			return err;
	}
	return 0;
}

/* Sets the route of a host's own switch. */
static int set_last_step(const struct search *s, uint32_t host)
{
	uint32_t sw = s->edge[host];

	for (uint32_t p = 0; p < ports_of(s, sw); p++) {
		uint16_t port = (uint16_t)p;

		if (s->end[s->first[sw] + p].node == host)
			return adv_route_set(&s->routes[sw], host, &port, 1);
	}
	return EHOSTUNREACH;
}

/* Sets the routes of hosts first + 1 to last - 1 to those of host `first`. They are at the same
 * switch, so only the route of that switch differs. */
static int set_alike(const struct search *s, uint32_t first, uint32_t last)
{
	int err = 0;

	for (uint32_t sw = 0; !err && sw < s->t->switches; sw++)
		err = adv_route_set_alike(&s->routes[sw], first + 1, last, first);
	for (uint32_t h = first + 1; !err && h < last; h++)
		err = set_last_step(s, h);
	return err;
}

static int route_all(struct search *s, uint32_t *host)
{
	const struct adv_topology *t = s->t;
	uint32_t last;
	int err;

	if (s->up_down && t->switches)
		order_switches(s);
	for (*host = 0; t->switches && *host < t->hosts; *host = last) {
		uint32_t edge = s->edge[*host];

		last = *host + 1;
		if (edge == FAR && s->unused)
			continue;
		if (edge == FAR)
			return EHOSTUNREACH;
		for (; last < t->hosts && s->edge[last] == edge; last++)
			;
		spread_distances(s, edge, s->up_down);
		climb_ranks(s);
		err = set_routes(s, *host);
		if (!err)
			err = set_alike(s, *host, last);
		if (err)
			return err;
	}
	for (*host = 0; !t->switches && *host < t->hosts; (*host)++)
		if (t->ports[*host] == 0)
			return EHOSTUNREACH;
	return 0;
}

int adv_topology_route(struct adv_topology *t, enum adv_routing routing, uint32_t *host)
{
	struct search s;
	int err = ENOMEM;

	if (search_open(&s, t, routing == ADV_ROUTES_UP_DOWN, NULL)) {
		s.routes = t->routes;
		err = route_all(&s, host);
	}
	search_close(&s);
	return err;
}

int adv_topology_route_without(const struct adv_topology *t, enum adv_routing routing,
			       const uint16_t *unused, struct adv_route_table *routes)
{
	struct search s;
	uint32_t host;
	int err = ENOMEM;

	if (search_open(&s, t, routing == ADV_ROUTES_UP_DOWN, unused)) {
		s.routes = routes;
		err = route_all(&s, &host);
	}
	search_close(&s);
	return err;
}
