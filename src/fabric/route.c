/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/route.h"

#define SETS_MAX ADV_ROUTE_ONE

int adv_route_table_init(struct adv_route_table *t, uint32_t hosts)
{
	memset(t, 0, sizeof(*t));
	t->block = calloc(hosts / ADV_ROUTE_BLOCK + 1, sizeof(*t->block));
	t->set = calloc(1, sizeof(*t->set));
	if (!t->block || !t->set) {
		adv_route_table_free(t);
		return ENOMEM;
	}
	t->hosts = hosts;
	t->sets = 1;
	return 0;
}

void adv_route_table_free(struct adv_route_table *t)
{
	free(t->block);
	free(t->page);
	free(t->set);
	free(t->port);
	memset(t, 0, sizeof(*t));
}

/* ---- blocks ---- */

/* Gives each host of a block an entry of its own. Returns 0 or ENOMEM. */
static int divide_block(struct adv_route_table *t, uint32_t *block)
{
	uint32_t room = t->page_room ? 2 * t->page_room : ADV_ROUTE_BLOCK;
	uint16_t *page;

	if (t->paged == t->page_room) {
		page = realloc(t->page, room * sizeof(*page));
		if (!page)
			return ENOMEM;
		t->page = page;
		t->page_room = room;
	}
	for (uint32_t i = 0; i < ADV_ROUTE_BLOCK; i++)
		t->page[t->paged + i] = (uint16_t)*block;
	*block = ADV_ROUTE_PAGED | t->paged;
	t->paged += ADV_ROUTE_BLOCK;
	return 0;
}

/* If the first `count` hosts of a block have the same route, makes the block one number. The newest
 * entries are used again: those of a block whose hosts are set one after the other. */
static void unite_block(struct adv_route_table *t, uint32_t *block, uint32_t count)
{
	uint32_t at = *block & ~ADV_ROUTE_PAGED;

	for (uint32_t i = 1; i < count; i++)
		if (t->page[at + i] != t->page[at])
			return;
	*block = t->page[at];
	if (at + ADV_ROUTE_BLOCK == t->paged)
		t->paged = at;
}

/* Sets hosts from .. to - 1 of a block that has `count` hosts. Returns 0 or ENOMEM. */
static int set_in_block(struct adv_route_table *t, uint32_t *block, uint32_t count, uint32_t from,
			uint32_t to, uint16_t route)
{
	uint32_t at;

	if (!(*block & ADV_ROUTE_PAGED)) {
		if (*block == route)
			return 0;
		if (from == 0 && to == count) {
			*block = route;
			return 0;
		}
		if (divide_block(t, block))
			return ENOMEM;
	}
	at = *block & ~ADV_ROUTE_PAGED;
	for (uint32_t i = from; i < to; i++)
		t->page[at + i] = route;
	unite_block(t, block, count);
	return 0;
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
	struct adv_route_set *set;
	uint16_t *ports;

	if (t->sets == SETS_MAX)
		return EINVAL;
	ports = realloc(t->port, (t->ports + (size_t)count) * sizeof(*ports));
	if (!ports)
		return ENOMEM;
	t->port = ports;
	set = realloc(t->set, (t->sets + 1ul) * sizeof(*set));
	if (!set)
		return ENOMEM;
	t->set = set;
	set[t->sets++] = (struct adv_route_set){t->ports, count};
	memcpy(&ports[t->ports], port, count * sizeof(*port));
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
