/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The statistics of running gateways. It needs no header of verbs. */
#ifndef ADV_STORAGE_GATEWAY_STAT_CLIENT_H
#define ADV_STORAGE_GATEWAY_STAT_CLIENT_H

#include "storage/gateway/stats.h"
#include "storage/kit/stat.h"

/* The first list has the server, the second one the clients with their connections. The counts are
 * those of struct adv_gateway_counts. */
extern const struct adv_kit_stat_kind adv_gateway_stat_kind;

/* What a row has done in a time. */
struct adv_gateway_rates {
	double calls;			/* a second */
	double call_bytes, reply_bytes; /* a second */
	double us;			/* of a call, in the mean; 0: no time is known */
	uint64_t errors;
};

/* last NULL: since the start, with `seconds` since then. */
struct adv_gateway_rates adv_gateway_stat_rates(const struct adv_kit_stat_row *now,
						const struct adv_kit_stat_row *last,
						double seconds);

#endif
