/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/switch/route.h"
#include "base/grow.h"

#define SETS_MAX ADV_ROUTE_ONE

/* Takes a page. Returns its first entry; UINT32_MAX: no memory. */
static uint32_t take_page(struct adv_route_table *t)
{
	uint32_t at = t->routes, room = t->route_room ? 2 * t->route_room : ADV_ROUTE_BLOCK;

	if (at == t->route_room) {
		if (!adv_grow_to(&t->route, room, sizeof(*t->route)))
			return UINT32_MAX;
		t->route_room = room;
	}
	t->routes += ADV_ROUTE_BLOCK;
	return at;
}

static void fill_page(struct adv_route_table *t, uint32_t at, uint16_t route)
{
	for (uint32_t i = 0; i < ADV_ROUTE_BLOCK; i++)
		t->route[at + i] = route;
}

/* Lets other blocks share a page whose entries are all the same. False: no memory. */
static bool share_page(struct adv_route_table *t, uint32_t at)
{
	if (!adv_grow_to(&t->shared, t->shares + 1ul, sizeof(at)))
		return false;
	t->shared[t->shares++] = at;
	return true;
}

/* Returns the shared page of a route; UINT32_MAX: there is none. The newest is the most likely. */
static uint32_t find_page(const struct adv_route_table *t, uint16_t route)
{
	for (uint32_t i = t->shares; i-- > 0;)
		if (t->route[t->shared[i]] == route)
			return t->shared[i];
	return UINT32_MAX;
}

int adv_route_table_init(struct adv_route_table *t, uint32_t hosts)
{
	memset(t, 0, sizeof(*t));
	t->block = calloc(hosts / ADV_ROUTE_BLOCK + 1, sizeof(*t->block));
	t->set = calloc(1, sizeof(*t->set));
	if (!t->block || !t->set || take_page(t) == UINT32_MAX || !share_page(t, 0)) {
		adv_route_table_free(t);
		return ENOMEM;
	}
	fill_page(t, 0, 0);
	t->hosts = hosts;
	t->sets = 1;
	return 0;
}

void adv_route_table_free(struct adv_route_table *t)
{
	free(t->block);
	free(t->route);
	free(t->shared);
	free(t->set);
	free(t->port);
	memset(t, 0, sizeof(*t));
}

/* ---- blocks ---- */

/* Gives a block with a shared page one of its own. Returns 0 or ENOMEM. */
static int divide_block(struct adv_route_table *t, uint32_t *block)
{
	uint32_t at = take_page(t);

	if (at == UINT32_MAX)
		return ENOMEM;
	memcpy(&t->route[at], &t->route[*block], ADV_ROUTE_BLOCK * sizeof(*t->route));
	*block = ADV_ROUTE_OWN | at;
	return 0;
}

/* Gives all hosts of a block one route. Its own page becomes that of the route if there is none;
 * otherwise the page is used again if it is the newest: that of a block whose hosts were set one
 * after the other. Returns 0 or ENOMEM. */
static int unite_block(struct adv_route_table *t, uint32_t *block, uint16_t route)
{
	uint32_t at = *block & ~ADV_ROUTE_OWN, page = find_page(t, route);
	bool own = *block & ADV_ROUTE_OWN;

	if (page == UINT32_MAX) {
		page = own ? at : take_page(t);
		if (page == UINT32_MAX || !share_page(t, page))
			return ENOMEM;
		fill_page(t, page, route);
	} else if (own && at + ADV_ROUTE_BLOCK == t->routes) {
		t->routes = at;
	}
	*block = page;
	return 0;
}

/* True if the first `count` hosts of a page have the same route. */
static bool is_uniform(const uint16_t *route, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++)
		if (route[i] != route[0])
			return false;
	return true;
}

/* Sets hosts from .. to - 1 of a block that has `count` hosts. Returns 0 or ENOMEM. */
static int set_in_block(struct adv_route_table *t, uint32_t *block, uint32_t count, uint32_t from,
			uint32_t to, uint16_t route)
{
	uint32_t at = *block & ~ADV_ROUTE_OWN;

	if (!(*block & ADV_ROUTE_OWN)) {
		if (t->route[at] == route)
			return 0;
		if (from == 0 && to == count)
			return unite_block(t, block, route);
		if (divide_block(t, block))
			return ENOMEM;
		at = *block & ~ADV_ROUTE_OWN;
	}
	for (uint32_t i = from; i < to; i++)
		t->route[at + i] = route;
	return is_uniform(&t->route[at], count) ? unite_block(t, block, route) : 0;
}

static int set_hosts(struct adv_route_table *t, uint32_t first, uint32_t last, uint16_t route)
{
	for (uint32_t h = first, next; h < last; h = next) {
		uint32_t base = h - h % ADV_ROUTE_BLOCK, end = base + ADV_ROUTE_BLOCK;
		uint32_t count = end < t->hosts ? ADV_ROUTE_BLOCK : t->hosts - base;

		next = end < last ? end : last;
		if (set_in_block(t, &t->block[base / ADV_ROUTE_BLOCK], count, h - base, next - base,
				 route))
			return ENOMEM;
	}
	return 0;
}

int adv_route_set_alike(struct adv_route_table *t, uint32_t first, uint32_t last, uint32_t other)
{
	return set_hosts(t, first, last, (uint16_t)adv_route_of(t, other));
}

/* ---- sets ---- */

static bool is_set(const struct adv_route_table *t, uint32_t i, const uint16_t *port,
		   uint32_t count)
{
	const struct adv_route_set *s = &t->set[i];

	return s->count == count &&
	       (count == 0 || memcmp(&t->port[s->first], port, count * sizeof(*port)) == 0);
}

static int add_set(struct adv_route_table *t, const uint16_t *port, uint32_t count)
{
	if (t->sets == SETS_MAX)
		return EINVAL;
	if (!adv_grow_to(&t->port, t->ports + (size_t)count, sizeof(*port)) ||
	    !adv_grow_to(&t->set, t->sets + 1ul, sizeof(*t->set)))
		return ENOMEM;
	t->set[t->sets++] = (struct adv_route_set){t->ports, count};
	memcpy(&t->port[t->ports], port, count * sizeof(*port));
	t->ports += count;
	return 0;
}

/* Returns the number of the set of these ports, or t->sets. The search begins at the newest set,
 * which is the most likely match. */
static uint32_t find_set(const struct adv_route_table *t, const uint16_t *port, uint32_t count)
{
	for (uint32_t i = t->sets; i-- > 0;)
		if (is_set(t, i, port, count))
			return i;
	return t->sets;
}

int adv_route_set(struct adv_route_table *t, uint32_t host, const uint16_t *port, uint32_t count)
{
	uint32_t i;

	if (host >= t->hosts)
		return EINVAL;
	i = find_set(t, port, count);
	if (i == t->sets) {
		int err = add_set(t, port, count);

		if (err)
			return err;
	}
	return set_hosts(t, host, host + 1, (uint16_t)(count == 1 ? ADV_ROUTE_ONE | port[0] : i));
}
