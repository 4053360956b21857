/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sockets of NETLINK_RDMA: socket(2) and the calls that use such a socket. The kernel has this
 * protocol only if an RDMA driver is loaded, and even then does not know adverb0. */
#include <errno.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "runtime/preload/lookup.h"
#include "runtime/preload/netlink_socket.h"

#define REQUEST_MAX (1u << 20)

ssize_t __recv_chk(int fd, void *buf, size_t len, size_t room, int flags);
ssize_t __recvfrom_chk(int fd, void *buf, size_t len, size_t room, int flags, struct sockaddr *from,
		       socklen_t *from_len);

/* Returns the call's result: 0, or -1 with errno. */
static int result_of_call(int error)
{
	if (!error)
		return 0;
	errno = error;
	return -1;
}

/* ---- the socket ---- */

ADV_INTERPOSE int socket(int family, int type, int protocol)
{
	int (*call)(int, int, int) = adv_next(ADV_NEXT("socket"));

	if (family == AF_NETLINK && protocol == NETLINK_RDMA)
		return adv_netlink_open(type);
	return call(family, type, protocol);
}

/* Reads the port of an address. 0 or EINVAL. */
static int check_address(const struct sockaddr *address, socklen_t len, uint32_t *port)
{
	struct sockaddr_nl nl;

	if (!address || len < sizeof(nl))
		return EINVAL;
	memcpy(&nl, address, sizeof(nl));
	*port = nl.nl_pid;
	return nl.nl_family == AF_NETLINK ? 0 : EINVAL;
}

ADV_INTERPOSE int bind(int fd, const struct sockaddr *address, socklen_t len)
{
	int (*call)(int, const struct sockaddr *, socklen_t) = adv_next(ADV_NEXT("bind"));
	uint32_t port;
	int error;

	if (!adv_netlink_is(fd))
		return call(fd, address, len);
	error = check_address(address, len, &port);
	return result_of_call(error ? error : adv_netlink_bind(fd, port));
}

ADV_INTERPOSE int connect(int fd, const struct sockaddr *address, socklen_t len)
{
	int (*call)(int, const struct sockaddr *, socklen_t) = adv_next(ADV_NEXT("connect"));
	uint32_t port;
	int error;

	if (!adv_netlink_is(fd))
		return call(fd, address, len);
	error = check_address(address, len, &port);
	return result_of_call(error || !port ? error : ECONNREFUSED);
}

static void copy_name(const struct sockaddr_nl *name, void *to, socklen_t *len)
{
	if (!to || !len)
		return;
	memcpy(to, name, *len < sizeof(*name) ? *len : sizeof(*name));
	*len = sizeof(*name);
}

ADV_INTERPOSE int getsockname(int fd, struct sockaddr *address, socklen_t *len)
{
	int (*call)(int, struct sockaddr *, socklen_t *) = adv_next(ADV_NEXT("getsockname"));
	struct sockaddr_nl name;

	if (!adv_netlink_is(fd))
		return call(fd, address, len);
	adv_netlink_name(fd, &name);
	copy_name(&name, address, len);
	return 0;
}

ADV_INTERPOSE int setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	int (*call)(int, int, int, const void *, socklen_t) = adv_next(ADV_NEXT("setsockopt"));

	/* These options are accepted without effect: the form of answers does not change, and
	 * multicast groups get no messages. */
	if (level == SOL_NETLINK && adv_netlink_is(fd))
		return 0;
	return call(fd, level, name, value, len);
}

ADV_INTERPOSE int getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	int (*call)(int, int, int, void *, socklen_t *) = adv_next(ADV_NEXT("getsockopt"));
	bool known = level == SOL_SOCKET &&
		     (name == SO_DOMAIN || name == SO_PROTOCOL || name == SO_TYPE);
	int is = name == SO_DOMAIN ? AF_NETLINK : name == SO_PROTOCOL ? NETLINK_RDMA : SOCK_RAW;

	if ((!known && level != SOL_NETLINK) || !adv_netlink_is(fd))
		return call(fd, level, name, value, len);
	if (!known)
		return result_of_call(ENOPROTOOPT);
	if (*len > sizeof(is))
		*len = sizeof(is);
	memcpy(value, &is, *len);
	return 0;
}

/* ---- sending ---- */

static ssize_t send_request(int fd, const void *data, size_t len, const void *address,
			    socklen_t to_len)
{
	uint32_t port = 0;
	int error = address ? check_address(address, to_len, &port) : 0;

	if (!error && port)
		error = ECONNREFUSED;
	if (!error && len > REQUEST_MAX)
		error = EMSGSIZE;
	if (!error)
		error = adv_netlink_request(fd, data, len);
	return error ? result_of_call(error) : (ssize_t)len;
}

