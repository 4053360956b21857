/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sending sockets. Each socket is bound to the path's source address and to its own source port.
 * The sockets are unconnected and use IP_PMTUDISC_PROBE: the kernel then writes Identification 0.
 *
 * IP_PMTUDISC_DO would write 0 as well, but it obeys ICMP messages about the path. The kernel
 * accepts every such message that quotes an address and a port of this machine: after one forged
 * "fragmentation needed" all larger packets fail for ten minutes. With IP_PMTUDISC_PROBE only the
 * interface's own MTU counts.
 *
 * IPv6 uses IPV6_PMTUDISC_INTERFACE, which ignores such messages entirely. Over IPv4 that option
 * would clear Don't Fragment and set an Identification. IP_RECVERR is off, so that no other ICMP
 * message makes a send fail; it is on if the link's owner requests errors (udp_error.c).
 *
 * Binding does not prevent another process from sending with the same address and port: a socket
 * bound to another local address and the same port may name this source address with IP_PKTINFO.
 * The port of the socket for packets to the machine itself identifies the sender. This socket is
 * therefore bound to no address of either family, so that no other socket can have the port. It
 * names the source address with each message, unless the kernel chooses the same (udp_flow.c).
 */
#include "runtime/link/udp_internal.h"

#include <errno.h>
#include <linux/filter.h>
#include <stdio.h>

#include "base/log.h"
#include "base/sys.h"

#define PORT_FIRST  0xc000u
#define PORT_TRIES  512
#define SEND_BUFFER (4 << 20)

static const struct adv_udp_address *find_address(const struct udp_link *l,
						  const struct adv_gid *gid)
{
	for (unsigned i = 0; i < l->address_count; i++)
		if (adv_gid_equal(&l->address[i].gid, gid))
			return &l->address[i];
	return NULL;
}

uint32_t adv_udp_ifindex_of(const struct udp_link *l, const struct adv_gid *gid)
{
	const struct adv_udp_address *a = find_address(l, gid);

	return a ? a->ifindex : 0;
}

bool adv_udp_is_own_address(const struct adv_link *link, const struct adv_gid *gid)
{
	const struct udp_link *l = udp_link_of((struct adv_link *)(uintptr_t)link);

	return (adv_gid_is_ipv4(gid) && gid->raw[12] == 127) || find_address(l, gid);
}

static unsigned hash_key(const struct adv_gid *sgid, uint16_t wish, uint16_t target)
{
	uint64_t a, b;

	memcpy(&a, sgid->raw, 8);
	memcpy(&b, sgid->raw + 8, 8);
	a = (a ^ (b + ((uint64_t)wish << 16 | target)) * 0x9e3779b97f4a7c15u) * 0x9e3779b97f4a7c15u;
	return (unsigned)(a >> 32) % UDP_HASH_SIZE;
}

static void set_int(int fd, int level, int name, int value)
{
	(void)adv_sys_setsockopt(fd, level, name, &value, sizeof(value));
}

/* Sets optional properties; failures are ignored. */
static void set_buffers(int fd)
{
	struct sock_filter drop = BPF_STMT(BPF_RET | BPF_K, 0);
	struct sock_fprog program = {1, &drop};

	(void)adv_sys_setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
	set_int(fd, SOL_SOCKET, SO_RCVBUF, 0);
	set_int(fd, SOL_SOCKET, SO_SNDBUF, SEND_BUFFER);
	set_int(fd, SOL_SOCKET, SO_SNDBUFFORCE, SEND_BUFFER);
}

static int open_ipv4(const struct adv_gid *sgid)
{
	int fd = adv_sys_socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_UDP);
	int discover = IP_PMTUDISC_PROBE;
	struct ip_mreqn mreq = {0};

	if (fd < 0)
		return -1;
	if (adv_sys_setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &discover, sizeof(discover)) < 0) {
		int err = errno;

		adv_sys_close(fd);
		errno = err;
		return -1;
	}
	memcpy(&mreq.imr_address, sgid->raw + 12, 4);
	(void)adv_sys_setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &mreq, sizeof(mreq));
	set_int(fd, IPPROTO_IP, IP_MULTICAST_LOOP, 1);
	set_buffers(fd);
	return fd;
}

