/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The peers of a datagram rsocket, and the UDP socket by which it learns their queue pairs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/sys.h"
#include "abi/rsocket/state.h"
#include "abi/rsocket/wait.h"

/* If this many destinations are known, a datagram of another peer adds no destination and gets no
 * answer. That peer then sends all its datagrams by UDP. */
#define MAX_STRANGERS 4096
#define MAX_READS     64 /* datagrams of one round of the service thread */

static unsigned bucket_of(const union adv_rs_addr *addr)
{
	const uint8_t *p = addr->sa.sa_family == AF_INET ? (const uint8_t *)&addr->sin.sin_addr
							 : addr->sin6.sin6_addr.s6_addr;
	size_t len = addr->sa.sa_family == AF_INET ? 4 : 16;
	uint32_t hash = addr->sin.sin_port; /* both families have the port at the same offset */

	for (size_t i = 0; i < len; i++)
		hash = hash * 31 + p[i];
	return (hash ^ hash >> 8) % ADV_RS_DEST_BUCKETS;
}

static struct adv_rs_dest *find_dest(struct adv_rsocket *rs, const union adv_rs_addr *addr)
{
	struct adv_rs_dest *dest = rs->d.dests[bucket_of(addr)];

	while (dest && !adv_rs_addr_equal(&dest->addr, addr))
		dest = dest->next;
	return dest;
}

/*
 * Finds the source address of datagrams to addr: the address to which the rsocket is bound, else
 * the source address of the route.
 */
static int find_local(struct adv_rsocket *rs, const union adv_rs_addr *addr,
		      union adv_rs_addr *local)
{
	socklen_t len = sizeof(*local);
	in_port_t port;
	int fd, ret;

	memset(local, 0, sizeof(*local));
	if (adv_sys_getsockname(rs->fd, local, &len))
		return -1;
	if (*adv_rs_addr_port(local) ==
	    0) { /* not bound: bind now, as datagrams contain their source */
		if (adv_sys_bind(rs->fd, local, len) || adv_sys_getsockname(rs->fd, local, &len))
			return -1;
	}
	if (!adv_rs_addr_is_any(local))
		return 0;
	port = *adv_rs_addr_port(local);
	fd = adv_sys_socket(addr->sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	len = sizeof(*local);
	ret = adv_sys_connect(fd, addr, adv_rs_addr_len(addr->sa.sa_family));
	if (ret == 0)
		ret = adv_sys_getsockname(fd, local, &len);
	adv_sys_close(fd);
	*adv_rs_addr_port(local) = port;
	return ret;
}

struct adv_rs_dest *adv_rs_dest_get(struct adv_rsocket *rs, const union adv_rs_addr *addr)
{
	struct adv_rs_dest *dest = find_dest(rs, addr);
	struct adv_rs_dgram_qp *qp;
	union adv_rs_addr local;

	if (dest)
		return dest;
	if (find_local(rs, addr, &local))
		return NULL;
	qp = adv_rs_dgram_qp_get(rs, &local);
	dest = qp ? calloc(1, sizeof(*dest)) : NULL;
	if (!dest)
		return NULL;
	dest->addr = *addr;
	dest->qp = qp;
	dest->next = rs->d.dests[bucket_of(addr)];
	rs->d.dests[bucket_of(addr)] = dest;
	rs->d.dest_count++;
	return dest;
}

void adv_rs_dests_free(struct adv_rsocket *rs)
{
	for (unsigned i = 0; i < ADV_RS_DEST_BUCKETS; i++) {
		while (rs->d.dests[i]) {
			struct adv_rs_dest *dest = rs->d.dests[i];

			rs->d.dests[i] = dest->next;
			if (dest->ah)
				ibv_destroy_ah(dest->ah);
			free(dest);
		}
	}
}

ssize_t adv_rs_dgram_send_udp(struct adv_rsocket *rs, const struct adv_rs_dest *dest, unsigned op,
			      const void *data, size_t len)
{
	uint8_t header[ADV_RS_UDP_MAX_HEADER];
	struct iovec iov[2] = {{header, 0}, {(void *)(uintptr_t)data, len}};
	union adv_rs_addr to = dest->addr;
	struct msghdr msg = {
		.msg_name = &to,
		.msg_namelen = adv_rs_addr_len(to.sa.sa_family),
		.msg_iov = iov,
		.msg_iovlen = len > 0 ? 2 : 1,
	};
	ssize_t sent;

	iov[0].iov_len = adv_rs_pack_udp(header, op, dest->qp->id->qp->qp_num, &dest->qp->local);
	sent = adv_sys_sendmsg(rs->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
	return sent < 0 ? -1 : sent - (ssize_t)iov[0].iov_len;
}

/* Stores the peer's QP number, and makes the address handle. */
static void set_peer_qpn(struct adv_rsocket *rs, struct adv_rs_dest *dest, uint32_t qpn)
{
	if (dest->ah && dest->qpn == qpn)
		return;
	if (dest->ah)
		ibv_destroy_ah(dest->ah);
	dest->ah = adv_rs_dgram_ah(dest->qp, &dest->addr);
	dest->qpn = qpn;
	if (!dest->ah)
		adv_debug("rsocket %d: no address handle: %s", rs->fd, strerror(errno));
}

/* Handles a datagram of the UDP socket. Lock held. */
static void handle_datagram(struct adv_rsocket *rs, const union adv_rs_addr *from, const uint8_t *p,
			    size_t len)
{
	struct adv_rs_dest *dest;
	unsigned op;
	uint32_t qpn;
	size_t header = adv_rs_unpack_udp(&op, &qpn, from, p, len);

	if (!header || !rs->d.ready)
		return;
	dest = find_dest(rs, from);
	if (!dest && op == ADV_RS_OP_CTRL)
		return; /* an answer without a request */
	if (!dest && rs->d.dest_count < MAX_STRANGERS)
		dest = adv_rs_dest_get(rs, from);
	if (dest) {
		if (op == ADV_RS_OP_DATA)
			(void)adv_rs_dgram_send_udp(rs, dest, ADV_RS_OP_CTRL, NULL, 0);
		set_peer_qpn(rs, dest, qpn);
	}
	if (op == ADV_RS_OP_DATA)
		adv_rs_dgram_deliver(rs, from, p + header, len - header, NULL, 0);
}

void adv_rs_dgram_udp(struct adv_rsocket *rs)
{
	uint8_t buf[ADV_RS_DGRAM_SLOT + ADV_RS_UDP_MAX_HEADER];

	for (int i = 0; i < MAX_READS; i++) {
		union adv_rs_addr from = {0};
		socklen_t len = sizeof(from);
		ssize_t n = adv_sys_recvfrom(rs->fd, buf, sizeof(buf), MSG_DONTWAIT | MSG_TRUNC,
					     &from, &len);

		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0 || (size_t)n > sizeof(buf) || adv_rs_addr_len(from.sa.sa_family) == 0)
			continue;
		pthread_mutex_lock(&rs->lock);
		if (!rs->closed) {
			handle_datagram(rs, &from, buf, (size_t)n);
			adv_rs_wake(rs);
		}
		pthread_mutex_unlock(&rs->lock);
	}
}
