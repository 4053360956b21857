/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/ucma/bind.h"

#include <errno.h>

#include "runtime/ucma/address.h"
#include "runtime/ucma/stream.h"

/* As in the kernel's rdma_cm, which ignores net.ipv4.ip_unprivileged_port_start. */
#define PRIVILEGED_PORTS 1024
#define PORT_TRIES	 8

/* Returns 0 and the interface of the address, or an errno if no id can be bound to the address. */
static int check_local(struct adv_ucma *u, const struct adv_cm_addr *a, uint32_t *ifindex)
{
	bool link_local = adv_ucma_is_link_local(&a->ip);
	const struct adv_gid_entry *e;

	if (link_local && !a->scope_id)
		return EINVAL;
	/* An IPv4-mapped address in an IPv6 sockaddr is not supported: IPv6 routing does not apply
	 * to it. */
	if (a->family == AF_INET6 && adv_gid_is_ipv4(&a->ip))
		return EADDRNOTAVAIL;
	e = adv_ucma_find_gid(u, &a->ip, link_local ? a->scope_id : 0);
	if (e) {
		*ifindex = e->ifindex;
		return 0;
	}
	return adv_resolve_is_own(u->resolver, &a->ip, a->scope_id) ? ENODEV : EADDRNOTAVAIL;
}

/* Binds a TCP socket, and then the id to the same port: of two ids, only one gets a port, whatever
 * their transports. If the kernel chooses the port, it may have to choose again. */
static int bind_stream(struct adv_ucma_id *id, const struct adv_cm_addr *a)
{
	struct adv_cm_addr local;
	int error = EADDRINUSE;

	for (unsigned i = 0; i < PORT_TRIES && error == EADDRINUSE; i++) {
		local = *a;
		error = adv_ucma_stream_bind(id, &local);
		if (!error)
			error = adv_cm_bind(id->cm, &local, id->bind_flags);
		if (a->port)
			break;
	}
	return error;
}

int adv_ucma_bind_to(struct adv_ucma_client *c, struct adv_ucma_id *id, const struct adv_cm_addr *a)
{
	uint32_t ifindex = 0;
	int error = 0;

	if (id->state != ADV_UCMA_IDLE)
		return EINVAL;
	if (!adv_ucma_is_any(a))
		error = check_local(c->ucma, a, &ifindex);
	if (!error && a->port && a->port < PRIVILEGED_PORTS && c->session.peer.uid != 0)
		error = EACCES;
	if (!error)
		error = id->stream ? bind_stream(id, a) : adv_cm_bind(id->cm, a, id->bind_flags);
	if (error)
		return error;
	id->ifindex = ifindex;
	id->state = ADV_UCMA_BOUND;
	return 0;
}
