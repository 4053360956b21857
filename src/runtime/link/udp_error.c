/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ICMP errors about sent packets: no process listens on the destination port. The kernel reports
 * them only to sockets with IP_RECVERR, together with the quoted part of the packet. The next send
 * on such a socket then fails with the ICMP error, and the kernel does not send its packet.
 * Therefore only links whose owner requests errors have such sockets. These links repeat failed
 * sends.
 *
 * Any host can forge ICMP errors: the kernel only checks that a socket has the quoted source
 * address and port.
 */
#include "runtime/link/udp_internal.h"

#include <errno.h>
#include <linux/errqueue.h>
#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>

#include "base/sys.h"

#define SOCKETS_A_CALL 16
#define QUOTE_MAX      576 /* bytes of an ICMP message: RFC 1812, 4.3.2.3 */
/* Receive buffer for quoted packets. The usual receive buffer of a sending socket is too small for
 * one quoted packet. */
#define QUEUE_BYTES 65536
/* Sends of one packet that may fail with ICMP errors before the packet is dropped. */
#define PENDING_MOST 8

void adv_udp_errors_watch(const struct udp_link *l, const struct udp_socket *s)
{
	struct epoll_event e = {.events = 0, .data.u32 = (uint32_t)(s - l->socket)};
	const int on = 1, room = QUEUE_BYTES;

	if (l->error_epoll < 0 || adv_sys_epoll_ctl(l->error_epoll, EPOLL_CTL_ADD, s->fd, &e) < 0)
		return;
	(void)adv_sys_setsockopt(s->fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	(void)adv_sys_setsockopt(s->fd, s->ipv4 ? IPPROTO_IP : IPPROTO_IPV6,
				 s->ipv4 ? IP_RECVERR : IPV6_RECVERR, &on, sizeof(on));
}

void adv_udp_errors_forget(const struct udp_link *l, const struct udp_socket *s)
{
	struct epoll_event e = {0};

	if (l->error_epoll >= 0)
		(void)adv_sys_epoll_ctl(l->error_epoll, EPOLL_CTL_DEL, s->fd, &e);
}

bool adv_udp_error_was_pending(const struct udp_link *l, int err, unsigned *tries)
{
	if (l->error_epoll < 0 || err == EINTR || err == EAGAIN || err == ENOBUFS)
		return false;
	return ++*tries < PENDING_MOST;
}

/* True if the message reports a closed port. */
static bool port_is_closed(const struct msghdr *h, const struct udp_socket *s)
{
	const int level = s->ipv4 ? IPPROTO_IP : IPPROTO_IPV6;
	const int type = s->ipv4 ? IP_RECVERR : IPV6_RECVERR;
	struct sock_extended_err e;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR((struct msghdr *)h, c)) {
		if (c->cmsg_level != level || c->cmsg_type != type ||
		    c->cmsg_len < CMSG_LEN(sizeof(e)))
			continue;
		memcpy(&e, CMSG_DATA(c), sizeof(e));
		if (s->ipv4)
			return e.ee_origin == SO_EE_ORIGIN_ICMP && e.ee_type == ICMP_DEST_UNREACH &&
			       e.ee_code == ICMP_PORT_UNREACH;
		return e.ee_origin == SO_EE_ORIGIN_ICMP6 && e.ee_type == ICMP6_DST_UNREACH &&
		       e.ee_code == ICMP6_DST_UNREACH_NOPORT;
	}
	return false;
}

/* Reads the destination of the quoted packet. False if its port is not the port of the link. */
static bool read_destination(const struct udp_link *l, const struct udp_socket *s,
			     const union udp_sockaddr *to, struct adv_gid *gid)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	if (to->sa.sa_family != (s->ipv4 ? AF_INET : AF_INET6))
		return false;
	if (s->ipv4) {
		memcpy(gid->raw, mapped, sizeof(mapped));
		memcpy(gid->raw + 12, &to->in.sin_addr, 4);
		return to->in.sin_port == htons(l->port);
	}
	memcpy(gid->raw, &to->in6.sin6_addr, 16);
	return to->in6.sin6_port == htons(l->port);
}

static unsigned read_socket(struct udp_link *l, const struct udp_socket *s, unsigned budget,
			    adv_udp_error_fn *fn, void *user)
{
	uint8_t quote[QUOTE_MAX];
	union {
		char space[256];
		struct cmsghdr align;
	} control;
	unsigned n;
	int err;
	socklen_t len = sizeof(err);

	for (n = 0; n < budget; n++) {
		union udp_sockaddr to = {.sa.sa_family = AF_UNSPEC};
		struct iovec iov = {quote, sizeof(quote)};
		struct msghdr h = {.msg_name = &to,
				   .msg_namelen = sizeof(to),
				   .msg_iov = &iov,
				   .msg_iovlen = 1,
				   .msg_control = &control,
				   .msg_controllen = sizeof(control)};
		ssize_t got = adv_sys_recvmsg(s->fd, &h, MSG_ERRQUEUE | MSG_DONTWAIT);
		struct adv_gid dgid;

		if (got < 0)
			break;
		if (port_is_closed(&h, s) && read_destination(l, s, &to, &dgid))
			fn(user, &s->sgid, &dgid, quote, (size_t)got);
	}
	/* If an error found no room in the queue, it is still pending on the socket: clear it. */
	(void)adv_sys_getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &err, &len);
	return n;
}

unsigned adv_udp_read_errors(struct adv_link *link, unsigned budget, adv_udp_error_fn *fn,
			     void *user)
{
	struct udp_link *l = udp_link_of(link);
	struct epoll_event ready[SOCKETS_A_CALL];
	int n = adv_sys_epoll_wait(l->error_epoll, ready, SOCKETS_A_CALL, 0);
	unsigned taken = 0;

	for (int i = 0; i < n && taken < budget; i++)
		if (ready[i].data.u32 < l->socket_count)
			taken += read_socket(l, &l->socket[ready[i].data.u32], budget - taken, fn,
					     user);
	return taken;
}
