/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The calls of <rdma/rsocket.h>. Each call finds its rsocket and calls the functions of the
 * rsocket's kind. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/sys.h"
#include "base/export.h"
#include "abi/rsocket/cancel.h"
#include "abi/rsocket/service.h"
#include "abi/rsocket/state.h"
#include "abi/rsocket/table.h"
#include "abi/rsocket/wait.h"

static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

/* Forgets the parent's rsockets and threads. Only the calling thread exists in the child. */
static void after_fork_in_child(void)
{
	adv_rs_table_forget();
	adv_rs_wakers_forget();
	adv_rs_service_forget();
}

static void register_fork_handler(void)
{
	pthread_atfork(NULL, NULL, after_fork_in_child);
}

static int open_rsocket(int domain, int type, int protocol)
{
	int kind = type & ~(SOCK_CLOEXEC | SOCK_NONBLOCK);
	int wanted = kind == SOCK_STREAM ? IPPROTO_TCP : IPPROTO_UDP;
	struct adv_rsocket *rs;
	int fd = -1;

	if ((domain != AF_INET && domain != AF_INET6) ||
	    (kind != SOCK_STREAM && kind != SOCK_DGRAM) || (protocol && protocol != wanted))
		return adv_rs_error(EOPNOTSUPP);
	pthread_once(&fork_once, register_fork_handler);
	rs = kind == SOCK_STREAM ? adv_rs_stream_new(domain, NULL) : adv_rs_dgram_new(domain);
	if (!rs)
		return adv_rs_error(ENOMEM);
	rs->file_flags = O_RDWR | (type & SOCK_NONBLOCK ? O_NONBLOCK : 0);
	rs->fd_flags = type & SOCK_CLOEXEC ? FD_CLOEXEC : 0;
	if ((kind == SOCK_STREAM ? adv_rs_stream_open(rs) : adv_rs_dgram_open(rs)) == 0) {
		fd = rs->fd;
	} else {
		int err = errno;

		if (adv_rs_take(rs->fd))
			adv_rs_put(rs);
		errno = err;
	}
	adv_rs_put(rs);
	return fd;
}

ADV_EXPORT int rsocket(int domain, int type, int protocol)
{
	int fd;

	adv_rs_defer_cancel();
	fd = open_rsocket(domain, type, protocol);
	adv_rs_restore_cancel();
	return fd;
}

ADV_EXPORT int rbind(int socket, const struct sockaddr *addr, socklen_t addrlen)
{
	struct adv_rsocket *rs = adv_rs_begin(socket);
	int ret;

	if (!rs)
		return -1;
	pthread_mutex_lock(&rs->lock);
	ret = rs->type == SOCK_STREAM ? adv_rs_stream_bind(rs, addr, addrlen)
				      : adv_rs_dgram_bind(rs, addr, addrlen);
	pthread_mutex_unlock(&rs->lock);
	adv_rs_end(rs);
	return ret;
}

ADV_EXPORT int rlisten(int socket, int backlog)
{
	struct adv_rsocket *rs = adv_rs_begin(socket);
	int ret;

	if (!rs)
		return -1;
	pthread_mutex_lock(&rs->lock);
	ret = rs->type == SOCK_STREAM ? adv_rs_stream_listen(rs, backlog)
				      : adv_rs_error(EOPNOTSUPP);
	pthread_mutex_unlock(&rs->lock);
	adv_rs_end(rs);
	return ret;
}

/* Gives an accepted rsocket its number, and releases the caller's reference. Returns the number. */
static int hand_over(struct adv_rsocket *taken, struct sockaddr *addr, socklen_t *addrlen)
{
	int fd;

	taken->file_flags = O_RDWR;
	adv_rs_stream_renumber(taken);
	fd = taken->fd;
	if (taken->options.keepalive) {
		pthread_mutex_lock(&taken->lock);
		adv_rs_service_keepalive(taken);
		pthread_mutex_unlock(&taken->lock);
	}
	if (addr && addrlen)
		adv_rs_addr_return(&taken->s.peer, addr, addrlen);
	adv_rs_put(taken);
	return fd;
}

ADV_EXPORT int raccept(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
	struct adv_rsocket *rs = adv_rs_begin(socket), *taken = NULL;
	int fd = -1;

	if (!rs)
		return -1;
	pthread_mutex_lock(&rs->lock);
	if (rs->type == SOCK_STREAM)
		taken = adv_rs_stream_accept(rs);
	else
		errno = EOPNOTSUPP;
	pthread_mutex_unlock(&rs->lock);
	if (taken)
		fd = hand_over(taken, addr, addrlen);
	adv_rs_end(rs);
	return fd;
}

