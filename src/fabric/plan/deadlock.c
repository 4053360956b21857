/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "fabric/plan/deadlock.h"
#include "base/grow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

/* The graph, and the state of the search. */
struct graph {
	struct adv_plan_deadlock *out;
	struct adv_plan_error *error;
	uint32_t room;	     /* allocated dependencies */
	uint32_t table_size; /* a power of two */
	uint32_t *table;     /* hash of from and to: dependency + 1, 0: empty */
	uint32_t vertices;
	uint32_t *first; /* by vertex: index in `leaving` of the dependencies that begin there */
	uint32_t *leaving;
	bool *removed;	 /* by dependency */
	uint8_t *colour; /* by vertex: NOT_SEEN, ON_PATH or DONE */
	uint32_t *next;	 /* by vertex: index in `leaving` of the next dependency to follow */
	uint32_t *path;	 /* vertices of the current path */
	uint32_t *via;	 /* by vertex: the dependency that reached it */
};

static bool out_of_memory(struct graph *g)
{
	*g->error = (struct adv_plan_error){0, "out of memory"};
	return false;
}

/* ---- build ---- */

static uint32_t *slot_of(const struct graph *g, uint32_t from, uint32_t to)
{
	uint64_t hash = ((uint64_t)from << 32 | to) * UINT64_C(0x9e3779b97f4a7c15);

	for (uint32_t i = (uint32_t)(hash >> 32);; i++) {
		uint32_t *slot = &g->table[i & (g->table_size - 1)];
		const struct adv_plan_dependency *d;

		if (*slot == 0)
			return slot;
		d = &g->out->dependency[*slot - 1];
		if (d->from == from && d->to == to)
			return slot;
	}
}

/* Doubles the room for dependencies. The hash table stays at least half empty. */
static bool grow_dependencies(struct graph *g)
{
	const struct adv_plan_dependency *d;

	if (!adv_grow(&g->out->dependency, g->room, &g->room, sizeof(*d)))
		return out_of_memory(g);
	d = g->out->dependency;
	free(g->table);
	g->table_size = 2 * g->room;
	g->table = calloc(g->table_size, sizeof(*g->table));
	if (!g->table)
		return out_of_memory(g);
	for (uint32_t i = 0; i < g->out->dependencies; i++)
		*slot_of(g, d[i].from, d[i].to) = i + 1;
	return true;
}

static void add_example(struct adv_plan_dependency *d, uint32_t src, uint32_t dst, uint32_t line)
{
	if (d->flows < ADV_PLAN_EXAMPLES) {
		d->example[d->flows].src = src;
		d->example[d->flows].dst = dst;
		d->example[d->flows].line = line;
	}
	d->flows += d->flows < NONE;
}

static bool add_turn(void *arg, uint32_t in, uint32_t out, uint8_t priority, uint32_t src,
		     uint32_t dst, uint32_t line)
{
	struct graph *g = arg;
	uint32_t from = 8 * in + priority, to = 8 * out + priority, *slot;
	struct adv_plan_dependency *d;

	if (g->out->dependencies == g->room && !grow_dependencies(g))
		return false;
	slot = slot_of(g, from, to);
	if (*slot == 0) {
		if (g->out->dependencies == ADV_PLAN_DEPENDENCIES_MAX) {
			g->error->line = line;
			snprintf(g->error->text, sizeof(g->error->text),
				 "more than %d dependencies between buffers",
				 ADV_PLAN_DEPENDENCIES_MAX);
			return false;
		}
		d = &g->out->dependency[g->out->dependencies++];
		*d = (struct adv_plan_dependency){.from = from, .to = to};
		*slot = g->out->dependencies;
	}
	add_example(&g->out->dependency[*slot - 1], src, dst, line);
	return true;
}

