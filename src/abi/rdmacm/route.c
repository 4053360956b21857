/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "abi/rdmacm/route.h"

#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#define EXACTLY 2 /* path record selector: exactly the given value */

socklen_t adv_rdma_addr_len(const struct sockaddr *addr)
{
	if (!addr)
		return 0;
	switch (addr->sa_family) {
	case AF_INET:
		return sizeof(struct sockaddr_in);
	case AF_INET6:
		return sizeof(struct sockaddr_in6);
	default:
		return 0;
	}
}

int adv_rdma_addr_result(int err, const char *function, const void *object,
			 const struct sockaddr *addr)
{
	char host[NI_MAXHOST], port[NI_MAXSERV];

	if (!err || getnameinfo(addr, adv_rdma_addr_len(addr), host, sizeof(host), port,
				sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV))
		return adv_rdma_result(err, function, object);
	return adv_rdma_refuse(err, "%s(%p, %s port %s)", function, object, host, port);
}

static void set_addr(struct sockaddr_storage *to, const union adv_ucma_sockaddr *from)
{
	switch (from->family) {
	case AF_INET:
		memcpy(to, &from->in, sizeof(from->in));
		break;
	case AF_INET6:
		memcpy(to, &from->in6, sizeof(from->in6));
		break;
	default:
		break;
	}
}

/* Sets the only path, as a path record. */
static int set_path(struct rdma_cm_id *id, const struct adv_ucma_route *route)
{
	struct ibv_sa_path_rec *path = id->route.path_rec;

	if (!path)
		path = calloc(1, sizeof(*path));
	if (!path)
		return ENOMEM;
	memset(path, 0, sizeof(*path));
	memcpy(path->sgid.raw, route->sgid.raw, sizeof(path->sgid.raw));
	memcpy(path->dgid.raw, route->dgid.raw, sizeof(path->dgid.raw));
	path->flow_label = htobe32(route->flow_label);
	path->hop_limit = route->hop_limit;
	path->traffic_class = route->tclass;
	path->reversible = 1;
	path->numb_path = 1;
	path->pkey = htobe16(route->pkey);
	path->sl = route->sl;
	path->mtu_selector = EXACTLY;
	path->mtu = route->mtu;
	path->rate_selector = EXACTLY;
	path->rate = route->rate;
	path->packet_life_time_selector = EXACTLY;
	path->packet_life_time = route->packet_life_time;
	id->route.path_rec = path;
	id->route.num_paths = 1;
	return 0;
}

/* Returns the device that has the local address. NULL and errno. */
static struct adv_rdma_device *device_of(const struct adv_ucma_route *route)
{
	const union adv_ucma_sockaddr *local = &route->local;
	struct adv_gid address = route->sgid;
	union ibv_gid gid;

	if (local->family == AF_INET6)
		memcpy(address.raw, &local->in6.sin6_addr, sizeof(address.raw));
	else if (local->family == AF_INET)
		adv_gid_set_ipv4(&address, &local->in.sin_addr);
	memcpy(gid.raw, address.raw, sizeof(gid.raw));
	return adv_rdma_device(&gid, route->ifindex);
}

int adv_rdma_id_set_route(struct adv_rdma_id *id, const struct adv_ucma_route *route)
{
	static const struct adv_gid none;
	struct rdma_addr *addr = &id->id.route.addr;

	set_addr(&addr->src_storage, &route->local);
	set_addr(&addr->dst_storage, &route->remote);
	if (memcmp(&route->sgid, &none, sizeof(none)) == 0)
		return 0;
	memcpy(addr->addr.ibaddr.sgid.raw, route->sgid.raw, sizeof(route->sgid.raw));
	memcpy(addr->addr.ibaddr.dgid.raw, route->dgid.raw, sizeof(route->dgid.raw));
	addr->addr.ibaddr.pkey = htobe16(route->pkey);
	id->id.port_num = route->port_num;
	if (!id->device) {
		id->device = device_of(route);
		if (!id->device)
			return errno;
		id->id.verbs = id->device->verbs;
		id->id.pd = id->device->pd;
	}
	return route->has_path ? set_path(&id->id, route) : 0;
}