ADV_EXPORT int rconnect(int socket, const struct sockaddr *addr, socklen_t addrlen)
{
	struct adv_rsocket *rs = adv_rs_begin(socket);
	int ret;

	if (!rs)
		return -1;
	pthread_mutex_lock(&rs->lock);
	if (!addr)
		ret = adv_rs_error(EFAULT);
	else
		ret = rs->type == SOCK_STREAM ? adv_rs_stream_connect(rs, addr, addrlen)
					      : adv_rs_dgram_connect(rs, addr, addrlen);
	pthread_mutex_unlock(&rs->lock);
	adv_rs_end(rs);
	return ret;
}

ADV_EXPORT int rshutdown(int socket, int how)
{
	struct adv_rsocket *rs = adv_rs_begin(socket);
	int ret;

	if (!rs)
		return -1;
	pthread_mutex_lock(&rs->lock);
	ret = rs->type == SOCK_STREAM ? adv_rs_stream_shutdown(rs, how)
				      : adv_rs_dgram_shutdown(rs, how);
	pthread_mutex_unlock(&rs->lock);
	adv_rs_end(rs);
	return ret;
}

static int close_rsocket(int socket)
{
	struct adv_rsocket *rs;

	if (adv_rs_is_inherited(socket)) {
		adv_rs_forget_inherited(socket);
		return 0;
	}
	rs = adv_rs_take(socket);
	if (!rs)
		return adv_rs_error(EBADF);
	if (rs->type == SOCK_STREAM) {
		adv_rs_stream_close(rs);
	} else {
		adv_rs_service_remove(rs);
		pthread_mutex_lock(&rs->lock);
		rs->closed = true;
		adv_rs_dgram_close(rs);
		pthread_mutex_unlock(&rs->lock);
	}
	adv_rs_put(rs);
	return 0;
}

ADV_EXPORT int rclose(int socket)
{
	int ret;

	adv_rs_defer_cancel();
	ret = close_rsocket(socket);
	adv_rs_restore_cancel();
	return ret;
}

static ssize_t receive_from(int socket, const struct iovec *iov, size_t count, int flags,
			    union adv_rs_addr *source, bool *truncated)
{
	struct adv_rsocket *rs = adv_rs_begin(socket);
	ssize_t ret;

	if (!rs)
		return -1;
	*truncated = false;
	if (rs->type == SOCK_STREAM) {
		ret = adv_rs_stream_recv(rs, iov, count, flags);
		if (ret >= 0 && source)
			*source = rs->s.peer;
	} else {
		ret = adv_rs_dgram_recv(rs, iov, count, flags, source, truncated);
	}
	adv_rs_end(rs);
	return ret;
}

static ssize_t send_to(int socket, const struct iovec *iov, size_t count, int flags,
		       const struct sockaddr *addr, socklen_t addrlen)
{
	struct adv_rsocket *rs = adv_rs_begin(socket);
	ssize_t ret;

	if (!rs)
		return -1;
	if (rs->type == SOCK_DGRAM)
		ret = adv_rs_dgram_send(rs, iov, count, flags, addr, addrlen);
	else if (flags & MSG_OOB)
		ret = adv_rs_error(EOPNOTSUPP);
	else
		ret = adv_rs_stream_send(rs, iov, count, flags);
	adv_rs_end(rs);
	return ret;
}

ADV_EXPORT ssize_t rrecvfrom(int socket, void *buf, size_t len, int flags,
			     struct sockaddr *src_addr, socklen_t *addrlen)
{
	struct iovec iov = {buf, len};
	union adv_rs_addr source = {0};
	bool truncated;
	ssize_t ret = receive_from(socket, &iov, 1, flags, &source, &truncated);

	if (ret >= 0 && src_addr && addrlen)
		adv_rs_addr_return(&source, src_addr, addrlen);
	return ret;
}

ADV_EXPORT ssize_t rrecv(int socket, void *buf, size_t len, int flags)
{
	return rrecvfrom(socket, buf, len, flags, NULL, NULL);
}

ADV_EXPORT ssize_t rread(int socket, void *buf, size_t count)
{
	return rrecv(socket, buf, count, 0);
}

