/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The counters that a device reports to the daemon. The daemon adds them up for the machine. */
#ifndef ADV_RUNTIME_CONTROL_COUNTERS_H
#define ADV_RUNTIME_CONTROL_COUNTERS_H

#include "runtime/control/protocol.h"
#include "runtime/link/link.h"
#include "nic/engine/engine.h"

/* Has only 64-bit numbers: the daemon adds them up by position. */
struct adv_counters {
	struct adv_engine_counters engine;
	struct adv_link_counters link;
	struct adv_engine_work work;
};

#define ADV_COUNTERS_USED (sizeof(struct adv_counters) / sizeof(uint64_t))

_Static_assert(ADV_COUNTERS_USED <= ADV_COUNTERS, "room in a slot's page and in the messages");

#endif
