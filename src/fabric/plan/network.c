/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "fabric/plan/network.h"

#include <stdio.h>
#include <stdlib.h>

#define NONE UINT32_MAX

/* The state of following packets through the routing tables. */
struct walker {
	const struct adv_topology *t;
	uint32_t *first;  /* by node: index of its first port in `out` */
	uint32_t *out;	  /* by port: the directed link that begins there */
	uint32_t *source; /* by directed link: a host whose packets use it, or NONE */
	uint32_t *queue;  /* directed links whose packets are to be followed */
	adv_plan_turn_fn *fn;
	void *arg;
};

static uint32_t nodes_of(const struct adv_topology *t)
{
	return t->hosts + t->switches;
}

static uint32_t end_of(const struct walker *w, uint32_t directed)
{
	return w->t->link[directed / 2].end[1 - directed % 2].node;
}

static void list_ports(struct walker *w)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < nodes_of(w->t); i++) {
		w->first[i] = sum;
		sum += w->t->ports[i];
	}
	for (uint32_t i = 0; i < w->t->links; i++)
		for (unsigned e = 0; e < 2; e++) {
			const struct adv_link_end *end = &w->t->link[i].end[e];

			w->out[w->first[end->node] + end->port] = 2 * i + e;
		}
}

/* Follows packets to dst from link `in`, which ends at a switch. */
static bool forward_packets(struct walker *w, uint32_t in, uint32_t dst, uint32_t *tail)
{
	uint32_t at = end_of(w, in);
	const struct adv_route_table *table = &w->t->routes[at - w->t->hosts];
	const struct adv_route_set *set = adv_route_find(table, dst);

	for (uint32_t i = 0; i < set->count; i++) {
		uint32_t out = w->out[w->first[at] + table->port[set->first + i]];

		if (end_of(w, out) >= w->t->hosts &&
		    !w->fn(w->arg, in, out, ADV_PLAN_PRIORITY, w->source[in], dst, 0))
			return false;
		if (w->source[out] != NONE)
			continue;
		w->source[out] = w->source[in];
		w->queue[(*tail)++] = out;
	}
	return true;
}

static bool walk_to(struct walker *w, uint32_t dst)
{
	uint32_t head = 0, tail = 0;

	for (uint32_t i = 0; i < 2 * w->t->links; i++)
		w->source[i] = NONE;
	for (uint32_t h = 0; h < w->t->hosts; h++) {
		uint32_t out = w->out[w->first[h]];

		if (h == dst || w->t->ports[h] == 0)
			continue;
		w->source[out] = h;
		w->queue[tail++] = out;
	}
	for (; head < tail; head++)
		if (end_of(w, w->queue[head]) >= w->t->hosts &&
		    !forward_packets(w, w->queue[head], dst, &tail))
			return false;
	return true;
}

/* Calls fn for each turn of a struct adv_topology: an adv_plan_turns_fn. */
static bool network_turns(const void *network, adv_plan_turn_fn *fn, void *arg,
			  struct adv_plan_error *error)
{
	struct walker w = {.t = network, .fn = fn, .arg = arg};
	size_t ends = 2 * (size_t)w.t->links + 1;
	bool good = false;

	w.first = calloc((size_t)nodes_of(w.t) + 1, sizeof(*w.first));
	w.out = calloc(ends, sizeof(*w.out));
	w.source = calloc(ends, sizeof(*w.source));
	w.queue = calloc(ends, sizeof(*w.queue));
	*error = (struct adv_plan_error){0, "out of memory"};
	if (w.first && w.out && w.source && w.queue) {
		list_ports(&w);
		good = true;
		for (uint32_t h = 0; h < w.t->hosts && good; h++)
			good = walk_to(&w, h);
	}
	free(w.first);
	free(w.out);
	free(w.source);
	free(w.queue);
	return good;
}

static void set_names(const struct adv_topology *t, struct adv_plan_topology *plan)
{
	for (uint32_t i = 0; i < plan->nodes; i++) {
		struct adv_plan_node *n = &plan->node[i];

		n->is_switch = i >= t->hosts;
		snprintf(n->name, sizeof(n->name), n->is_switch ? "s%u" : "h%u",
			 n->is_switch ? i - t->hosts : i);
	}
	for (uint32_t i = 0; i < plan->links; i++)
		for (unsigned e = 0; e < 2; e++) {
			const struct adv_link_end *end = &t->link[i].end[e];

			plan->link[i].node[e] = end->node;
			snprintf(plan->link[i].port[e], sizeof(plan->link[i].port[e]), "%u",
				 end->port);
		}
}

static struct adv_plan_topology *topology_of(const struct adv_topology *t,
					     struct adv_plan_error *error)
{
	struct adv_plan_topology *plan = calloc(1, sizeof(*plan));

	*error = (struct adv_plan_error){0, "out of memory"};
	if (nodes_of(t) > ADV_PLAN_NODES_MAX || t->links > ADV_PLAN_LINKS_MAX) {
		snprintf(error->text, sizeof(error->text), "more than %d nodes or %d cables",
			 ADV_PLAN_NODES_MAX, ADV_PLAN_LINKS_MAX);
		free(plan);
		return NULL;
	}
	if (!plan)
		return NULL;
	plan->nodes = nodes_of(t);
	plan->links = t->links;
	plan->all_pairs = true;
	plan->root = ADV_PLAN_NONE;
	plan->node = calloc((size_t)plan->nodes + 1, sizeof(*plan->node));
	plan->link = calloc((size_t)plan->links + 1, sizeof(*plan->link));
	if (!plan->node || !plan->link) {
		adv_plan_topology_free(plan);
		return NULL;
	}
	set_names(t, plan);
	return plan;
}

struct adv_plan_deadlock *adv_plan_network(const struct adv_topology *t,
					   struct adv_plan_topology **plan,
					   struct adv_plan_error *error)
{
	struct adv_plan_deadlock *d = NULL;

	*plan = topology_of(t, error);
	if (*plan)
		d = adv_plan_deadlock_of(*plan, network_turns, t, error);
	if (!d) {
		adv_plan_topology_free(*plan);
		*plan = NULL;
	}
	return d;
}
