/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Collective operations of the hosts `from`, as transfers that wait for the arrival of others.
 *
 * A rank is the number of a host among them. `ready` of a rank is what its next step waits for: the
 * arrival of a piece, a computation, or NONE at the beginning.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/scenario/builder.h"

#define TRANSFERS_MAX 100000000u
#define NONE	      UINT32_MAX

struct collective {
	struct adv_scenario_builder *b;
	struct adv_scenario_flow *flow;
	uint64_t line;
	uint32_t first; /* host of rank 0 */
	uint32_t ranks;
	uint32_t *ready; /* by rank */
	uint32_t *next;	 /* by rank: what arrives in the step that is being made */
};

/* ---- steps ---- */

/* Adds a computation, which waits for `after` (those that are not NONE). Returns it; NONE with a
 * reason in b->why: error. */
static uint32_t add_computation(struct collective *c, uint64_t time, const uint32_t *after,
				uint32_t count)
{
	int64_t n = adv_fabric_compute_after(c->b->f, time, after, count);

	return adv_scenario_note(c->b, c->flow, c->line, n) ? (uint32_t)n : NONE;
}

/* Adds a transfer between ranks after[0..count), at the start of the flow if count is 0. Returns
 * it; NONE: error. */
static uint32_t send_after(struct collective *c, uint32_t from, uint32_t to, uint64_t bytes,
			   const uint32_t *after, uint32_t count)
{
	int64_t n, pair = adv_scenario_pair(c->b, c->flow, c->line, c->first + from, c->first + to);

	if (pair < 0)
		return NONE;
	n = count ? adv_fabric_transfer_after(c->b->f, (uint32_t)pair, bytes ? bytes : 1, after,
					      count)
		  : adv_fabric_transfer(c->b->f, (uint32_t)pair, bytes ? bytes : 1, c->flow->start);
	return adv_scenario_note(c->b, c->flow, c->line, n) ? (uint32_t)n : NONE;
}

/* Adds a transfer when `from` is ready. reduce: what has arrived is added up first. */
static uint32_t send_step(struct collective *c, uint32_t from, uint32_t to, uint64_t bytes,
			  bool reduce)
{
	uint32_t after = c->ready[from];

	if (reduce && after != NONE && c->flow->reduce) {
		after = add_computation(c, c->flow->reduce, &after, 1);
		if (after == NONE)
			return NONE;
	}
	return send_after(c, from, to, bytes, &after, after != NONE);
}

/* The pieces of the step are what the next step waits for. */
static void end_step(struct collective *c)
{
	uint32_t *ready = c->ready;

	c->ready = c->next;
	c->next = ready;
}

/* ---- rings ---- */

/* A set of ranks in a ring: first, first + stride, ... */
struct ring {
	uint32_t first;
	uint32_t stride;
	uint32_t ranks;
};

static uint64_t divide_up(uint64_t n, uint64_t by)
{
	return (n + by - 1) / by;
}

/* Adds a step of a ring: each rank sends a piece to the next one. */
static bool ring_step(struct collective *c, struct ring r, uint64_t piece, bool reduce)
{
	for (uint32_t i = 0; i < r.ranks; i++) {
		uint32_t from = r.first + i * r.stride;
		uint32_t to = r.first + (i + 1) % r.ranks * r.stride;

		c->next[to] = send_step(c, from, to, piece, reduce);
		if (c->next[to] == NONE)
			return false;
	}
	return true;
}

/* Adds `steps` steps in each of `rings` rings; ring k begins at rank k x apart. */
static bool rings_steps(struct collective *c, struct ring r, uint32_t rings, uint32_t apart,
			uint32_t steps, uint64_t bytes, bool reduce)
{
	for (uint32_t s = 0; s < steps; s++) {
		for (uint32_t k = 0; k < rings; k++) {
			struct ring one = {k * apart, r.stride, r.ranks};

			if (!ring_step(c, one, divide_up(bytes, r.ranks), reduce && s > 0))
				return false;
		}
		end_step(c);
	}
	return true;
}

/* Reduce-scatter and all-gather in a ring (Patarasuk and Yuan, 2009): each of N ranks sends N - 1
 * pieces to be summed, and N - 1 pieces of the sums. The first of the latter is a sum too. */
