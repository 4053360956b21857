/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Computes the use of cables, and finds the bottleneck of a run. */
#ifndef ADV_CLI_SIM_REPORT_BOTTLENECK_H
#define ADV_CLI_SIM_REPORT_BOTTLENECK_H

#include "cli/sim/report_record.h"

/* The bottleneck of a run is a switch and a priority. They have the largest product of two values:
 * the mean length of the longest output queue, and the time for which that queue's port was not
 * paused. The port is that of the longest queue. In a deadlock there is no bottleneck, since no
 * queue moves. */
struct adv_report_bottleneck {
	bool found;
	uint32_t sw;
	uint16_t port;
	uint8_t priority;
	uint32_t peer; /* the node at the other end of the cable */
	uint64_t peak; /* bytes */
	uint32_t busy; /* use of the cable in this direction, millionths of the run */
};
struct adv_report_bottleneck adv_report_find_bottleneck(const struct adv_sim *sim,
							const struct adv_record *record);

/* Returns the sending side of one end of a cable. */
const struct adv_egress *adv_report_egress(const struct adv_sim *sim, struct adv_link_end end);

/* Returns the part of the run for which a cable was in use in the direction from `end`, in
 * millionths. */
uint32_t adv_report_busy(const struct adv_sim *sim, struct adv_link_end end, uint32_t ps_per_byte);

/* Returns "h3" for a host, "s0" for a switch. */
#define ADV_NODE_TEXT 16
const char *adv_report_node(const struct adv_sim *sim, uint32_t node, char text[ADV_NODE_TEXT]);

#endif
