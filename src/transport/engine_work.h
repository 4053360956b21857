/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What an engine counts besides struct adv_engine_counters. */
#ifndef ADV_TRANSPORT_ENGINE_WORK_H
#define ADV_TRANSPORT_ENGINE_WORK_H

#include <stdint.h>

#include "transport/latency.h"

/* What the program's requests amount to. */
struct adv_engine_work {
	uint64_t qps_created;
	uint64_t qps_destroyed;
	uint64_t recv_completed; /* receive requests that completed successfully */
	/* Send requests of all kinds that completed successfully, by the time from post to
	 * completion. */
	uint64_t send_latency[ADV_LATENCY_BUCKETS];
};

#endif