static int open_ipv6(uint32_t ifindex)
{
	int fd = adv_sys_socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_UDP);

	if (fd < 0)
		return -1;
	set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
	set_int(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_INTERFACE);
	if (ifindex)
		set_int(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, (int)ifindex);
	set_int(fd, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, 1);
	set_buffers(fd);
	return fd;
}

static int bind_to_port(int fd, const struct udp_socket *s, uint16_t port)
{
	union udp_sockaddr a;

	memset(&a, 0, sizeof(a));
	if (s->ipv4) {
		a.in.sin_family = AF_INET;
		a.in.sin_port = htons(port);
		memcpy(&a.in.sin_addr, s->sgid.raw + 12, 4);
		return adv_sys_bind(fd, &a, sizeof(a.in));
	}
	a.in6.sin6_family = AF_INET6;
	a.in6.sin6_port = htons(port);
	a.in6.sin6_scope_id = s->ifindex;
	memcpy(&a.in6.sin6_addr, s->sgid.raw, 16);
	return adv_sys_bind(fd, &a, sizeof(a.in6));
}

/* Binds to the wished port or a following one, from 0xC000 to 0xFFFF. */
static int bind_near(struct udp_socket *s)
{
	for (unsigned i = 0; i < PORT_TRIES; i++) {
		uint16_t port = (uint16_t)(PORT_FIRST | (s->wish + i));

		if (bind_to_port(s->fd, s, port) == 0) {
			s->port = port;
			return 0;
		}
		if (errno != EADDRINUSE)
			return -1;
	}
	return -1;
}

/* Binds to a free port, which the kernel chooses, for all addresses. */
static bool bind_everywhere(int fd, int family, uint16_t *port)
{
	union udp_sockaddr a;
	socklen_t len = sizeof(a);

	memset(&a, 0, sizeof(a));
	a.sa.sa_family = (sa_family_t)family;
	if (adv_sys_bind(fd, &a, family == AF_INET6 ? sizeof(a.in6) : sizeof(a.in)) < 0 ||
	    adv_sys_getsockname(fd, &a, &len) < 0)
		return false;
	*port = ntohs(family == AF_INET6 ? a.in6.sin6_port : a.in.sin_port);
	return true;
}

/* Opens a dual-stack socket, or an IPv4 one if the kernel has no IPv6. Returns its family, or -1.
 */
static int open_everywhere(int *fd)
{
	int family = AF_INET6;

	*fd = adv_sys_socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_UDP);
	if (*fd < 0 && errno == EAFNOSUPPORT) {
		family = AF_INET;
		*fd = adv_sys_socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
				     IPPROTO_UDP);
	}
	if (*fd < 0)
		return -1;
	if (family == AF_INET6) {
		set_int(*fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
		set_int(*fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_INTERFACE);
	}
	set_int(*fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE);
	set_buffers(*fd);
	return family;
}

bool adv_udp_sender_open(struct udp_link *l)
{
	uint16_t port = 0;
	int fd, family = open_everywhere(&fd);

	if (family < 0)
		return false;
	if (!bind_everywhere(fd, family, &port)) {
		int err = errno;

		adv_sys_close(fd);
		errno = err;
		return false;
	}
	for (int ipv4 = 0; ipv4 < 2; ipv4++)
		l->sender[ipv4] = (struct udp_socket){
			.fd = fd,
			.ipv4 = ipv4,
			.any_source = true,
			.port = port,
			.ttl = -1,
			.multicast_ttl = 1,
		};
	return true;
}

