/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Derives the settings of real switches and NICs (Data Center Bridging: PFC, ETS, the map of
 * DSCPs; ECN and headroom) from a scenario, so that a network can be set up as it was simulated. */
#ifndef ADV_FABRIC_PLAN_DCB_H
#define ADV_FABRIC_PLAN_DCB_H

#include "fabric/scenario/scenario.h"

/* Kinds of ports of a switch that a plan lists. */
#define ADV_PLAN_DCB_PORTS 32

/* Ports of switches with the same cable. */
struct adv_plan_dcb_port {
	struct adv_cable cable;
	bool to_host;	   /* a host is at the other end; otherwise a switch */
	uint32_t count;	   /* ports of the network */
	uint64_t headroom; /* of each lossless priority, bytes */
};

struct adv_plan_dcb {
	uint8_t priority_of_dscp[64];
	uint8_t lossless;		   /* priorities with PFC, a bit each */
	uint8_t strict;			   /* priorities of strict priority */
	uint8_t marked;			   /* priorities with ECN marks */
	uint8_t used;			   /* priorities that a DSCP has */
	uint8_t percent[ADV_PRIORITIES];   /* ETS share; 0: strict, or not used. The sum is 100 */
	bool rounded;			   /* the shares of the scenario are not whole percent */
	int8_t alpha_log2[ADV_PRIORITIES]; /* dynamic threshold: the power of 2 nearest to alpha */
	unsigned ports;
	struct adv_plan_dcb_port port[ADV_PLAN_DCB_PORTS];
	bool more_ports; /* there are more kinds */
};

/* Makes the plan of a scenario. `t` and `f` were made by adv_scenario_build(). Returns NULL, or one
 * line with the reason why there is no plan: no switch, or ETS shares that cannot be whole percent.
 * *plan is then unspecified. */
const char *adv_plan_dcb(const struct adv_scenario *s, const struct adv_topology *t,
			 const struct adv_fabric *f, struct adv_plan_dcb *plan);

#endif
