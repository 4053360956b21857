/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the clients of a gateway have done, by their addresses: numbers that only grow. Addresses
 * are the clients' choice, so a bounded number is kept. It needs no header of verbs.
 */
#ifndef ADV_STORAGE_GATEWAY_STATS_H
#define ADV_STORAGE_GATEWAY_STATS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"

enum { ADV_GATEWAY_CLIENTS_MAX = 256, ADV_GATEWAY_ADDRESS = 72 };

struct adv_gateway_counts {
	uint64_t calls;			  /* that were answered; encrypted ones: that arrived */
	uint64_t errors;		  /* answers with an error, and refused calls */
	uint64_t call_bytes, reply_bytes; /* from and to the client */
	/* Calls whose time is known, and the sum of their times: from the call's arrival until the
	 * gateway has the server's reply. */
	uint64_t timed, ns;
};

struct adv_gateway_client {
	struct adv_list link;		   /* adv_gateway_stats.clients */
	char address[ADV_GATEWAY_ADDRESS]; /* without a port */
	unsigned connections;		   /* that it has now */
	struct adv_gateway_counts counts;
};

struct adv_gateway_stats {
	struct adv_list clients; /* those without connections in the order in which they left */
	unsigned count;
	struct adv_gateway_client others; /* the sum of those that are not kept */
};

void adv_gateway_stats_init(struct adv_gateway_stats *s);
void adv_gateway_stats_free(struct adv_gateway_stats *s);

/* Counts one more connection of the client that `peer` names (peer.h). Of too many clients the one
 * without a connection that left first joins the others; if all have one, or there is no memory,
 * the new client is one of the others. Valid until the put. */
struct adv_gateway_client *adv_gateway_client_get(struct adv_gateway_stats *s, const char *peer);
/* Counts one connection less. */
void adv_gateway_client_put(struct adv_gateway_stats *s, struct adv_gateway_client *c);

/* Adds b to *a. */
void adv_gateway_counts_add(struct adv_gateway_counts *a, const struct adv_gateway_counts *b);
/* Returns what all clients have done together: the server of the gateway has done it. */
struct adv_gateway_counts adv_gateway_stats_total(const struct adv_gateway_stats *s);

/* Counts an answered call without its bytes. begun: of adv_clock_ns(). */
static inline void adv_gateway_count_answer(struct adv_gateway_counts *c, uint64_t begun,
					    uint64_t now, bool failed)
{
	c->calls++;
	c->errors += failed;
	c->timed++;
	c->ns += now - begun;
}

#endif
