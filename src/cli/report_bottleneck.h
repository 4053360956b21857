/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How busy cables were, and where traffic waited. */
#ifndef ADV_CLI_REPORT_BOTTLENECK_H
#define ADV_CLI_REPORT_BOTTLENECK_H

#include "cli/report_record.h"

/* The switch port that holds up most traffic: its output queue was the longest, times the share of
 * the run in which it was not paused. */
struct adv_report_bottleneck {
	bool found;
	uint32_t sw;
	uint16_t port;
	uint8_t priority;
	uint32_t peer;	 /* the node at the other end of the cable */
	uint64_t peak;	 /* bytes */
	uint32_t busy;	 /* of the cable, this way, over the run; millionths */
	uint64_t paused; /* ps */
};
struct adv_report_bottleneck adv_report_find_bottleneck(const struct adv_sim *sim,
							const struct adv_record *record);

/* The share of the run, in millionths, that the end's way of the cable was in use. */
uint32_t adv_report_busy(const struct adv_sim *sim, struct adv_link_end end, uint32_t ps_per_byte);

/* "h3", "s0" */
#define ADV_NODE_TEXT 16
const char *adv_report_node(const struct adv_sim *sim, uint32_t node, char text[ADV_NODE_TEXT]);

#endif