ADV_EXPORT ssize_t rreadv(int socket, const struct iovec *iov, int iovcnt)
{
	bool truncated;

	if (iovcnt < 0)
		return adv_rs_error(EINVAL);
	return receive_from(socket, iov, (size_t)iovcnt, 0, NULL, &truncated);
}

ADV_EXPORT ssize_t rrecvmsg(int socket, struct msghdr *msg, int flags)
{
	union adv_rs_addr source = {0};
	bool truncated;
	ssize_t ret =
		receive_from(socket, msg->msg_iov, msg->msg_iovlen, flags, &source, &truncated);

	if (ret < 0)
		return ret;
	if (msg->msg_name)
		adv_rs_addr_return(&source, msg->msg_name, &msg->msg_namelen);
	msg->msg_controllen = 0;
	msg->msg_flags = truncated ? MSG_TRUNC : 0;
	return ret;
}

ADV_EXPORT ssize_t rsendto(int socket, const void *buf, size_t len, int flags,
			   const struct sockaddr *dest_addr, socklen_t addrlen)
{
	struct iovec iov = {(void *)(uintptr_t)buf, len};

	return send_to(socket, &iov, 1, flags, dest_addr, addrlen);
}

ADV_EXPORT ssize_t rsend(int socket, const void *buf, size_t len, int flags)
{
	return rsendto(socket, buf, len, flags, NULL, 0);
}

ADV_EXPORT ssize_t rwrite(int socket, const void *buf, size_t count)
{
	return rsend(socket, buf, count, 0);
}

ADV_EXPORT ssize_t rwritev(int socket, const struct iovec *iov, int iovcnt)
{
	if (iovcnt < 0)
		return adv_rs_error(EINVAL);
	return send_to(socket, iov, (size_t)iovcnt, 0, NULL, 0);
}

ADV_EXPORT ssize_t rsendmsg(int socket, const struct msghdr *msg, int flags)
{
	if (msg->msg_control && msg->msg_controllen)
		return adv_rs_error(EOPNOTSUPP);
	return send_to(socket, msg->msg_iov, msg->msg_iovlen, flags, msg->msg_name,
		       msg->msg_name ? msg->msg_namelen : 0);
}

ADV_EXPORT int rgetpeername(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
	struct adv_rsocket *rs = adv_rs_begin(socket);
	int ret = 0;

	if (!rs)
		return -1;
	pthread_mutex_lock(&rs->lock);
	if (rs->type == SOCK_DGRAM)
		ret = adv_sys_getpeername(rs->fd, addr, addrlen);
	else if (rs->s.state < ADV_RS_CONNECTED || rs->s.state == ADV_RS_FAILED)
		ret = adv_rs_error(ENOTCONN);
	else
		adv_rs_addr_return(&rs->s.peer, addr, addrlen);
	pthread_mutex_unlock(&rs->lock);
	adv_rs_end(rs);
	return ret;
}

ADV_EXPORT int rgetsockname(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
	struct adv_rsocket *rs = adv_rs_begin(socket);
	union adv_rs_addr name;
	int ret = 0;

	if (!rs)
		return -1;
	pthread_mutex_lock(&rs->lock);
	if (rs->type == SOCK_DGRAM) {
		ret = adv_sys_getsockname(rs->fd, addr, addrlen);
	} else {
		memcpy(&name, rdma_get_local_addr(rs->s.id), sizeof(name));
		if (name.sa.sa_family == AF_UNSPEC)
			name.sa.sa_family = (sa_family_t)rs->domain;
		adv_rs_addr_map(&name, (sa_family_t)rs->domain);
		adv_rs_addr_return(&name, addr, addrlen);
	}
	pthread_mutex_unlock(&rs->lock);
	adv_rs_end(rs);
	return ret;
}

ADV_EXPORT size_t riowrite(int socket, const void *buf, size_t count, off_t offset, int flags)
{
	struct iovec iov = {(void *)(uintptr_t)buf, count};
	struct adv_rsocket *rs = adv_rs_begin(socket);
	ssize_t ret;

	if (!rs)
		return (size_t)-1;
	if (rs->type == SOCK_STREAM && offset >= 0)
		ret = adv_rs_stream_write_at(rs, &iov, (uint64_t)offset, flags);
	else
		ret = adv_rs_error(EINVAL);
	adv_rs_end(rs);
	return (size_t)ret;
}
