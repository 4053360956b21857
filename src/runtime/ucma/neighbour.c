/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/ucma/neighbour.h"

#include <errno.h>
#include <sys/epoll.h>

#include "runtime/ucma/state.h"

int adv_ucma_neighbour(struct adv_ucma *u, const struct adv_gid *sgid, const struct adv_gid *dgid,
		       uint32_t ifindex, uint8_t mac[6])
{
	struct adv_ip_route way;
	enum adv_neighbour n;
	int error;

	if (adv_gid_is_ipv4(sgid) != adv_gid_is_ipv4(dgid))
		return EINVAL;
	error = adv_resolve_way(u->resolver, dgid, sgid, ifindex, &way);
	if (error)
		return error;
	if (way.local || way.multicast)
		return EINVAL;
	if (!adv_gid_equal(&way.next_hop, dgid) || way.ifindex != ifindex)
		return EHOSTUNREACH;
	n = adv_resolve_mac(u->resolver, &way, mac);
	/* The kernel resolves an address if it has a packet to send, also after a failure. */
	if (n == ADV_NEIGHBOUR_NONE || n == ADV_NEIGHBOUR_FAILED)
		adv_resolve_probe_neighbour(u->resolver, dgid, &way);
	return n == ADV_NEIGHBOUR_KNOWN ? 0 : EAGAIN;
}

int adv_ucma_start_v1(struct adv_ucma *u)
{
	struct epoll_event e = {.events = EPOLLIN, .data.u64 = ADV_UCMA_FROM_QP1_V1};
	int error;

	if (u->v1_watched)
		return 0;
	error = adv_qp1_start_v1(u->qp1);
	if (!error && adv_qp1_v1_fd(u->qp1) >= 0 &&
	    epoll_ctl(u->epoll, EPOLL_CTL_ADD, adv_qp1_v1_fd(u->qp1), &e) < 0)
		error = errno;
	u->v1_watched = !error;
	return error;
}