static bool list_dependencies(struct graph *g)
{
	const struct adv_plan_deadlock *o = g->out;
	uint32_t sum = 0;

	g->first = calloc((size_t)g->vertices + 2, sizeof(*g->first));
	g->leaving = calloc((size_t)o->dependencies + 1, sizeof(*g->leaving));
	g->removed = calloc((size_t)o->dependencies + 1, sizeof(*g->removed));
	g->colour = calloc((size_t)g->vertices + 1, sizeof(*g->colour));
	g->next = calloc((size_t)g->vertices + 1, sizeof(*g->next));
	g->path = calloc((size_t)g->vertices + 1, sizeof(*g->path));
	g->via = calloc((size_t)g->vertices + 1, sizeof(*g->via));
	if (!g->first || !g->leaving || !g->removed || !g->colour || !g->next || !g->path ||
	    !g->via)
		return out_of_memory(g);
	for (uint32_t i = 0; i < o->dependencies; i++)
		g->first[o->dependency[i].from + 1]++;
	for (uint32_t i = 0; i <= g->vertices; i++)
		sum = g->first[i] += sum;
	for (uint32_t i = 0; i < g->vertices; i++)
		g->next[i] = g->first[i];
	for (uint32_t i = 0; i < o->dependencies; i++)
		g->leaving[g->next[o->dependency[i].from]++] = i;
	return true;
}

/* ---- search ---- */

enum { NOT_SEEN, ON_PATH, DONE };

/* Searches depth first from `start` for a cycle without removed dependencies. Returns one of its
 * vertices, or NONE. */
static uint32_t search_from(struct graph *g, uint32_t start)
{
	uint32_t depth = 1;

	g->path[0] = start;
	g->colour[start] = ON_PATH;
	g->next[start] = g->first[start];
	while (depth) {
		uint32_t at = g->path[depth - 1], i, to;

		if (g->next[at] == g->first[at + 1]) {
			g->colour[at] = DONE;
			depth--;
			continue;
		}
		i = g->leaving[g->next[at]++];
		to = g->out->dependency[i].to;
		if (g->removed[i] || g->colour[to] == DONE)
			continue;
		if (g->colour[to] == ON_PATH)
			return to;
		g->colour[to] = ON_PATH;
		g->next[to] = g->first[to];
		g->path[depth++] = to;
	}
	return NONE;
}

/* Writes the shortest cycle through a vertex to cycle[] and returns its length. The vertex must be
 * on a cycle. */
static uint32_t shortest_through(struct graph *g, uint32_t vertex, uint32_t *cycle)
{
	uint32_t head = 0, tail = 0, length = 0, back = NONE;

	for (uint32_t i = 0; i < g->vertices; i++)
		g->via[i] = NONE;
	g->path[tail++] = vertex;
	for (; head < tail && back == NONE; head++) {
		uint32_t at = g->path[head];

		for (uint32_t k = g->first[at]; k < g->first[at + 1] && back == NONE; k++) {
			uint32_t i = g->leaving[k], to = g->out->dependency[i].to;

			if (g->removed[i])
				continue;
			if (to == vertex) {
				back = i;
			} else if (g->via[to] == NONE) {
				g->via[to] = i;
				g->path[tail++] = to;
			}
		}
	}
	/* This loop writes from the last dependency to the first. The order is reversed below. */
	for (uint32_t i = back; i != NONE;) {
		cycle[length++] = i;
		i = g->out->dependency[i].from == vertex ? NONE
							 : g->via[g->out->dependency[i].from];
	}
	for (uint32_t i = 0; i < length / 2; i++) {
		uint32_t other = cycle[i];

		cycle[i] = cycle[length - 1 - i];
		cycle[length - 1 - i] = other;
	}
	return length;
}

/* Writes a cycle without removed dependencies to cycle[] and returns its length; 0: none. */
static uint32_t find_cycle(struct graph *g, uint32_t *cycle)
{
	memset(g->colour, NOT_SEEN, g->vertices);
	for (uint32_t i = 0; i < g->vertices; i++) {
		uint32_t found = g->colour[i] == NOT_SEEN ? search_from(g, i) : NONE;

		if (found != NONE)
			return shortest_through(g, found, cycle);
	}
	return 0;
}

