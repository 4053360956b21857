/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rdma_getaddrinfo(): getaddrinfo(3) with RDMA's structures. Each member has its own malloc(),
 * because some programs make such structures themselves and pass them to rdma_freeaddrinfo(). */
#include "abi/rdmacm/addrinfo.h"

#include <errno.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/reason.h"
#include "base/export.h"
#include "abi/rdmacm/id_state.h"
#include "abi/rdmacm/newer.h"

#define KNOWN_FLAGS (RAI_PASSIVE | RAI_NUMERICHOST | RAI_NOROUTE | RAI_FAMILY | ADV_RAI_DNS)

/* 0 or ENOMEM. */
static int copy_addr(struct sockaddr **to, socklen_t *to_len, const struct sockaddr *addr,
		     socklen_t len)
{
	*to = malloc(len);
	if (!*to)
		return ENOMEM;
	memcpy(*to, addr, len);
	*to_len = len;
	return 0;
}

static bool is_datagram(const struct rdma_addrinfo *hints)
{
	return hints->ai_qp_type == IBV_QPT_UD ||
	       (!hints->ai_qp_type &&
		(hints->ai_port_space == RDMA_PS_UDP || hints->ai_port_space == RDMA_PS_IPOIB));
}

/* Returns 0, or an EAI_ code if the hints contradict each other. */
static int check_hints(const struct rdma_addrinfo *hints)
{
	bool datagram = is_datagram(hints);

	if (hints->ai_flags & ~KNOWN_FLAGS)
		return EAI_BADFLAGS;
	if (hints->ai_family != AF_UNSPEC && hints->ai_family != AF_INET &&
	    hints->ai_family != AF_INET6)
		return EAI_FAMILY;
	switch (hints->ai_qp_type) {
	case 0:
	case IBV_QPT_RC:
	case IBV_QPT_UC:
	case IBV_QPT_UD:
	case IBV_QPT_XRC_SEND:
	case IBV_QPT_XRC_RECV:
		break;
	default:
		return EAI_SOCKTYPE;
	}
	switch (hints->ai_port_space) {
	case 0:
	case RDMA_PS_IB:
		return 0;
	case RDMA_PS_TCP:
		return datagram ? EAI_SOCKTYPE : 0;
	case RDMA_PS_UDP:
	case RDMA_PS_IPOIB:
		return datagram ? 0 : EAI_SOCKTYPE;
	default:
		return EAI_SERVICE;
	}
}

/* Sets QP type and port space from the hints. If the hints give only one, it determines the other.
 */
static void set_type(struct rdma_addrinfo *rai, const struct rdma_addrinfo *hints)
{
	bool datagram = is_datagram(hints);

	rai->ai_qp_type = hints->ai_qp_type ? hints->ai_qp_type
			  : datagram	    ? IBV_QPT_UD
					    : IBV_QPT_RC;
	rai->ai_port_space = hints->ai_port_space ? hints->ai_port_space
			     : datagram		  ? RDMA_PS_UDP
						  : RDMA_PS_TCP;
}

/* Returns a new result with the values that the hints give for the other end. NULL: no memory. */
static struct rdma_addrinfo *result_new(const struct rdma_addrinfo *hints)
{
	struct rdma_addrinfo *rai = calloc(1, sizeof(*rai));

	if (!rai)
		return NULL;
	rai->ai_flags = hints->ai_flags & RAI_PASSIVE;
	set_type(rai, hints);
	if (rai->ai_flags & RAI_PASSIVE || hints->ai_src_len == 0)
		return rai;
	if (!copy_addr(&rai->ai_src_addr, &rai->ai_src_len, hints->ai_src_addr, hints->ai_src_len))
		return rai;
	rdma_freeaddrinfo(rai);
	return NULL;
}

