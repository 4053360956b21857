/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Computes the paths of packets through a topology, and from them the turns in switches. The
 * function is pure and frees its memory before it returns. */
#ifndef ADV_FABRIC_PLAN_ROUTING_H
#define ADV_FABRIC_PLAN_ROUTING_H

#include "fabric/plan/topology.h"

/* Handles a turn: packets from src to dst may arrive at a switch by directed link `in` and leave
 * by `out` to another switch. `line` is the line of their route, or 0. Returns false to stop. */
typedef bool adv_plan_turn_fn(void *arg, uint32_t in, uint32_t out, uint8_t priority, uint32_t src,
			      uint32_t dst, uint32_t line);

/*
 * Calls fn for each turn that some packet may take in a switch; for some turns more than once.
 *
 * - A flow with a route follows it. If `routes` is false, it is routed like a flow without a route.
 * - Other flows take every shortest path (ECMP). With ADV_PLAN_UPDOWN they take every shortest one
 *   of the paths that first go up and then down (Autonet; the usual routing of a Clos network).
 * - Up is towards a switch of higher level. Among equal levels, it is towards the switch that was
 *   named first. With a root, a switch nearer to the root is higher. Otherwise levels are those
 *   given, or else distances from the nearest host.
 * - Hosts do not forward.
 *
 * If packets of several sources arrive by the same link for the same destination, fn is called once
 * with one of the sources. False: fn returned false, or *error has the reason (a flow without a
 * path; no memory).
 */
bool adv_plan_turns(const struct adv_plan_topology *t, enum adv_plan_routing routing, bool routes,
		    adv_plan_turn_fn *fn, void *arg, struct adv_plan_error *error);

#endif