static bool ring_allreduce(struct collective *c)
{
	struct ring all = {0, 1, c->ranks};
	uint64_t bytes = adv_scenario_bytes(c->flow);

	if (!rings_steps(c, all, 1, 0, c->ranks - 1, bytes, true))
		return false;
	if (!ring_step(c, all, divide_up(bytes, c->ranks), true))
		return false;
	end_step(c);
	return rings_steps(c, all, 1, 0, c->ranks - 2, bytes, false);
}

/* In groups of `group` ranks: reduce-scatter in each group, all-reduce of the pieces of the same
 * place in all groups, and all-gather in each group. */
static bool hierarchical_allreduce(struct collective *c)
{
	uint32_t g = (uint32_t)c->flow->group, groups = c->ranks / g;
	uint64_t bytes = adv_scenario_bytes(c->flow), share = divide_up(bytes, g);
	struct ring within = {0, 1, g}, across = {0, g, groups};

	return rings_steps(c, within, groups, g, g - 1, bytes, true) &&
	       rings_steps(c, across, g, 1, 2 * (groups - 1), share, true) &&
	       rings_steps(c, within, groups, g, g - 1, bytes, false);
}

/* ---- halving and doubling, trees ---- */

/* Halves the vector with a partner that is ever nearer, then doubles it with one that is ever
 * farther (Thakur et al., 2005). */
static bool halving_doubling(struct collective *c)
{
	uint64_t bytes = adv_scenario_bytes(c->flow);
	uint32_t steps = 31u - (uint32_t)__builtin_clz(c->ranks);

	for (uint32_t s = 0; s < 2 * steps; s++) {
		bool halving = s < steps;
		uint32_t level = halving ? s : 2 * steps - 1 - s,
			 distance = c->ranks >> (level + 1);

		for (uint32_t r = 0; r < c->ranks; r++) {
			uint32_t to = r ^ distance;

			c->next[to] = send_step(c, r, to, divide_up(bytes, 2ull << level),
						s > 0 && s <= steps);
			if (c->next[to] == NONE)
				return false;
		}
		end_step(c);
	}
	return true;
}

/* Adds the way of a piece up a binary tree, in which rank r has the children 2 r + 1 and 2 r + 2,
 * and down again. up[r] and down[r]: the arrival of the piece of r at its parent, and of the sum at
 * r. */
static bool tree_piece(struct collective *c, uint64_t bytes, uint32_t *up, uint32_t *down)
{
	for (uint32_t r = c->ranks; r-- > 0;) {
		uint32_t after[3], count = 0;

		if (c->ready[r] != NONE)
			after[count++] = c->ready[r];
		for (uint32_t child = 2 * r + 1; child <= 2 * r + 2 && child < c->ranks; child++)
			after[count++] = up[child];
		if (2 * r + 1 < c->ranks && (c->flow->reduce || r == 0)) {
			after[0] = add_computation(c, c->flow->reduce, after, count);
			count = 1;
			if (after[0] == NONE)
				return false;
		}
		if (r == 0) {
			down[0] = after[0];
			continue;
		}
		up[r] = send_after(c, r, (r - 1) / 2, bytes, after, count);
		if (up[r] == NONE)
			return false;
	}
	for (uint32_t r = 1; r < c->ranks; r++) {
		down[r] = send_after(c, (r - 1) / 2, r, bytes, &down[(r - 1) / 2], 1);
		if (down[r] == NONE)
			return false;
	}
	return true;
}

/* All-reduce in a binary tree: the pieces follow each other up and down. */
static bool tree_allreduce(struct collective *c)
{
	uint32_t *up = calloc(c->ranks, sizeof(*up));
	uint64_t pieces = c->flow->pieces;
	bool good = up || adv_scenario_fail(c->b, c->line, "no memory");

	for (uint64_t p = 0; good && p < pieces; p++)
		good = tree_piece(c, divide_up(adv_scenario_bytes(c->flow), pieces), up, c->next);
	free(up);
	if (good)
		end_step(c); /* a rank has all when it has the last piece */
	return good;
}

/* ---- all to all ---- */

