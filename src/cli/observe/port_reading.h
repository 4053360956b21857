/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Readings of the port's counters, for rates. */
#ifndef ADV_CLI_OBSERVE_PORT_READING_H
#define ADV_CLI_OBSERVE_PORT_READING_H

#include <stdint.h>

#include "runtime/control/control.h"
#include "runtime/control/counters.h"

struct adv_port_reading {
	uint64_t at; /* when the counters were read, ns of CLOCK_MONOTONIC */
	struct adv_counters counters;
};

/* Reads the counters, and when they were read: adverbd may answer late on a busy machine. If that
 * takes more than a millisecond, reads again, and returns the quickest of some readings. Blocks. 0
 * or errno of adv_control_counters(). */
int adv_port_reading_take(struct adv_control *c, struct adv_port_reading *r);

#endif
