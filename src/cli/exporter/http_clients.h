/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The connections of the HTTP server, and which of them give way: libmicrohttpd's limits let a
 * client that sends a byte now and then keep its connection for ever. A connection that gives way
 * is shut down here; libmicrohttpd then finds it at its end, and closes it.
 */
#ifndef ADV_CLI_EXPORTER_HTTP_CLIENTS_H
#define ADV_CLI_EXPORTER_HTTP_CLIENTS_H

#include <stdint.h>
#include <sys/socket.h>

#include "base/list.h"

struct adv_http_clients {
	struct adv_list list; /* ordered by the begin of their waiting, the oldest first */
	unsigned count;
};

struct adv_http_client;

void adv_http_clients_init(struct adv_http_clients *all);

/*
 * Adds a connection. If there are too many, one gives way: the oldest of the address that has most,
 * or the oldest of all. An IPv6 address is one of its network of 64 bits. NULL: out of memory; the
 * connection has no limit in time.
 */
struct adv_http_client *adv_http_client_add(struct adv_http_clients *all, int fd,
					    const struct sockaddr *peer);
/* The connection has had an answer: its time begins again. */
void adv_http_client_answered(struct adv_http_clients *all, struct adv_http_client *c);
/* Frees c, which may be NULL, before its descriptor is closed. */
void adv_http_client_remove(struct adv_http_clients *all, struct adv_http_client *c);

/* Shuts the connections down that have waited too long for an answer. */
void adv_http_clients_expire(struct adv_http_clients *all);
/* Returns the time until then, ms; -1: there is no connection. */
int adv_http_clients_timeout(const struct adv_http_clients *all);

#endif
