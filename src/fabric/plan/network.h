/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Applies the deadlock planner to a network of the simulator. Only the routes are read; nothing is
 * sent. */
#ifndef ADV_FABRIC_PLAN_NETWORK_H
#define ADV_FABRIC_PLAN_NETWORK_H

#include "fabric/plan/deadlock.h"
#include "fabric/network/topology.h"

/*
 * As adv_plan_deadlock(), for a simulated network in which every host sends to every other host.
 * Packets take all ports that the switches' tables have for their destination. A packet without a
 * port is dropped. *plan is the network with names: hosts "h0"..., switches "s0"..., ports by
 * number. The caller frees *plan and the result. On failure returns NULL, *plan is NULL, and *error
 * has the reason.
 */
struct adv_plan_deadlock *adv_plan_network(const struct adv_topology *t,
					   struct adv_plan_topology **plan,
					   struct adv_plan_error *error);

#endif
