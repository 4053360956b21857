/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The sessions of a gateway come and go: each is that of a client, of either protocol and
 * direction. */
#ifndef ADV_STORAGE_GATEWAY_SESSIONS_H
#define ADV_STORAGE_GATEWAY_SESSIONS_H

#include "storage/gateway/gateway.h"

/* Returns zeros for a session. NULL: errno; EUSERS: there are as many as the gateway accepts. */
void *adv_gateway_sessions_allocate(const struct adv_gateway *g, size_t size);
/* Adds a session to the gateway's, and reports it. Returns what its client has done so far. */
struct adv_gateway_client *adv_gateway_sessions_add(struct adv_gateway *g, struct adv_list *link,
						    const char *peer);
void adv_gateway_sessions_remove(struct adv_gateway *g, struct adv_list *link,
				 struct adv_gateway_client *client, const char *peer);
/* Closes the socket of a client that gets no session, and reports it. */
void adv_gateway_sessions_refuse(struct adv_gateway *g, int fd, int err);

#endif