static struct rdma_addrinfo *convert_result(const struct addrinfo *ai,
					    const struct rdma_addrinfo *hints)
{
	struct rdma_addrinfo *rai = result_new(hints);
	int err;

	if (!rai)
		return NULL;
	rai->ai_family = ai->ai_family;
	if (rai->ai_flags & RAI_PASSIVE)
		err = copy_addr(&rai->ai_src_addr, &rai->ai_src_len, ai->ai_addr, ai->ai_addrlen);
	else
		err = copy_addr(&rai->ai_dst_addr, &rai->ai_dst_len, ai->ai_addr, ai->ai_addrlen);
	if (!err)
		return rai;
	rdma_freeaddrinfo(rai);
	return NULL;
}

/* Makes the result from the addresses in the hints: the caller gave no names. 0 or ENOMEM. */
static int from_hints(const struct rdma_addrinfo *hints, struct rdma_addrinfo **res)
{
	struct rdma_addrinfo *rai = calloc(1, sizeof(*rai));
	int err = rai ? 0 : ENOMEM;

	if (!err && hints->ai_src_len)
		err = copy_addr(&rai->ai_src_addr, &rai->ai_src_len, hints->ai_src_addr,
				hints->ai_src_len);
	if (!err && hints->ai_dst_len)
		err = copy_addr(&rai->ai_dst_addr, &rai->ai_dst_len, hints->ai_dst_addr,
				hints->ai_dst_len);
	if (err) {
		rdma_freeaddrinfo(rai);
		return adv_rdma_result(err, "rdma_getaddrinfo", NULL);
	}
	rai->ai_flags = hints->ai_flags;
	rai->ai_family = hints->ai_family;
	if (!rai->ai_family && rai->ai_dst_addr)
		rai->ai_family = rai->ai_dst_addr->sa_family;
	if (!rai->ai_family && rai->ai_src_addr)
		rai->ai_family = rai->ai_src_addr->sa_family;
	set_type(rai, hints);
	*res = rai;
	return 0;
}

static int resolve_names(const char *node, const char *service, const struct rdma_addrinfo *hints,
			 struct rdma_addrinfo **res)
{
	struct addrinfo want = {
		.ai_flags = (hints->ai_flags & RAI_PASSIVE ? AI_PASSIVE : 0) |
			    (hints->ai_flags & RAI_NUMERICHOST ? AI_NUMERICHOST : 0),
		.ai_family = hints->ai_family,
		.ai_socktype = is_datagram(hints) ? SOCK_DGRAM : SOCK_STREAM,
	};
	struct rdma_addrinfo **end = res;
	struct addrinfo *found;
	int ret = getaddrinfo(node, service, &want, &found);

	if (ret)
		return ret;
	for (struct addrinfo *ai = found; ai && !ret; ai = ai->ai_next) {
		*end = convert_result(ai, hints);
		if (*end)
			end = &(*end)->ai_next;
		else
			ret = EAI_MEMORY;
	}
	freeaddrinfo(found);
	if (ret) {
		rdma_freeaddrinfo(*res);
		*res = NULL;
	}
	return ret;
}

int adv_rdma_check_sa(const struct rdma_addrinfo *hints)
{
	if (!hints || !(hints->ai_flags & ADV_RAI_SA))
		return 0;
	return adv_reason(EOPNOTSUPP,
			  "RAI_SA needs a subnet administrator, which RoCE does not have");
}

ADV_EXPORT int rdma_getaddrinfo(const char *node, const char *service,
				const struct rdma_addrinfo *hints, struct rdma_addrinfo **res)
{
	static const struct rdma_addrinfo none;
	int ret;

	if (!res || (!node && !service && !hints))
		return adv_rdma_result(
			adv_reason(EINVAL, "res, or node, service and hints, are NULL"), __func__,
			NULL);
	*res = NULL;
	if (!hints)
		hints = &none;
	ret = adv_rdma_check_sa(hints);
	if (ret)
		return adv_rdma_result(ret, __func__, NULL);
	ret = check_hints(hints);
	if (ret)
		return ret;
	return node || service ? resolve_names(node, service, hints, res) : from_hints(hints, res);
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