static ssize_t send_gathered(int fd, const struct msghdr *msg)
{
	size_t len = 0, at = 0;
	uint8_t *data;
	ssize_t n;

	for (size_t i = 0; i < msg->msg_iovlen; i++) {
		if (msg->msg_iov[i].iov_len > REQUEST_MAX - len)
			return result_of_call(EMSGSIZE);
		len += msg->msg_iov[i].iov_len;
	}
	data = malloc(len + 1);
	if (!data)
		return result_of_call(ENOBUFS);
	for (size_t i = 0; i < msg->msg_iovlen; i++) {
		if (msg->msg_iov[i].iov_len)
			memcpy(data + at, msg->msg_iov[i].iov_base, msg->msg_iov[i].iov_len);
		at += msg->msg_iov[i].iov_len;
	}
	n = send_request(fd, data, len, msg->msg_name, msg->msg_namelen);
	free(data);
	return n;
}

ADV_INTERPOSE ssize_t send(int fd, const void *data, size_t len, int flags)
{
	ssize_t (*call)(int, const void *, size_t, int) = adv_next(ADV_NEXT("send"));

	return adv_netlink_is(fd) ? send_request(fd, data, len, NULL, 0)
				  : call(fd, data, len, flags);
}

ADV_INTERPOSE ssize_t sendto(int fd, const void *data, size_t len, int flags,
			     const struct sockaddr *to, socklen_t to_len)
{
	ssize_t (*call)(int, const void *, size_t, int, const struct sockaddr *, socklen_t) =
		adv_next(ADV_NEXT("sendto"));

	return adv_netlink_is(fd) ? send_request(fd, data, len, to, to_len)
				  : call(fd, data, len, flags, to, to_len);
}

ADV_INTERPOSE ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	ssize_t (*call)(int, const struct msghdr *, int) = adv_next(ADV_NEXT("sendmsg"));

	return adv_netlink_is(fd) ? send_gathered(fd, msg) : call(fd, msg, flags);
}

ADV_INTERPOSE ssize_t write(int fd, const void *data, size_t len)
{
	ssize_t (*call)(int, const void *, size_t) = adv_next(ADV_NEXT("write"));

	return adv_netlink_is(fd) ? send_request(fd, data, len, NULL, 0) : call(fd, data, len);
}

/* ---- receiving ---- */

static const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};

static ssize_t note_received(int fd, ssize_t n, int flags, void *from, socklen_t *from_len)
{
	if (n < 0 || !adv_netlink_is(fd))
		return n;
	copy_name(&kernel, from, from_len);
	if (!(flags & MSG_PEEK))
		adv_netlink_received(fd);
	return n;
}

ADV_INTERPOSE ssize_t recv(int fd, void *buf, size_t len, int flags)
{
	ssize_t (*call)(int, void *, size_t, int) = adv_next(ADV_NEXT("recv"));

	return note_received(fd, call(fd, buf, len, flags), flags, NULL, NULL);
}

ADV_INTERPOSE ssize_t __recv_chk(int fd, void *buf, size_t len, size_t room, int flags)
{
	ssize_t (*call)(int, void *, size_t, size_t, int) = adv_next(ADV_NEXT("__recv_chk"));

	return note_received(fd, call(fd, buf, len, room, flags), flags, NULL, NULL);
}

ADV_INTERPOSE ssize_t recvfrom(int fd, void *buf, size_t len, int flags, struct sockaddr *from,
			       socklen_t *from_len)
{
	ssize_t (*call)(int, void *, size_t, int, struct sockaddr *, socklen_t *) =
		adv_next(ADV_NEXT("recvfrom"));

	if (!adv_netlink_is(fd))
		return call(fd, buf, len, flags, from, from_len);
	return note_received(fd, call(fd, buf, len, flags, NULL, NULL), flags, from, from_len);
}

ADV_INTERPOSE ssize_t __recvfrom_chk(int fd, void *buf, size_t len, size_t room, int flags,
				     struct sockaddr *from, socklen_t *from_len)
{
	ssize_t (*call)(int, void *, size_t, size_t, int, struct sockaddr *, socklen_t *) =
		adv_next(ADV_NEXT("__recvfrom_chk"));

	if (!adv_netlink_is(fd))
		return call(fd, buf, len, room, flags, from, from_len);
	return note_received(fd, call(fd, buf, len, room, flags, NULL, NULL), flags, from,
			     from_len);
}

ADV_INTERPOSE ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	ssize_t (*call)(int, struct msghdr *, int) = adv_next(ADV_NEXT("recvmsg"));
	void *name;
	ssize_t n;

	if (!adv_netlink_is(fd))
		return call(fd, msg, flags);
	name = msg->msg_name;
	msg->msg_name = NULL;
	n = call(fd, msg, flags);
	msg->msg_name = name;
	return note_received(fd, n, flags, name, &msg->msg_namelen);
}
