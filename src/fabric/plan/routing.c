/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "fabric/plan/routing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAR	 UINT32_MAX
#define FARTHEST (1u << 20) /* greater than any distance */

/* The state of routing. A packet at a node is in phase 0 as long as it may go up. After its first
 * step down it is in phase 1. Without up-down routing it is always in phase 0. */
struct router {
	const struct adv_plan_topology *t;
	enum adv_plan_routing routing;
	bool routes;
	adv_plan_turn_fn *fn;
	void *arg;
	struct adv_plan_error *error;
	uint32_t *first;    /* by node: index of its links in `leaving` */
	uint32_t *leaving;  /* directed links that are up */
	uint64_t *height;   /* by node: a step to a node of greater height goes up */
	uint32_t *distance; /* by 2 node + phase: links to the destination, or FAR */
	uint32_t *queue;    /* elements are 2 node + phase */
	uint32_t *source;   /* by directed link: a host whose packets use it, or FAR */
	uint32_t *flow;	    /* by node: the last flow to it, or FAR */
	uint32_t *earlier;  /* by flow: the previous flow to the same node, or FAR */
	bool *is_source;    /* by node; set by set_sources() */
};

static bool report_no_path(struct router *r, uint32_t line, uint32_t src, uint32_t dst)
{
	r->error->line = line;
	snprintf(r->error->text, sizeof(r->error->text), "no %s from %s to %s%s",
		 r->routing == ADV_PLAN_UPDOWN ? "up-down path" : "path", r->t->node[src].name,
		 r->t->node[dst].name,
		 r->routing == ADV_PLAN_UPDOWN ? ": other levels, or 'root = SWITCH', may give one"
					       : "");
	return false;
}

/* Returns the phase after link d, or FAR: the link may not be taken in this phase. */
static uint32_t phase_after(const struct router *r, uint32_t d, uint32_t phase)
{
	if (r->routing != ADV_PLAN_UPDOWN)
		return 0;
	if (r->height[adv_plan_to(r->t, d)] > r->height[adv_plan_from(r->t, d)])
		return phase == 0 ? 0 : FAR;
	return 1;
}

/* ---- independent of the destination ---- */

static void list_links(struct router *r)
{
	const struct adv_plan_topology *t = r->t;
	uint32_t sum = 0;

	for (uint32_t d = 0; d < 2 * t->links; d++)
		r->first[adv_plan_from(t, d) + 1] += !t->link[d / 2].down;
	for (uint32_t i = 0; i <= t->nodes; i++)
		sum = r->first[i] += sum;
	/* Each node's part is filled from its end, so that first[node] is its beginning then. */
	for (uint32_t d = 2 * t->links; d-- > 0;)
		if (!t->link[d / 2].down)
			r->leaving[--r->first[adv_plan_from(t, d) + 1]] = d;
	for (uint32_t i = 0; i < t->nodes; i++)
		r->first[i] = r->first[i + 1];
	r->first[t->nodes] = sum;
}

/* Sets each node's distance from the nearest node whose distance is 0, over links that are up.
 * Before the call, all other distances are FAR. */
static void spread_distances(struct router *r, uint32_t *distance)
{
	uint32_t head = 0, tail = 0;

	for (uint32_t i = 0; i < r->t->nodes; i++)
		if (distance[i] == 0)
			r->queue[tail++] = i;
	for (; head < tail; head++) {
		uint32_t at = r->queue[head];

		if (!r->t->node[at].is_switch && distance[at] != 0)
			continue;
		for (uint32_t k = r->first[at]; k < r->first[at + 1]; k++) {
			uint32_t to = adv_plan_to(r->t, r->leaving[k]);

			if (distance[to] != FAR)
				continue;
			distance[to] = distance[at] + 1;
			r->queue[tail++] = to;
		}
	}
}

static void set_heights(struct router *r)
{
	const struct adv_plan_topology *t = r->t;

	for (uint32_t i = 0; i < t->nodes; i++)
		r->distance[i] =
			(t->root == ADV_PLAN_NONE ? !t->node[i].is_switch : t->root == i) ? 0 : FAR;
	spread_distances(r, r->distance);
	for (uint32_t i = 0; i < t->nodes; i++) {
		uint64_t level = r->distance[i] < FARTHEST ? r->distance[i] : FARTHEST;

		if (t->root != ADV_PLAN_NONE)
			level = FARTHEST - level;
		else if (t->node[i].has_level)
			level = t->node[i].level;
		/* hosts are below all switches */
		level = t->node[i].is_switch ? level + 1 : 0;
		r->height[i] = level << 32 | (FAR - i);
	}
}