/* Each rank sends a different piece to each other rank, beginning with the next one. */
static bool all_to_all(struct collective *c)
{
	uint64_t piece = divide_up(adv_scenario_bytes(c->flow), c->ranks);
	uint32_t *arrivals = calloc((size_t)c->ranks * c->ranks, sizeof(*arrivals));
	bool good = arrivals || adv_scenario_fail(c->b, c->line, "no memory");

	for (uint32_t d = 1; good && d < c->ranks; d++)
		for (uint32_t r = 0; good && r < c->ranks; r++) {
			uint32_t to = (r + d) % c->ranks, n = send_step(c, r, to, piece, false);

			arrivals[(size_t)to * c->ranks + d - 1] = n;
			good = n != NONE;
		}
	/* A rank is ready when all pieces have arrived. */
	for (uint32_t r = 0; good && r < c->ranks; r++) {
		c->next[r] = add_computation(c, 0, arrivals + (size_t)r * c->ranks, c->ranks - 1);
		good = c->next[r] != NONE;
	}
	free(arrivals);
	if (good)
		end_step(c);
	return good;
}

/* ---- pipelines ---- */

/* Adds what a stage does with one micro-batch: it computes when the batch has arrived and the stage
 * has done the one before, then sends it on. *arrived: in and out. */
static bool add_stage(struct collective *c, uint32_t from, int64_t to, uint32_t *arrived)
{
	uint32_t after[2], count = 0, done;

	if (c->ready[from] != NONE)
		after[count++] = c->ready[from];
	if (*arrived != NONE)
		after[count++] = *arrived;
	done = add_computation(c, c->flow->compute, after, count);
	if (done == NONE)
		return false;
	c->ready[from] = done;
	*arrived = done;
	if (to >= 0)
		*arrived = send_after(c, from, (uint32_t)to, adv_scenario_bytes(c->flow), &done, 1);
	return *arrived != NONE;
}

/* `pieces` micro-batches go through all stages and back (GPipe, Huang et al., 2019). */
static bool add_pipeline(struct collective *c)
{
	for (uint64_t m = 0; m < c->flow->pieces; m++) {
		uint32_t arrived = NONE;

		for (uint32_t r = 0; r < c->ranks; r++)
			if (!add_stage(c, r, r + 1 < c->ranks ? (int64_t)r + 1 : -1, &arrived))
				return false;
	}
	for (uint64_t m = 0; m < c->flow->pieces; m++) {
		uint32_t arrived = NONE;

		for (uint32_t r = c->ranks; r-- > 0;)
			if (!add_stage(c, r, (int64_t)r - 1, &arrived))
				return false;
	}
	return true;
}

/* Lets all ranks wait until the start of the flow. */
static bool begin_at(struct collective *c, uint64_t start)
{
	uint32_t wait = add_computation(c, start, NULL, 0);

	for (uint32_t r = 0; r < c->ranks; r++)
		c->ready[r] = wait;
	return wait != NONE;
}

/* ---- all ---- */

/* Before a repetition each rank computes. */
static bool compute_between(struct collective *c)
{
	if (c->flow->compute == 0 || c->flow->pattern == ADV_SCENARIO_PIPELINE)
		return true;
	for (uint32_t r = 0; r < c->ranks; r++) {
		c->ready[r] =
			add_computation(c, c->flow->compute, &c->ready[r], c->ready[r] != NONE);
		if (c->ready[r] == NONE)
			return false;
	}
	return true;
}

static bool add_once(struct collective *c)
{
	struct ring all = {0, 1, c->ranks};
	uint64_t bytes = adv_scenario_bytes(c->flow);

	switch ((enum adv_scenario_pattern)c->flow->pattern) {
	case ADV_SCENARIO_ALLGATHER:
		return rings_steps(c, all, 1, 0, c->ranks - 1, bytes, false);
	case ADV_SCENARIO_REDUCE_SCATTER:
		return rings_steps(c, all, 1, 0, c->ranks - 1, bytes, true);
	case ADV_SCENARIO_ALLTOALL:
		return all_to_all(c);
	case ADV_SCENARIO_PIPELINE:
		return add_pipeline(c);
	default:
		break;
	}
	switch ((enum adv_scenario_algorithm)c->flow->algorithm) {
	case ADV_SCENARIO_TREE:
		return tree_allreduce(c);
	case ADV_SCENARIO_HALVING_DOUBLING:
		return halving_doubling(c);
	case ADV_SCENARIO_HIERARCHICAL:
		return hierarchical_allreduce(c);
	default:
		return ring_allreduce(c);
	}
}

