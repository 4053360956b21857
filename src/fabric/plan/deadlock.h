/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Computes whether PFC can deadlock a routed topology. A deadlock needs a cycle in the graph of
 * buffer dependencies. The functions are pure. They allocate only their result. */
#ifndef ADV_FABRIC_PLAN_DEADLOCK_H
#define ADV_FABRIC_PLAN_DEADLOCK_H

#include "fabric/plan/routing.h"

#define ADV_PLAN_EXAMPLES	  3
#define ADV_PLAN_DEPENDENCIES_MAX 2000000
#define ADV_PLAN_TURNS_MAX	  256 /* reported turns */

/* A buffer is the storage of a switch for one priority of one incoming directed link. Its number
 * is 8 link + priority. Packets of these flows go from buffer `from` to buffer `to`. While `to`
 * pauses its sender, `from` cannot drain: `from` depends on `to`. */
struct adv_plan_dependency {
	uint32_t from;
	uint32_t to;
	uint32_t flows; /* number of destinations and routes */
	struct {
		uint32_t src, dst, line;
	} example[ADV_PLAN_EXAMPLES]; /* some of these flows */
};

struct adv_plan_deadlock {
	uint32_t buffers;      /* buffers at either end of a dependency */
	uint32_t dependencies; /* edges of the graph */
	struct adv_plan_dependency *dependency;
	uint32_t cycle_length; /* 0: there is no cycle, so no deadlock */
	uint32_t *cycle;       /* dependencies; each ends at the buffer where the next one begins */
	/* Turns to avoid: without these dependencies the graph has no cycle. If `turns_whole` is
	 * false, there are more than ADV_PLAN_TURNS_MAX. */
	uint32_t turns;
	uint32_t turn[ADV_PLAN_TURNS_MAX];
	bool turns_whole;
	bool updown_helps; /* all flows have up-down paths; such paths form no cycle */
};

/*
 * Finds a cycle of buffers, each of which waits for the next one. Such a cycle is necessary for a
 * PFC deadlock, but not sufficient: traffic must fill all its buffers at once (Hu et al.,
 * "Deadlocks in Datacenter Networks", HotNets 2016; for the theorem: Dally and Seitz, IEEE
 * Transactions on Computers C-36(5), 1987). The analysis assumes that hosts drain all packets that
 * they receive. A host that pauses for ever also stops a network without a cycle.
 *
 * The cycle is a shortest one through one of its buffers. NULL: *error has the reason
 * (adv_plan_turns() failed, more than ADV_PLAN_DEPENDENCIES_MAX, no memory). The caller frees the
 * result.
 */
struct adv_plan_deadlock *adv_plan_deadlock(const struct adv_plan_topology *t,
					    struct adv_plan_error *error);

/* Calls fn for each turn, like adv_plan_turns(). `network` is that of adv_plan_deadlock_of(). */
typedef bool adv_plan_turns_fn(const void *network, adv_plan_turn_fn *fn, void *arg,
			       struct adv_plan_error *error);

/* As adv_plan_deadlock(), but `turns` supplies the turns. t has the names and the cables. Its
 * flows are used only for `updown_helps`. */
struct adv_plan_deadlock *adv_plan_deadlock_of(const struct adv_plan_topology *t,
					       adv_plan_turns_fn *turns, const void *network,
					       struct adv_plan_error *error);

void adv_plan_deadlock_free(struct adv_plan_deadlock *d);

#endif
