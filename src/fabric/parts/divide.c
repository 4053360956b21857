/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which part each host and switch belongs to. Nodes between which an event takes no time must be in
 * one part: a host and the node at its cable, nodes at a cable that is shorter than the lookahead,
 * and hosts of which one waits for what arrives at the other. These make groups. Groups with hosts
 * are laid out in the order of their hosts, since neighbours have near numbers; then each other
 * group goes where most of its cables lead.
 */
#include <stdlib.h>
#include <string.h>

#include "fabric/parts/part.h"

/* Work that a host causes, in ports of a switch. */
#define HOST_WEIGHT 2

struct division {
	const struct adv_fabric *f;
	uint32_t nodes;
	uint32_t parts;
	uint32_t *parent; /* union-find over nodes, then computations by their job */
	uint64_t *weight; /* by root */
	uint8_t *part;	  /* by root */
	uint32_t *queue;  /* nodes whose neighbours are to be assigned */
	uint32_t queued;
	uint64_t load[ADV_PARTS_MAX];
	uint64_t total;
};

/* ---- groups ---- */

static uint32_t root_of(struct division *d, uint32_t i)
{
	while (d->parent[i] != i) {
		d->parent[i] = d->parent[d->parent[i]];
		i = d->parent[i];
	}
	return i;
}

static void unite_groups(struct division *d, uint32_t a, uint32_t b)
{
	d->parent[root_of(d, a)] = root_of(d, b);
}

/* Returns the member of the union-find in which a job acts. */
static uint32_t place_of(const struct division *d, uint32_t job)
{
	uint32_t c = d->f->job[job].state.connection;

	return c == ADV_FABRIC_COMPUTATION ? d->nodes + job : d->f->peer[c].config.initiator;
}

/* Returns the member in which the jobs act that wait for a job. */
static uint32_t place_of_waiters(const struct division *d, uint32_t job)
{
	uint32_t c = d->f->job[job].state.connection;

	if (c == ADV_FABRIC_COMPUTATION || d->f->peer[c].config.operation == ADV_FABRIC_READ)
		return place_of(d, job);
	return d->f->peer[c].config.target;
}

static void unite_nodes(struct division *d, uint64_t lookahead)
{
	const struct adv_fabric *f = d->f;
	uint32_t hosts = f->config.topology->hosts;

	for (uint32_t i = 0; i < d->nodes + f->jobs; i++)
		d->parent[i] = i;
	for (uint32_t i = 0; i < f->wires; i++) {
		const struct adv_wire *w = &f->wire[i];

		if (w->from.node < hosts || w->delay < lookahead)
			unite_groups(d, w->from.node, w->to.node);
	}
	for (uint32_t j = 0; j < f->jobs; j++)
		for (uint32_t e = f->job[j].waiters; e != ADV_NO_JOB; e = f->edge[e].next)
			unite_groups(d, place_of_waiters(d, j), place_of(d, f->edge[e].job));
}

/* ---- parts ---- */

static void assign_group(struct division *d, uint32_t node, uint8_t part)
{
	uint32_t root = root_of(d, node);

	d->part[root] = part;
	d->load[part] += d->weight[root];
}

static uint8_t part_of(struct division *d, uint32_t node)
{
	return d->part[root_of(d, node)];
}

static void weigh_groups(struct division *d)
{
	const struct adv_topology *t = d->f->config.topology;

	memset(d->weight, 0, d->nodes * sizeof(*d->weight));
	memset(d->load, 0, sizeof(d->load));
	d->total = 0;
	/* A group's root may be a computation; a node then stands for it. */
	for (uint32_t n = 0; n < d->nodes; n++) {
		uint32_t root = root_of(d, n);

		if (root >= d->nodes) {
			d->parent[root] = n;
			d->parent[n] = n;
		}
	}
	for (uint32_t n = 0; n < d->nodes; n++) {
		uint64_t w = n < t->hosts ? HOST_WEIGHT : t->ports[n];

		d->weight[root_of(d, n)] += w;
		d->total += w;
	}
	memset(d->part, ADV_NO_PART, d->nodes);
}

/* Assigns the groups that have hosts: to each part its share of their weight. */
static void assign_hosts(struct division *d)
{
	uint32_t hosts = d->f->config.topology->hosts;
	uint64_t all = 0, laid = 0;

	for (uint32_t h = 0; h < hosts; h++) {
		uint32_t root = root_of(d, h);

		if (d->part[root] == ADV_NO_PART)
			all += d->weight[root];
		d->part[root] = 0;
	}
	memset(d->part, ADV_NO_PART, d->nodes);
	for (uint32_t h = 0; h < hosts; h++) {
		uint32_t root = root_of(d, h);

		if (d->part[root] != ADV_NO_PART)
			continue;
		/* The part in which the middle of the group comes to lie. */
		assign_group(d, h,
			     (uint8_t)((2 * laid + d->weight[root]) * d->parts / (2 * all + 1)));
		laid += d->weight[root];
	}
}