/* Returns the dependency of the cycle that the fewest flows cause. */
static uint32_t cheapest_dependency(const struct graph *g, const uint32_t *cycle, uint32_t length)
{
	uint32_t best = cycle[0];

	for (uint32_t i = 1; i < length; i++)
		if (g->out->dependency[cycle[i]].flows < g->out->dependency[best].flows)
			best = cycle[i];
	return best;
}

/* Removes the cheapest dependency of a cycle, and repeats this until there is no cycle. */
static bool break_cycles(struct graph *g)
{
	struct adv_plan_deadlock *o = g->out;
	uint32_t *cycle = calloc((size_t)g->vertices + 1, sizeof(*cycle));
	uint32_t length = o->cycle_length;

	if (!cycle)
		return out_of_memory(g);
	memcpy(cycle, o->cycle, length * sizeof(*cycle));
	while (length && o->turns < ADV_PLAN_TURNS_MAX) {
		uint32_t i = cheapest_dependency(g, cycle, length);

		g->removed[i] = true;
		o->turn[o->turns++] = i;
		length = find_cycle(g, cycle);
	}
	o->turns_whole = length == 0;
	free(cycle);
	return true;
}

static bool accept_turn(void *arg, uint32_t in, uint32_t out, uint8_t priority, uint32_t src,
			uint32_t dst, uint32_t line)
{
	return true;
}

static void count_buffers(struct graph *g)
{
	memset(g->colour, 0, g->vertices);
	for (uint32_t i = 0; i < g->out->dependencies; i++) {
		g->colour[g->out->dependency[i].from] = 1;
		g->colour[g->out->dependency[i].to] = 1;
	}
	for (uint32_t i = 0; i < g->vertices; i++)
		g->out->buffers += g->colour[i];
}

static bool build_and_search(struct graph *g, const struct adv_plan_topology *t,
			     adv_plan_turns_fn *turns, const void *network)
{
	struct adv_plan_deadlock *o = g->out;
	struct adv_plan_error ignored;

	g->vertices = 16 * t->links;
	if (!turns(network, add_turn, g, g->error) || !list_dependencies(g))
		return false;
	count_buffers(g);
	o->cycle = calloc((size_t)g->vertices + 1, sizeof(*o->cycle));
	if (!o->cycle)
		return out_of_memory(g);
	o->turns_whole = true;
	o->cycle_length = find_cycle(g, o->cycle);
	if (o->cycle_length == 0)
		return true;
	o->updown_helps = adv_plan_turns(t, ADV_PLAN_UPDOWN, false, accept_turn, NULL, &ignored);
	return break_cycles(g);
}

/* Calls fn for each turn of a struct adv_plan_topology: an adv_plan_turns_fn. */
static bool topology_turns(const void *network, adv_plan_turn_fn *fn, void *arg,
			   struct adv_plan_error *error)
{
	const struct adv_plan_topology *t = network;

	return adv_plan_turns(t, t->routing, true, fn, arg, error);
}

struct adv_plan_deadlock *adv_plan_deadlock(const struct adv_plan_topology *t,
					    struct adv_plan_error *error)
{
	return adv_plan_deadlock_of(t, topology_turns, t, error);
}

struct adv_plan_deadlock *adv_plan_deadlock_of(const struct adv_plan_topology *t,
					       adv_plan_turns_fn *turns, const void *network,
					       struct adv_plan_error *error)
{
	struct adv_plan_deadlock *out = calloc(1, sizeof(*out));
	struct graph g = {.out = out, .error = error};

	if (!out) {
		out_of_memory(&g);
	} else if (!build_and_search(&g, t, turns, network)) {
		adv_plan_deadlock_free(out);
		out = NULL;
	}
	free(g.table);
	free(g.first);
	free(g.leaving);
	free(g.removed);
	free(g.colour);
	free(g.next);
	free(g.path);
	free(g.via);
	return out;
}

void adv_plan_deadlock_free(struct adv_plan_deadlock *d)
{
	if (!d)
		return;
	free(d->dependency);
	free(d->cycle);
	free(d);
}
