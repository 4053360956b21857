/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rdma_getaddrinfo(): getaddrinfo(3) in RDMA's structures. All fields are allocated one by one with
 * malloc(), as some programs make such structures themselves and let rdma_freeaddrinfo() free them.
 */
#include <errno.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/rdma_cma.h>

#include "rdmacm/export.h"

static struct sockaddr *copy_addr(const struct sockaddr *addr, socklen_t len)
{
	struct sockaddr *copy = malloc(len);

	if (copy)
		memcpy(copy, addr, len);
	return copy;
}

/* QP type and port space: what the hints say, each from the other where only one is given. */
static void set_type(struct rdma_addrinfo *rai, const struct rdma_addrinfo *hints)
{
	bool datagram = hints && (hints->ai_qp_type == IBV_QPT_UD ||
				  (!hints->ai_qp_type && hints->ai_port_space == RDMA_PS_UDP));

	rai->ai_qp_type = hints && hints->ai_qp_type ? hints->ai_qp_type
			  : datagram		     ? IBV_QPT_UD
						     : IBV_QPT_RC;
	rai->ai_port_space = hints && hints->ai_port_space ? hints->ai_port_space
			     : datagram			   ? RDMA_PS_UDP
							   : RDMA_PS_TCP;
}

/* NULL at no memory. */
static struct rdma_addrinfo *convert(const struct addrinfo *ai, const struct rdma_addrinfo *hints)
{
	struct rdma_addrinfo *rai = calloc(1, sizeof(*rai));
	struct sockaddr *addr = copy_addr(ai->ai_addr, ai->ai_addrlen);
	bool ok = rai && addr;

	if (!ok) {
		free(addr);
		free(rai);
		return NULL;
	}
	rai->ai_flags = hints ? hints->ai_flags : 0;
	rai->ai_family = ai->ai_family;
	set_type(rai, hints);
	if (rai->ai_flags & RAI_PASSIVE) {
		rai->ai_src_addr = addr;
		rai->ai_src_len = ai->ai_addrlen;
		return rai;
	}
	rai->ai_dst_addr = addr;
	rai->ai_dst_len = ai->ai_addrlen;
	if (hints && hints->ai_src_len > 0) {
		rai->ai_src_addr = copy_addr(hints->ai_src_addr, hints->ai_src_len);
		rai->ai_src_len = hints->ai_src_len;
		ok = rai->ai_src_addr != NULL;
	}
	if (!ok) {
		rdma_freeaddrinfo(rai);
		return NULL;
	}
	return rai;
}

/* Only addresses given: they are the result. */
static int from_hints(const struct rdma_addrinfo *hints, struct rdma_addrinfo **res)
{
	struct addrinfo ai = {0};

	if (!hints ||
	    (hints->ai_flags & RAI_PASSIVE ? hints->ai_src_len : hints->ai_dst_len) == 0) {
		errno = EINVAL;
		return -1;
	}
	ai.ai_addr = hints->ai_flags & RAI_PASSIVE ? hints->ai_src_addr : hints->ai_dst_addr;
	ai.ai_addrlen = hints->ai_flags & RAI_PASSIVE ? hints->ai_src_len : hints->ai_dst_len;
	ai.ai_family = ai.ai_addr->sa_family;
	*res = convert(&ai, hints);
	if (*res)
		return 0;
	errno = ENOMEM;
	return -1;
}

ADV_EXPORT int rdma_getaddrinfo(const char *node, const char *service,
				const struct rdma_addrinfo *hints, struct rdma_addrinfo **res)
{
	struct addrinfo want = {.ai_socktype = SOCK_STREAM};
	struct rdma_addrinfo **end = res;
	struct addrinfo *found;
	int ret;

	*res = NULL;
	if (!node && !service)
		return from_hints(hints, res);
	if (hints) {
		want.ai_flags = (hints->ai_flags & RAI_PASSIVE ? AI_PASSIVE : 0) |
				(hints->ai_flags & RAI_NUMERICHOST ? AI_NUMERICHOST : 0);
		want.ai_family = hints->ai_flags & RAI_FAMILY || hints->ai_family ? hints->ai_family
										  : AF_UNSPEC;
	}
	ret = getaddrinfo(node, service, &want, &found);
	if (ret)
		return ret;
	for (struct addrinfo *ai = found; ai; ai = ai->ai_next) {
		*end = convert(ai, hints);
		if (!*end) {
			ret = EAI_MEMORY;
			break;
		}
		end = &(*end)->ai_next;
	}
	freeaddrinfo(found);
	if (ret) {
		rdma_freeaddrinfo(*res);
		*res = NULL;
	}
	return ret;
}

ADV_EXPORT void rdma_freeaddrinfo(struct rdma_addrinfo *res)
{
	while (res) {
		struct rdma_addrinfo *next = res->ai_next;

		free(res->ai_src_addr);
		free(res->ai_dst_addr);
		free(res->ai_src_canonname);
		free(res->ai_dst_canonname);
		free(res->ai_route);
		free(res->ai_connect);
		free(res);
		res = next;
	}
}