/* Calls use() for the node at the other end of each cable of a node. */
static void each_neighbour(struct division *d, uint32_t node,
			   void (*use)(struct division *d, uint32_t neighbour, void *user),
			   void *user)
{
	const struct adv_fabric *f = d->f;
	uint32_t hosts = f->config.topology->hosts, s = node - hosts;

	if (node < hosts) {
		use(d, f->wire[f->host[node].wire].to.node, user);
		return;
	}
	for (uint32_t i = f->first_port[s]; i < f->first_port[s + 1]; i++)
		use(d, f->wire[f->port_wire[i]].to.node, user);
}

static void count_cable(struct division *d, uint32_t neighbour, void *cables)
{
	uint8_t part = part_of(d, neighbour);

	if (part != ADV_NO_PART)
		((uint32_t *)cables)[part]++;
}

/* Returns the part to which most cables of a node lead, among those that have room. */
static uint8_t nearest_part(struct division *d, uint32_t node)
{
	uint32_t cables[ADV_PARTS_MAX] = {0}, best = 0;
	uint64_t share = d->total / d->parts + d->total / d->parts / 50;
	uint64_t weight = d->weight[root_of(d, node)];

	each_neighbour(d, node, count_cable, cables);
	for (uint32_t p = 1; p < d->parts; p++) {
		bool room = d->load[p] + weight <= share, had = d->load[best] + weight <= share;

		if (room != had				? room
		    : cables[p] != cables[best] && room ? cables[p] > cables[best]
							: d->load[p] < d->load[best])
			best = p;
	}
	return (uint8_t)best;
}

static void assign_neighbour(struct division *d, uint32_t node, void *user)
{
	(void)user;
	if (part_of(d, node) != ADV_NO_PART)
		return;
	assign_group(d, node, nearest_part(d, node));
	d->queue[d->queued++] = node;
}

static void assign_others(struct division *d)
{
	d->queued = 0;
	for (uint32_t n = 0; n < d->nodes; n++)
		if (part_of(d, n) != ADV_NO_PART)
			d->queue[d->queued++] = n;
	for (uint32_t i = 0; i < d->queued; i++)
		each_neighbour(d, d->queue[i], assign_neighbour, NULL);
	/* Switches without any host in reach. */
	for (uint32_t n = 0; n < d->nodes; n++)
		if (part_of(d, n) == ADV_NO_PART)
			assign_group(d, n, 0);
}

/* Divides with this lookahead. Returns true if all parts have about the same weight. */
static bool divide_with(struct division *d, uint64_t lookahead)
{
	unite_nodes(d, lookahead);
	weigh_groups(d);
	assign_hosts(d);
	assign_others(d);
	for (uint32_t p = 0; p < d->parts; p++)
		if (d->load[p] > d->total / d->parts * 5 / 4 ||
		    d->load[p] < d->total / d->parts / 2)
			return false;
	return true;
}

/* ---- the result ---- */

/* Numbers the parts that have nodes. Returns their number. */
static uint32_t number_parts(struct division *d, uint8_t *of_node)
{
	uint8_t number[ADV_PARTS_MAX];
	uint32_t count = 0;

	for (uint32_t p = 0; p < d->parts; p++)
		number[p] = d->load[p] ? (uint8_t)count++ : ADV_NO_PART;
	for (uint32_t n = 0; n < d->nodes; n++)
		of_node[n] = number[part_of(d, n)];
	return count;
}

/* A computation that no transfer waits for, and that waits for none, is in the first part. */
static void set_jobs(struct division *d, const uint8_t *of_node)
{
	for (uint32_t j = 0; j < d->f->jobs; j++) {
		uint32_t root = root_of(d, place_of(d, j));

		d->f->job[j].part = root < d->nodes ? of_node[root] : 0;
	}
}

static uint64_t lookahead_of(const struct adv_fabric *f, const uint8_t *of_node)
{
	uint64_t least = ADV_FAILED_AFTER;

	for (uint32_t i = 0; i < f->wires; i++) {
		const struct adv_wire *w = &f->wire[i];

		if (of_node[w->from.node] != of_node[w->to.node] && w->delay < least)
			least = w->delay;
	}
	return least;
}

uint32_t adv_part_divide(struct adv_fabric *f, uint32_t count, uint8_t *of_node,
			 uint64_t *lookahead)
{
	const struct adv_topology *t = f->config.topology;
	struct division d = {.f = f, .nodes = t->hosts + t->switches, .parts = count};
	uint64_t try = ADV_FAILED_AFTER;
	uint32_t result = 0;

	d.parent = malloc((d.nodes + (size_t)f->jobs) * sizeof(*d.parent));
	d.weight = malloc(d.nodes * sizeof(*d.weight));
	d.part = malloc(d.nodes);
	d.queue = malloc(d.nodes * sizeof(*d.queue));
	if (d.parent && d.weight && d.part && d.queue) {
		/* The longest lookahead that permits equal parts, or the least. */
		while (!divide_with(&d, try) && try > ADV_LOOKAHEAD_MIN)
			try = try / 4 > ADV_LOOKAHEAD_MIN ? try / 4 : ADV_LOOKAHEAD_MIN;
		result = number_parts(&d, of_node);
		set_jobs(&d, of_node);
		*lookahead = lookahead_of(f, of_node);
	}
	free(d.parent);
	free(d.weight);
	free(d.part);
	free(d.queue);
	return result;
}
