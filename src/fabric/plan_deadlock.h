/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whether PFC can deadlock a routed topology: the buffer dependency graph and its cycles. Pure;
 * allocates the result only.
 */
#ifndef ADV_FABRIC_PLAN_DEADLOCK_H
#define ADV_FABRIC_PLAN_DEADLOCK_H

#include "fabric/plan_routing.h"

#define ADV_PLAN_EXAMPLES	  3
#define ADV_PLAN_DEPENDENCIES_MAX 2000000
#define ADV_PLAN_TURNS_MAX	  256 /* that are said to be forbidden, at most */

/*
 * A buffer is what a switch stores of a priority that came in by a directed link: its number is
 * 8 link + priority. A dependency: `from` does not drain where `to` has paused its sender, because
 * packets of these flows go from the one to the other.
 */
struct adv_plan_dependency {
	uint32_t from;
	uint32_t to;
	uint32_t flows; /* calls of adv_plan_turns(): destinations and routes */
	struct {
		uint32_t src, dst, line;
	} example[ADV_PLAN_EXAMPLES]; /* the first of them */
};

struct adv_plan_deadlock {
	uint32_t buffers;      /* that some packet uses with another behind it */
	uint32_t dependencies; /* edges of the graph */
	struct adv_plan_dependency *dependency;
	uint32_t cycle_length; /* 0: there is no cycle, and so no deadlock */
	uint32_t *cycle;       /* dependencies, each of which ends where the next one begins */
	/* Dependencies without which there is no cycle: turns to route around. Where `turns_whole`
	 * is false, there are more of them than ADV_PLAN_TURNS_MAX. */
	uint32_t turns;
	uint32_t turn[ADV_PLAN_TURNS_MAX];
	bool turns_whole;
	bool updown_helps; /* all flows have up-down paths (which have no cycle) */
};

/*
 * A cycle of buffers, each of which waits for the next, is necessary for a PFC deadlock, and not
 * sufficient: traffic must fill all of them at once (Hu et al., "Deadlocks in Datacenter Networks",
 * HotNets 2016; Dally and Seitz, IEEE Transactions on Computers C-36(5), 1987, for the theorem).
 * Hosts are taken to drain what comes: a host that pauses for ever stops a network without a cycle.
 *
 * The cycle is a shortest one through one of its buffers. NULL: *error says why (adv_plan_turns();
 * more than ADV_PLAN_DEPENDENCIES_MAX; memory). The caller frees the result.
 */
struct adv_plan_deadlock *adv_plan_deadlock(const struct adv_plan_topology *t,
					    struct adv_plan_error *error);

/* Calls fn for each turn, as adv_plan_turns() does; `network` is what adv_plan_deadlock_of() was
 * given. */
typedef bool adv_plan_turns_fn(const void *network, adv_plan_turn_fn *fn, void *arg,
			       struct adv_plan_error *error);

/* The same for turns that somebody else knows; t has the names and cables, and the flows of which
 * is seen whether up-down routing would do. */
struct adv_plan_deadlock *adv_plan_deadlock_of(const struct adv_plan_topology *t,
					       adv_plan_turns_fn *turns, const void *network,
					       struct adv_plan_error *error);

void adv_plan_deadlock_free(struct adv_plan_deadlock *d);

#endif
