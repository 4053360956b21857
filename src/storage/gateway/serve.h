/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the subcommands share: a gateway listens, and runs until a signal. */
#ifndef ADV_STORAGE_GATEWAY_SERVE_H
#define ADV_STORAGE_GATEWAY_SERVE_H

#include "storage/gateway/gateway.h"
#include "storage/kit/address.h"

enum { ADV_GATEWAY_PATIENCE_MS = 30000 }; /* of its connections */

struct adv_gateway_service {
	const char *name; /* for messages */
	const struct adv_connections_ops *ops;
	/* A client's TCP connection: the descriptor belongs to it. NULL: clients use RDMA. */
	void (*accepted)(struct adv_gateway *g, struct adv_connections *c, int fd);
	/* Ends all sessions: the loop ends them. */
	void (*close_all)(struct adv_gateway *g);
};

/* Listens at an address for the server `to`, and forwards until a signal. The other members of `g`
 * are set. Returns the exit status. */
int adv_gateway_serve(struct adv_gateway *g, const struct adv_gateway_service *service,
		      const struct adv_kit_address *at, const struct adv_kit_address *to);

/* `refused` of a gateway's connections: reports it. user: the gateway. */
void adv_gateway_refused(void *user, struct rdma_cm_id *id, int err);
/* `changed` of a gateway's connections: reports it. If connections cannot be made again, the
 * gateway ends. user: the gateway. */
void adv_gateway_changed(void *user, enum adv_connections_change change, int err);

#endif
