/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which way packets of a topology go, and so which turns they take in switches. Pure; allocates
 * only while it runs.
 */
#ifndef ADV_FABRIC_PLAN_ROUTING_H
#define ADV_FABRIC_PLAN_ROUTING_H

#include "fabric/plan_topology.h"

/*
 * Packets of src to dst may come in by directed link `in`, and go on by `out` to a switch. `line`
 * is that of their route, or 0. False: stop.
 */
typedef bool adv_plan_turn_fn(void *arg, uint32_t in, uint32_t out, uint8_t priority, uint32_t src,
			      uint32_t dst, uint32_t line);

/*
 * Calls fn for each turn in a switch that some packet may take, more than once for some. Routes are
 * followed as they are; other flows take every shortest path (ECMP), or with ADV_PLAN_UPDOWN every
 * shortest one of those that go up first and then down (Autonet; a Clos network's usual routing).
 * Up is towards a switch of higher level; of equal ones, to that which was named first. With a
 * root, nearer to it is higher; else levels are those given, or else distances from the nearest
 * host. Hosts pass nothing on. Where `routes` is false, those flows are routed as the others are.
 *
 * Sources of one destination whose packets come in by the same link are one call, with the name of
 * one of them. False: fn has said so, or *error says why (a flow that has no way; memory).
 */
bool adv_plan_turns(const struct adv_plan_topology *t, enum adv_plan_routing routing, bool routes,
		    adv_plan_turn_fn *fn, void *arg, struct adv_plan_error *error);

#endif