/* Estimates the number of transfers and computations of a repetition, rather too high. */
static uint64_t jobs_of(const struct collective *c)
{
	uint64_t n = c->ranks;

	if (c->flow->pattern == ADV_SCENARIO_PIPELINE || c->flow->algorithm == ADV_SCENARIO_TREE)
		return 4 * n * c->flow->pieces + n;
	return (c->flow->reduce ? 4 : 2) * n * n + n;
}

static bool check_keys(struct collective *c)
{
	const struct adv_scenario_flow *f = c->flow;
	bool tree = f->pattern == ADV_SCENARIO_ALLREDUCE && f->algorithm == ADV_SCENARIO_TREE;

	if (c->ranks < 2 || f->to != UINT64_MAX)
		return adv_scenario_fail(c->b, c->line,
					 "[flow] pattern of a collective needs `from` of two hosts "
					 "or more, and no `to`");
	if (f->endless || f->sizes || f->interval || f->arrivals || f->load)
		return adv_scenario_fail(c->b, c->line,
					 "[flow] pattern of a collective has no `endless`, "
					 "`sizes`, `interval`, `arrivals` and `load`");
	if (f->algorithm && f->pattern != ADV_SCENARIO_ALLREDUCE)
		return adv_scenario_fail(c->b, c->line,
					 "[flow] algorithm is for pattern = allreduce");
	if (f->pieces > 1 && !tree && f->pattern != ADV_SCENARIO_PIPELINE)
		return adv_scenario_fail(c->b, c->line,
					 "[flow] pieces = %" PRIu64
					 ": is for algorithm = tree and pattern = pipeline",
					 f->pieces);
	if (f->algorithm == ADV_SCENARIO_HALVING_DOUBLING && (c->ranks & (c->ranks - 1)))
		return adv_scenario_fail(c->b, c->line,
					 "[flow] algorithm = halving-doubling: expected a power of "
					 "two of hosts, `from` has %u",
					 c->ranks);
	if (f->algorithm == ADV_SCENARIO_HIERARCHICAL &&
	    (f->group < 2 || c->ranks % f->group || c->ranks / f->group < 2))
		return adv_scenario_fail(c->b, c->line,
					 "[flow] group = %" PRIu64
					 ": algorithm = hierarchical needs two groups or more, of "
					 "two hosts or more; `from` has %u",
					 f->group, c->ranks);
	return true;
}

bool adv_scenario_collective(struct adv_scenario_builder *b, struct adv_scenario_flow *flow,
			     uint64_t line, uint32_t first, uint32_t last)
{
	struct collective c = {b, flow, line, first, last - first + 1, NULL, NULL};
	bool good = check_keys(&c);
	uint64_t jobs = jobs_of(&c), count = adv_scenario_count(flow);

	if (good && (jobs > TRANSFERS_MAX || count > TRANSFERS_MAX / jobs))
		good = adv_scenario_fail(b, line, "[flow] more than %u transfers", TRANSFERS_MAX);
	if (!good || !adv_scenario_pairs(b, line) ||
	    !adv_scenario_afford_flow(b, flow, line, 0, jobs * count))
		return false;
	c.ready = malloc(c.ranks * sizeof(*c.ready));
	c.next = malloc(c.ranks * sizeof(*c.next));
	good = (c.ready && c.next) || adv_scenario_fail(b, line, "no memory");
	if (good)
		memset(c.ready, 0xff, c.ranks * sizeof(*c.ready));
	if (good && flow->pattern == ADV_SCENARIO_PIPELINE && flow->start)
		good = begin_at(&c, flow->start);
	for (uint64_t i = 0; good && i < count; i++)
		good = (i == 0 || compute_between(&c)) && add_once(&c);
	free(c.ready);
	free(c.next);
	return good;
}
