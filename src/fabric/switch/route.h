/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The routes of a switch: for each host a set of ports, one of which the flow's hash selects. */
#ifndef ADV_FABRIC_SWITCH_ROUTE_H
#define ADV_FABRIC_SWITCH_ROUTE_H

#include <stdbool.h>
#include <stdint.h>

struct adv_route_set {
	uint32_t first; /* index of the set's first port in adv_route_table.port */
	uint32_t count; /* 0: no route */
};

/* Hosts of a block: the hosts of a switch mostly have the same set. */
#define ADV_ROUTE_BLOCK 32u
/* In adv_route_table.block: no other block has this page. */
#define ADV_ROUTE_OWN (1u << 31)
/* In a route: it is the number of the only port, instead of that of a set. */
#define ADV_ROUTE_ONE 0x8000u

/* A route is the number of a set, or of the only port. Each block of hosts has a page with a route
 * for each of them. All blocks whose hosts have one route share its page, which keeps the table of
 * a large network small. */
struct adv_route_table {
	uint32_t hosts;
	uint32_t *block; /* by host / ADV_ROUTE_BLOCK: the index of its first host in `route`, and
			    maybe ADV_ROUTE_OWN */
	uint16_t *route; /* the pages */
	uint32_t routes; /* entries of `route` in use */
	uint32_t route_room;
	uint32_t *shared; /* the first entries of the shared pages */
	uint32_t shares;
	uint32_t sets;
	struct adv_route_set *set; /* the first one is empty */
	uint32_t ports;
	uint16_t *port;
};

/* Makes a table for hosts 0 .. hosts - 1 without routes. Returns 0 or ENOMEM. */
int adv_route_table_init(struct adv_route_table *t, uint32_t hosts);
void adv_route_table_free(struct adv_route_table *t);

/* Replaces the ports that lead to a host. Returns 0; ENOMEM; EINVAL: no such host, or more than
 * 32,768 different sets. */
int adv_route_set(struct adv_route_table *t, uint32_t host, const uint16_t *port, uint32_t count);

/* Sets the ports of hosts first .. last - 1 to those of host `other`. All hosts must exist. Returns
 * 0 or ENOMEM: some of them are set. */
int adv_route_set_alike(struct adv_route_table *t, uint32_t first, uint32_t last, uint32_t other);

/* Returns the route to a host: ADV_ROUTE_ONE and the port, or the number of the set. */
static inline uint32_t adv_route_of(const struct adv_route_table *t, uint32_t host)
{
	return t->route[(t->block[host / ADV_ROUTE_BLOCK] & ~ADV_ROUTE_OWN) +
			host % ADV_ROUTE_BLOCK];
}

/* Returns the set of ports that lead to a host. The set is empty if there is no route. */
static inline const struct adv_route_set *adv_route_find(const struct adv_route_table *t,
							 uint32_t host)
{
	uint32_t route = adv_route_of(t, host), i = 0;

	if (!(route & ADV_ROUTE_ONE))
		return &t->set[route];
	while (t->set[i].count != 1 || t->port[t->set[i].first] != (route & ~ADV_ROUTE_ONE))
		i++;
	return &t->set[i];
}

/* Returns the port of a set that the hash `flow` selects. The set must not be empty. */
static inline uint16_t adv_route_pick(const struct adv_route_table *t,
				      const struct adv_route_set *set, uint32_t flow, uint32_t seed)
{
	uint64_t h = (flow ^ seed) * 0x9e3779b97f4a7c15u;

	h ^= h >> 32;
	h *= 0xd6e8feb86659fd93u;
	return t->port[set->first + (uint32_t)(((h >> 32) * set->count) >> 32)];
}

#endif
