/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/gateway/peer.h"

#include <netdb.h>
#include <stdio.h>
#include <string.h>

static void name_address(char *name, size_t size, const struct sockaddr *sa, socklen_t len)
{
	char host[NI_MAXHOST], port[NI_MAXSERV];

	if (getnameinfo(sa, len, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		strcpy(name, "client unknown");
	else
		snprintf(name, size, "client %s port %s", host, port);
}

void adv_gateway_name_socket(char *name, size_t size, int fd)
{
	struct sockaddr_storage sa;
	socklen_t len = sizeof(sa);

	if (getpeername(fd, (struct sockaddr *)&sa, &len) != 0)
		strcpy(name, "client unknown");
	else
		name_address(name, size, (struct sockaddr *)&sa, len);
}

void adv_gateway_name_id(char *name, size_t size, struct rdma_cm_id *id)
{
	const struct sockaddr *sa = rdma_get_peer_addr(id);

	name_address(name, size, sa,
		     sa->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					       : sizeof(struct sockaddr_in));
}
