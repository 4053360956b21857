/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Computes the paths of a topology's packets, and so the turns that they take in switches. Pure;
 * allocates only while it runs. */
#ifndef ADV_FABRIC_PLAN_ROUTING_H
#define ADV_FABRIC_PLAN_ROUTING_H

#include "fabric/plan_topology.h"

/* Packets of src to dst may arrive by directed link `in` and leave by `out` to a switch. `line`
 * is the line of their route, or 0. Return false to stop. */
typedef bool adv_plan_turn_fn(void *arg, uint32_t in, uint32_t out, uint8_t priority, uint32_t src,
			      uint32_t dst, uint32_t line);

/*
 * Calls fn for each turn in a switch that some packet may take, for some turns more than once.
 * Routes are followed as given. Other flows take every shortest path (ECMP); with ADV_PLAN_UPDOWN
 * every shortest one of the paths that go up first and then down (Autonet; the usual routing of a
 * Clos network). Up is towards a switch of higher level; among equal levels, towards the one that
 * was named first. With a root, a nearer switch is higher; otherwise levels are those given, or
 * else distances from the nearest host. Hosts do not forward. If `routes` is false, flows with a
 * route are routed like the others.
 *
 * Sources of one destination whose packets arrive by the same link are one call, with one of them
 * as src. False: fn returned false, or *error has the reason (a flow without a path; no memory).
 */
bool adv_plan_turns(const struct adv_plan_topology *t, enum adv_plan_routing routing, bool routes,
		    adv_plan_turn_fn *fn, void *arg, struct adv_plan_error *error);

#endif
