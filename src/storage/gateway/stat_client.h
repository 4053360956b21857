/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads the statistics of running gateways. It needs no header of verbs. */
#ifndef ADV_STORAGE_GATEWAY_STAT_CLIENT_H
#define ADV_STORAGE_GATEWAY_STAT_CLIENT_H

#include "storage/gateway/stats.h"
#include "storage/nvme_server/control_client.h"

/* The server of a gateway, or a client. */
struct adv_gateway_stat_row {
	char name[96]; /* printable */
	bool server;
	uint64_t connections; /* of a client */
	struct adv_gateway_counts counts;
};

struct adv_gateway_stat {
	char gateway[ADV_NVME_CONTROL_NAME + 1];
	uint64_t at_ns;			  /* of adv_clock_ns() */
	struct adv_gateway_stat_row *row; /* the server before the clients */
	size_t count;
};

/* Reads the statistics of the gateway with this control name. False: `why`, and *stat is empty. */
bool adv_gateway_stat_read(const char *gateway, struct adv_gateway_stat *stat,
			   char why[ADV_NVME_CONTROL_REPLY]);
void adv_gateway_stat_free(struct adv_gateway_stat *stat);

/* Returns the row of `last` that is the same server or client; NULL: none. */
const struct adv_gateway_stat_row *adv_gateway_stat_find(const struct adv_gateway_stat *last,
							 const struct adv_gateway_stat_row *row);

/* What a row has done in a time. */
struct adv_gateway_rates {
	double calls;			/* a second */
	double call_bytes, reply_bytes; /* a second */
	double us;			/* of a call, in the mean; 0: no time is known */
	uint64_t errors;
};

/* last NULL: since the start, with `seconds` since then. */
struct adv_gateway_rates adv_gateway_stat_rates(const struct adv_gateway_stat_row *now,
						const struct adv_gateway_stat_row *last,
						double seconds);

#endif