static void list_flows(struct router *r)
{
	for (uint32_t i = 0; i < r->t->nodes; i++)
		r->flow[i] = FAR;
	for (uint32_t i = 0; i < r->t->flows; i++) {
		r->earlier[i] = r->flow[r->t->flow[i].dst];
		r->flow[r->t->flow[i].dst] = i;
	}
}

/* ---- routes ---- */

/* Reports the turns from links a-b to links b-c. */
static bool turn_at(struct router *r, const struct adv_plan_flow *f, uint32_t a, uint32_t b,
		    uint32_t c)
{
	const struct adv_plan_topology *t = r->t;

	for (uint32_t i = r->first[b]; i < r->first[b + 1]; i++) {
		uint32_t in = r->leaving[i] ^ 1;

		if (adv_plan_from(t, in) != a)
			continue;
		for (uint32_t k = r->first[b]; k < r->first[b + 1]; k++)
			if (adv_plan_to(t, r->leaving[k]) == c &&
			    !r->fn(r->arg, in, r->leaving[k], f->priority, f->src, f->dst, f->line))
				return false;
	}
	return true;
}

static bool follow_routes(struct router *r)
{
	for (uint32_t i = 0; i < r->t->flows; i++) {
		const struct adv_plan_flow *f = &r->t->flow[i];
		const uint32_t *hop;

		if (f->hops == 0)
			continue;
		hop = r->t->hop + f->first_hop;
		/* The last turn is not reported: it leads to a host, which drains. */
		for (uint32_t k = 0; k + 3 < f->hops; k++)
			if (!turn_at(r, f, hop[k], hop[k + 1], hop[k + 2]))
				return false;
	}
	return true;
}

/* ---- routed flows ---- */

static void set_distances(struct router *r, uint32_t dst)
{
	uint32_t head = 0, tail = 0;

	for (uint32_t i = 0; i < 2 * r->t->nodes; i++)
		r->distance[i] = FAR;
	for (uint32_t phase = 0; phase < 2; phase++) {
		r->distance[2 * dst + phase] = 0;
		r->queue[tail++] = 2 * dst + phase;
	}
	for (; head < tail; head++) {
		uint32_t at = r->queue[head];

		for (uint32_t k = r->first[at / 2]; k < r->first[at / 2 + 1]; k++) {
			uint32_t d = r->leaving[k] ^ 1, from = adv_plan_from(r->t, d);

			for (uint32_t phase = 0; phase < 2; phase++) {
				if (phase_after(r, d, phase) != at % 2 ||
				    r->distance[2 * from + phase] != FAR)
					continue;
				r->distance[2 * from + phase] = r->distance[at] + 1;
				if (r->t->node[from].is_switch)
					r->queue[tail++] = 2 * from + phase;
			}
		}
	}
}

/* True if link d is on a shortest path of packets that are in this phase at its beginning. */
static bool is_next(const struct router *r, uint32_t d, uint32_t phase)
{
	uint32_t after = phase_after(r, d, phase), here = 2 * adv_plan_from(r->t, d) + phase;

	return after != FAR && r->distance[here] != FAR &&
	       r->distance[2 * adv_plan_to(r->t, d) + after] + 1 == r->distance[here];
}

/* Enqueues link d if packets have not used it before. */
static void enqueue_link(struct router *r, uint32_t d, uint32_t src, uint32_t *tail)
{
	if (r->source[d] != FAR)
		return;
	r->source[d] = src;
	r->queue[(*tail)++] = d;
}