uint16_t adv_udp_sender(const struct adv_link *link)
{
	return adv_container_of(link, const struct udp_link, link)->sender[0].port;
}

/*
 * Chooses an existing socket for a further path, if no further socket can be opened. Prefers a
 * socket of the same target. The search starts at an index that depends on the wished port, so that
 * paths use different sockets.
 */
static struct udp_socket *share_socket(struct udp_link *l, const struct adv_path *path,
				       uint16_t target)
{
	struct udp_socket *other = NULL;

	for (unsigned i = 0; i < l->socket_count; i++) {
		struct udp_socket *s = &l->socket[(path->sport + i) % l->socket_count];

		if (!adv_gid_equal(&s->sgid, &path->sgid))
			continue;
		if (s->target == target)
			return s;
		if (!other)
			other = s;
	}
	return other;
}

static void log_failure(struct udp_link *l, const struct adv_gid *sgid)
{
	char text[ADV_GID_TEXT_LENGTH];
	int err = errno;

	if (err == l->last_error)
		return;
	l->last_error = err;
	adv_gid_text(sgid, text);
	if (err == EADDRNOTAVAIL)
		adv_warn("cannot send from %s: the machine no longer has this address", text);
	else
		adv_warn("no socket to send from %s: %s", text, strerror(err));
	errno = err;
}

static struct udp_socket *open_socket(struct udp_link *l, const struct adv_path *path,
				      uint16_t target)
{
	struct udp_socket *s = &l->socket[l->socket_count];
	unsigned h = hash_key(&path->sgid, path->sport, target);

	*s = (struct udp_socket){
		.ipv4 = adv_gid_is_ipv4(&path->sgid),
		.target = target,
		.wish = path->sport,
		.ttl = -1,
		.multicast_ttl = 1,
		.ifindex = adv_udp_ifindex_of(l, &path->sgid),
		.sgid = path->sgid,
	};
	s->fd = s->ipv4 ? open_ipv4(&s->sgid) : open_ipv6(s->ifindex);
	if (s->fd < 0)
		return NULL;
	if (bind_near(s) < 0) {
		int err = errno;

		adv_sys_close(s->fd);
		errno = err;
		return NULL;
	}
	adv_udp_errors_watch(l, s);
	s->next = l->hash[h];
	l->hash[h] = (uint16_t)++l->socket_count;
	return s;
}

bool adv_udp_sender_serves(const struct udp_link *l, const struct adv_gid *dgid)
{
	return l->sender[0].port && adv_udp_is_own_address(&l->link, dgid);
}

struct udp_socket *adv_udp_socket_get(struct udp_link *l, const struct adv_path *path,
				      uint16_t target)
{
	unsigned h = hash_key(&path->sgid, path->sport, target);
	struct udp_socket *s = NULL;

	if (adv_udp_sender_serves(l, &path->dgid))
		return &l->sender[adv_gid_is_ipv4(&path->sgid)];
	for (unsigned i = l->hash[h]; i; i = s->next) {
		s = &l->socket[i - 1];
		if (s->wish == path->sport && s->target == target &&
		    adv_gid_equal(&s->sgid, &path->sgid))
			return s;
	}
	s = NULL;
	errno = EMFILE;
	if (l->socket_count < l->socket_limit)
		s = open_socket(l, path, target);
	if (!s && errno != EADDRNOTAVAIL) {
		int err = errno;

		s = share_socket(l, path, target);
		errno = err;
	}
	if (!s)
		log_failure(l, &path->sgid);
	return s;
}

void adv_udp_sockets_close(struct udp_link *l)
{
	for (unsigned i = 0; i < l->socket_count; i++) {
		adv_udp_errors_forget(l, &l->socket[i]);
		adv_sys_close(l->socket[i].fd);
	}
	l->socket_count = 0;
	if (l->sender[0].port)
		adv_sys_close(l->sender[0].fd);
	l->sender[0].port = 0;
}
