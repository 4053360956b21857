/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/gateway/sessions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "storage/gateway/peer.h"

void *adv_gateway_sessions_allocate(const struct adv_gateway *g, size_t size)
{
	if (g->session_count < g->session_max)
		return calloc(1, size);
	errno = EUSERS;
	return NULL;
}

struct adv_gateway_client *adv_gateway_sessions_add(struct adv_gateway *g, struct adv_list *link,
						    const char *peer)
{
	adv_list_add_tail(&g->sessions, link);
	g->session_count++;
	adv_gateway_report(&g->log, ADV_LOG_INFO, "%s connected", peer);
	return adv_gateway_client_get(&g->stats, peer);
}

void adv_gateway_sessions_remove(struct adv_gateway *g, struct adv_list *link,
				 struct adv_gateway_client *client, const char *peer)
{
	adv_list_del(link);
	g->session_count--;
	adv_gateway_client_put(&g->stats, client);
	adv_gateway_report(&g->log, ADV_LOG_INFO, "%s disconnected", peer);
}

void adv_gateway_sessions_refuse(struct adv_gateway *g, int fd, int err)
{
	char peer[ADV_GATEWAY_PEER];

	adv_gateway_name_socket(peer, sizeof(peer), fd);
	adv_gateway_report(&g->log, ADV_LOG_WARN, "%s: connection refused: %s", peer,
			   strerror(err));
	close(fd);
}
