/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The control socket of a running gateway. It answers one request a connection: "stat", with a file
 * of the statistics (kit/stat_file.h). The peer has to be a process of the same user, or
 * root's. */
#ifndef ADV_STORAGE_GATEWAY_CONTROL_H
#define ADV_STORAGE_GATEWAY_CONTROL_H

#include "storage/gateway/stats.h"
#include "storage/kit/control_client.h"
#include "storage/kit/acceptor.h"

enum { ADV_GATEWAY_CONTROL_CLIENTS = 8 };

struct adv_gateway_control {
	struct adv_loop *loop;
	const struct adv_gateway_stats *stats;
	const char *server;	       /* its name in the statistics */
	struct adv_acceptor *acceptor; /* NULL: none */
	struct adv_gateway_control_client {
		struct adv_watch watch; /* fd -1: none */
		struct adv_gateway_control *control;
	} clients[ADV_GATEWAY_CONTROL_CLIENTS];
	unsigned next; /* the client that gives way to a new one */
};

/* Listens. False: `why`; the control socket then is absent, and closing it does nothing. */
bool adv_gateway_control_open(struct adv_gateway_control *c, struct adv_loop *l,
			      const struct adv_gateway_stats *stats, const char *server,
			      const char *name, char why[ADV_KIT_CONTROL_REPLY]);
void adv_gateway_control_close(struct adv_gateway_control *c);

#endif
