/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb stat --latency: how long send requests took, from the post to the completion. */
#ifndef ADV_CLI_OBSERVE_STAT_LATENCY_H
#define ADV_CLI_OBSERVE_STAT_LATENCY_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/control/control.h"

struct adv_stat_latency {
	uint32_t pid;	   /* 0: all programs, also those that have ended */
	uint32_t qpn;	   /* only this queue pair; 0: all */
	uint64_t interval; /* ns; 0: print once, since the start */
	uint32_t count;	   /* reports; 0: no limit */
	bool json;
};

/* Prints the reports. If reading fails or there is no such process or queue pair, prints an error
 * and returns false. */
bool adv_stat_latency(struct adv_control *c, const struct adv_stat_latency *wanted);

/* Writes a duration with three digits and its unit: "1.23us". */
#define ADV_DURATION_TEXT 16
void adv_duration_text(char text[ADV_DURATION_TEXT], uint64_t ns);

#endif
