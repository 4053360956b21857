/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared functions of the files that build a scenario's network, fabric and flows. */
#ifndef ADV_FABRIC_SCENARIO_BUILDER_H
#define ADV_FABRIC_SCENARIO_BUILDER_H

#include "base/rng.h"
#include "base/units.h"
#include "fabric/network/calendar.h"
#include "fabric/scenario/scenario.h"

struct adv_scenario_builder {
	struct adv_scenario *s;
	struct adv_topology *t;
	struct adv_fabric *f;
	struct adv_rng rng;
	uint32_t *permutation;
	uint32_t *pair;		  /* by initiator and target: 1 + the connection, or 0 */
	unsigned __int128 memory; /* estimated memory of the run, bytes */
	char *why;
};

/* Writes the reason of an error and the line (0: none) to b->why. Returns false. */
bool adv_scenario_fail(struct adv_scenario_builder *b, uint64_t line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Returns the line of a value. Its section must be one that occurs once. 0: the value is not in
 * the file. */
uint64_t adv_scenario_line(const struct adv_scenario_builder *b, const uint64_t *value);

/* Adds `bytes` to the estimated memory. False, with a reason: the sum exceeds the available
 * memory. */
bool adv_scenario_afford(struct adv_scenario_builder *b, uint64_t line, unsigned __int128 bytes);

/* Makes a cable of a speed (b/s) and a length (mm). False, with a reason: the speed is not
 * supported. */
bool adv_scenario_cable(struct adv_scenario_builder *b, uint64_t line, uint64_t speed,
			uint64_t length, struct adv_cable *cable);

/* network.c: builds b->t. These functions return false with a reason. */
bool adv_scenario_build_network(struct adv_scenario_builder *b);
/* switches.c: builds b->f, without events. */
bool adv_scenario_build_fabric(struct adv_scenario_builder *b);
/* recovery.c: sets in *c the window of the hosts and how they recover from losses.
 */
bool adv_scenario_recovery(struct adv_scenario_builder *b, struct adv_fabric_config *c);
/* congestion.c: sets the algorithm and its parameters in *cc, and how *c scales them. */
bool adv_scenario_congestion(struct adv_scenario_builder *b, struct adv_fabric_config *c,
			     struct adv_cc_config *cc);
/* flows.c: adds connections and transfers. */
bool adv_scenario_build_flows(struct adv_scenario_builder *b);

/* sizes.c */

/* Returns the size of the next transfer, bytes; UINT64_MAX: it never ends. */
uint64_t adv_scenario_size(struct adv_scenario_builder *b, const struct adv_scenario_flow *flow);
uint64_t adv_scenario_mean_size(const struct adv_scenario_flow *flow);
/* Return the values of keys, or their defaults. */
uint64_t adv_scenario_bytes(const struct adv_scenario_flow *flow);
uint64_t adv_scenario_count(const struct adv_scenario_flow *flow);
/* Returns `mean`, or if `random`, a value of the exponential distribution with that mean. */
uint64_t adv_scenario_draw(struct adv_scenario_builder *b, uint64_t mean, bool random);

/* connect.c; false or -1 with a reason */

/* Adds the memory of so many connections, and of so many transfers in all, to the estimate. */
bool adv_scenario_afford_flow(struct adv_scenario_builder *b, const struct adv_scenario_flow *flow,
			      uint64_t line, uint64_t connections, uint64_t transfers);
/* Adds a connection with the flow's parameters. Returns its number. */
int64_t adv_scenario_connect(struct adv_scenario_builder *b, const struct adv_scenario_flow *flow,
			     uint64_t line, uint32_t from, uint32_t to);
/* Forgets the connections of adv_scenario_pair(). Call it first in each flow. */
bool adv_scenario_pairs(struct adv_scenario_builder *b, uint64_t line);
/* Returns the connection between two hosts, which is made at the first call for them. */
int64_t adv_scenario_pair(struct adv_scenario_builder *b, const struct adv_scenario_flow *flow,
			  uint64_t line, uint32_t from, uint32_t to);
/* Counts a transfer or computation that was just added to the flow; -1: it was not, see errno. */
bool adv_scenario_note(struct adv_scenario_builder *b, struct adv_scenario_flow *flow,
		       uint64_t line, int64_t job);

/* goal.c: reads a GOAL file, of adv_scenario_trace(); adds its operations to `flow`. */
bool adv_scenario_goal(struct adv_scenario *s, const char *name, const char *text, size_t len,
		       char *why);
bool adv_scenario_build_goal(struct adv_scenario_builder *b, struct adv_scenario_flow *flow);
/* trace.c: adds the transfers of the trace to `flow`. */
bool adv_scenario_build_trace(struct adv_scenario_builder *b, struct adv_scenario_flow *flow);
/* load.c: transfers to random hosts. */
bool adv_scenario_load(struct adv_scenario_builder *b, struct adv_scenario_flow *flow,
		       uint64_t line, uint32_t first, uint32_t last);
/* collectives.c: collective operations of hosts first to last. */
bool adv_scenario_collective(struct adv_scenario_builder *b, struct adv_scenario_flow *flow,
			     uint64_t line, uint32_t first, uint32_t last);

#endif
