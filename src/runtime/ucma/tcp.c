/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/ucma/tcp.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/ucma/address.h"

#define REST_MS 30000

static socklen_t length_of(const union adv_ucma_sockaddr *a)
{
	return a->family == AF_INET ? sizeof(a->in) : sizeof(a->in6);
}

/* As adv_ucma_from_sockaddr(), but an IPv4 connection of an IPv6 socket is one of IPv4. */
static bool from_sockaddr(const union adv_ucma_sockaddr *in, struct adv_cm_addr *out)
{
	if (!adv_ucma_from_sockaddr(in, out))
		return false;
	if (out->family == AF_INET6 && adv_gid_is_ipv4(&out->ip)) {
		out->family = AF_INET;
		out->scope_id = 0;
	}
	return true;
}

static void set_flag(int fd, int level, int name, bool value)
{
	int on = value;

	(void)setsockopt(fd, level, name, &on, sizeof(on));
}

/* SO_REUSEADDR: as Linux's siw does, and because ports of closed connections rest. Of two ids with
 * one port, the second one fails when it listens. */
static int bind_socket(int fd, struct adv_cm_addr *local)
{
	union adv_ucma_sockaddr a;
	socklen_t len = sizeof(a);

	set_flag(fd, SOL_SOCKET, SO_REUSEADDR, local->port != 0);
	adv_ucma_to_sockaddr(local, &a);
	if (bind(fd, (const struct sockaddr *)&a, length_of(&a)) < 0 ||
	    getsockname(fd, (struct sockaddr *)&a, &len) < 0)
		return -1;
	local->port = ntohs(a.family == AF_INET ? a.in.sin_port : a.in6.sin6_port);
	return 0;
}

int adv_tcp_open(struct adv_cm_addr *local, bool own_family)
{
	int fd = socket(local->family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	if (local->family == AF_INET6)
		set_flag(fd, IPPROTO_IPV6, IPV6_V6ONLY, own_family);
	set_flag(fd, IPPROTO_TCP, TCP_NODELAY, true);
	if (bind_socket(fd, local) < 0) {
		int error = errno;

		close(fd);
		errno = error;
		return -1;
	}
	return fd;
}

void adv_tcp_set_tos(int fd, sa_family_t family, uint8_t tos)
{
	int value = tos;

	if (family == AF_INET)
		(void)setsockopt(fd, IPPROTO_IP, IP_TOS, &value, sizeof(value));
	else
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_TCLASS, &value, sizeof(value));
}

void adv_tcp_limit_rest(int fd)
{
	unsigned ms = REST_MS;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof(ms));
}

int adv_tcp_connect(int fd, const struct adv_cm_addr *remote)
{
	union adv_ucma_sockaddr a;

	adv_ucma_to_sockaddr(remote, &a);
	if (connect(fd, (const struct sockaddr *)&a, length_of(&a)) < 0 && errno != EINPROGRESS)
		return errno;
	return 0;
}

int adv_tcp_accept(struct adv_spare *spare, int fd)
{
	int connection = adv_spare_accept(spare, fd);

	if (connection >= 0)
		set_flag(connection, IPPROTO_TCP, TCP_NODELAY, true);
	return connection;
}

bool adv_tcp_addresses(int fd, struct adv_cm_addr *local, struct adv_cm_addr *remote)
{
	union adv_ucma_sockaddr here, there;
	socklen_t here_len = sizeof(here), there_len = sizeof(there);

	return getsockname(fd, (struct sockaddr *)&here, &here_len) == 0 &&
	       getpeername(fd, (struct sockaddr *)&there, &there_len) == 0 &&
	       from_sockaddr(&here, local) && from_sockaddr(&there, remote);
}

int adv_tcp_error(int fd)
{
	int error = 0;
	socklen_t len = sizeof(error);

	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0 ? errno : error;
}
