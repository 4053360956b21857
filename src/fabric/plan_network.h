/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A network of the simulator as the planners see it: its routes are looked at, nothing is sent. */
#ifndef ADV_FABRIC_PLAN_NETWORK_H
#define ADV_FABRIC_PLAN_NETWORK_H

#include "fabric/plan_deadlock.h"
#include "fabric/topology.h"

/*
 * Whether PFC can deadlock a simulated network: as adv_plan_deadlock(), for packets of every host
 * to every other, which take all ports that the switches' tables have for them; where a table has
 * none, they end. *plan is the network by names, hosts "h0" and on, switches "s0" and on, their
 * ports by number; it is the caller's to free, as the result is. NULL, and *plan too: *error says
 * why.
 */
struct adv_plan_deadlock *adv_plan_network(const struct adv_topology *t,
					   struct adv_plan_topology **plan,
					   struct adv_plan_error *error);

#endif