/* Follows packets of all sources to dst. */
static bool follow_flows(struct router *r, uint32_t dst, uint8_t priority)
{
	uint32_t head = 0, tail = 0;

	for (uint32_t d = 0; d < 2 * r->t->links; d++)
		r->source[d] = FAR;
	for (uint32_t i = 0; i < r->t->nodes; i++)
		for (uint32_t k = r->first[i]; r->is_source[i] && k < r->first[i + 1]; k++)
			if (is_next(r, r->leaving[k], 0))
				enqueue_link(r, r->leaving[k], i, &tail);
	for (; head < tail; head++) {
		uint32_t in = r->queue[head], at = adv_plan_to(r->t, in);
		uint32_t phase = phase_after(r, in, 0);

		if (!r->t->node[at].is_switch)
			continue;
		for (uint32_t k = r->first[at]; k < r->first[at + 1]; k++) {
			uint32_t out = r->leaving[k];

			if (!is_next(r, out, phase))
				continue;
			if (r->t->node[adv_plan_to(r->t, out)].is_switch &&
			    !r->fn(r->arg, in, out, priority, r->source[in], dst, 0))
				return false;
			enqueue_link(r, out, r->source[in], &tail);
		}
	}
	return true;
}

/* Marks the hosts that send to dst in this priority and whose flow has no route. False: none. */
static bool set_sources(struct router *r, uint32_t dst, uint8_t priority)
{
	bool all = r->t->all_pairs && priority == ADV_PLAN_PRIORITY, any = false;

	for (uint32_t i = 0; i < r->t->nodes; i++)
		r->is_source[i] = all && !r->t->node[i].is_switch && i != dst;
	for (uint32_t i = r->flow[dst]; i != FAR; i = r->earlier[i])
		if (r->t->flow[i].priority == priority)
			r->is_source[r->t->flow[i].src] = !r->t->flow[i].hops || !r->routes;
	for (uint32_t i = 0; i < r->t->nodes; i++)
		any |= r->is_source[i];
	return any;
}

/* Returns the line of the flow from src to dst; 0: none. */
static uint32_t line_of(const struct router *r, uint32_t src, uint32_t dst)
{
	for (uint32_t i = r->flow[dst]; i != FAR; i = r->earlier[i])
		if (r->t->flow[i].src == src)
			return r->t->flow[i].line;
	return 0;
}

static bool route_to(struct router *r, uint32_t dst)
{
	set_distances(r, dst);
	for (unsigned priority = 0; priority < 8; priority++) {
		if (!set_sources(r, dst, (uint8_t)priority))
			continue;
		for (uint32_t i = 0; i < r->t->nodes; i++)
			if (r->is_source[i] && r->distance[2 * i] == FAR)
				return report_no_path(r, line_of(r, i, dst), i, dst);
		if (!follow_flows(r, dst, (uint8_t)priority))
			return false;
	}
	return true;
}

static bool visit_all_turns(struct router *r)
{
	list_links(r);
	set_heights(r);
	list_flows(r);
	if (r->routes && !follow_routes(r))
		return false;
	for (uint32_t i = 0; i < r->t->nodes && r->routing != ADV_PLAN_ROUTING_NONE; i++)
		if (!r->t->node[i].is_switch && (r->t->all_pairs || r->flow[i] != FAR) &&
		    !route_to(r, i))
			return false;
	return true;
}

bool adv_plan_turns(const struct adv_plan_topology *t, enum adv_plan_routing routing, bool routes,
		    adv_plan_turn_fn *fn, void *arg, struct adv_plan_error *error)
{
	struct router r = {
		.t = t, .routing = routing, .routes = routes, .fn = fn, .arg = arg, .error = error};
	size_t links = 2 * (size_t)t->links + 1, nodes = (size_t)t->nodes + 1;
	bool good = false;

	r.first = calloc(nodes + 1, sizeof(*r.first));
	r.leaving = calloc(links, sizeof(*r.leaving));
	r.height = calloc(nodes, sizeof(*r.height));
	r.distance = calloc(2 * nodes, sizeof(*r.distance));
	r.queue = calloc(2 * nodes + links, sizeof(*r.queue));
	r.source = calloc(links, sizeof(*r.source));
	r.flow = calloc(nodes, sizeof(*r.flow));
	r.earlier = calloc((size_t)t->flows + 1, sizeof(*r.earlier));
	r.is_source = calloc(nodes, sizeof(*r.is_source));
	*error = (struct adv_plan_error){0, "out of memory"};
	if (r.first && r.leaving && r.height && r.distance && r.queue && r.source && r.flow &&
	    r.earlier && r.is_source)
		good = visit_all_turns(&r);
	free(r.first);
	free(r.leaving);
	free(r.height);
	free(r.distance);
	free(r.queue);
	free(r.source);
	free(r.flow);
	free(r.earlier);
	free(r.is_source);
	return good;
}
