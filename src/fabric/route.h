/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The routes of a switch: for each host a set of ports, one of which the flow's hash selects. */
#ifndef ADV_FABRIC_ROUTE_H
#define ADV_FABRIC_ROUTE_H

#include <stdbool.h>
#include <stdint.h>

struct adv_route_set {
	uint32_t first; /* index of the set's first port in adv_route_table.port */
	uint32_t count; /* 0: no route */
};

/* Hosts of a block: the hosts of a switch mostly have the same set. */
#define ADV_ROUTE_BLOCK 32u
/* In adv_route_table.block: the hosts of the block have different routes. */
#define ADV_ROUTE_PAGED (1u << 31)
/* In a route: it is the number of the only port, instead of that of a set. */
#define ADV_ROUTE_ONE 0x8000u

/* A route is the number of a set, or of the only port. A block whose hosts have one route is one
 * number. This keeps the table of a large network small. */
struct adv_route_table {
	uint32_t hosts;
	uint32_t *block; /* by host / ADV_ROUTE_BLOCK: the route of all hosts of the block; or
			    ADV_ROUTE_PAGED and the index of its first host in `page` */
	uint16_t *page;	 /* routes of the hosts of such blocks */
	uint32_t paged;	 /* entries of `page` in use */
	uint32_t page_room;
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
	uint32_t route = t->block[host / ADV_ROUTE_BLOCK];

	if (route & ADV_ROUTE_PAGED)
		route = t->page[(route & ~ADV_ROUTE_PAGED) + host % ADV_ROUTE_BLOCK];
	return route;
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
