/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Stream rsockets as a program uses them, at adverbd: both ends in this process, or one in a
 * child. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "rsockets.h"

#define MIB (1 << 20)

/* Makes a listener on a free port, and returns its address. */
static int listener(struct sockaddr_in *addr)
{
	socklen_t len = sizeof(*addr);
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	*addr = loopback(0);
	assert_int_equal(rbind(fd, (struct sockaddr *)addr, sizeof(*addr)), 0);
	assert_int_equal(rlisten(fd, 64), 0);
	assert_int_equal(rgetsockname(fd, (struct sockaddr *)addr, &len), 0);
	assert_true(addr->sin_port != 0);
	return fd;
}

/* Makes two connected ends. Each has a table of 4 mappings. */
static void connect_pair(int ends[2])
{
	int four = 4, lfd, fd = rsocket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in addr;

	lfd = listener(&addr);
	assert_int_equal(rsetsockopt(lfd, SOL_RDMA, RDMA_IOMAPSIZE, &four, sizeof(four)), 0);
	assert_int_equal(rsetsockopt(fd, SOL_RDMA, RDMA_IOMAPSIZE, &four, sizeof(four)), 0);
	assert_int_equal(rconnect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	ends[0] = fd;
	ends[1] = raccept(lfd, NULL, NULL);
	assert_true(ends[1] >= 0);
	assert_int_equal(rclose(lfd), 0);
}

static void close_pair(const int ends[2])
{
	assert_int_equal(rclose(ends[0]), 0);
	assert_int_equal(rclose(ends[1]), 0);
}

static uint8_t pattern(size_t i, unsigned seed)
{
	return (uint8_t)(i * 31 + (i >> 8) * 7 + seed);
}

static void test_bad_numbers(void **state)
{
	static const int numbers[] = {-1, 0, 1, 999, 1 << 20, INT32_MAX};
	struct sockaddr_in addr = loopback(1);
	socklen_t len = sizeof(addr);
	struct iovec iov = {&addr, 1};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	int value = 0;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		int fd = numbers[i];

		assert_fails(rbind(fd, (struct sockaddr *)&addr, len), EBADF);
		assert_fails(rlisten(fd, 1), EBADF);
		assert_fails(raccept(fd, NULL, NULL), EBADF);
		assert_fails(rconnect(fd, (struct sockaddr *)&addr, len), EBADF);
		assert_fails(rshutdown(fd, SHUT_RDWR), EBADF);
		assert_fails(rclose(fd), EBADF);
		assert_fails(rrecv(fd, &value, 1, 0), EBADF);
		assert_fails(rsend(fd, &value, 1, 0), EBADF);
		assert_fails(rrecvmsg(fd, &msg, 0), EBADF);
		assert_fails(rsendmsg(fd, &msg, 0), EBADF);
		assert_fails(rreadv(fd, &iov, 1), EBADF);
		assert_fails(rwritev(fd, &iov, 1), EBADF);
		assert_fails(rgetsockname(fd, (struct sockaddr *)&addr, &len), EBADF);
		assert_fails(rgetpeername(fd, (struct sockaddr *)&addr, &len), EBADF);
		assert_fails(rsetsockopt(fd, SOL_SOCKET, SO_SNDBUF, &value, sizeof(value)), EBADF);
		assert_fails(rgetsockopt(fd, SOL_SOCKET, SO_SNDBUF, &value, &len), EBADF);
		assert_fails(rfcntl(fd, F_GETFL), EBADF);
		assert_fails(riomap(fd, &value, 4, PROT_WRITE, 0, 0), EBADF);
		assert_fails(riounmap(fd, &value, 4), EBADF);
		assert_fails(riowrite(fd, &value, 4, 0, 0), EBADF);
	}
	assert_fails(rsocket(AF_UNIX, SOCK_STREAM, 0), EOPNOTSUPP);
	assert_fails(rsocket(AF_INET, SOCK_RAW, 0), EOPNOTSUPP);
	assert_fails(rsocket(AF_INET, SOCK_STREAM, IPPROTO_UDP), EOPNOTSUPP);
}

static void test_not_connected(void **state)
{
	struct sockaddr_in addr = loopback(9), bound;
	struct sockaddr_in6 six = {.sin6_family = AF_INET6};
	socklen_t len = sizeof(bound);
	int fd = rsocket(AF_INET, SOCK_STREAM, IPPROTO_TCP), other, value = 0;

	assert_fails(rsend(fd, &value, 1, 0), ENOTCONN);
	assert_fails(rrecv(fd, &value, 1, 0), ENOTCONN);
	assert_fails(rshutdown(fd, SHUT_WR), ENOTCONN);
	assert_fails(rgetpeername(fd, (struct sockaddr *)&bound, &len), ENOTCONN);
	assert_fails(raccept(fd, NULL, NULL), EINVAL);
	assert_fails(riomap(fd, &value, 4, PROT_WRITE, 0, 0), EINVAL);
	assert_fails(rbind(fd, (struct sockaddr *)&six, sizeof(six)), EAFNOSUPPORT);
	assert_fails(rbind(fd, (struct sockaddr *)&addr, 4), EINVAL);
	assert_fails(rconnect(fd, NULL, 0), EFAULT);
	assert_int_equal(rconnect(fd, (struct sockaddr *)&addr, sizeof(addr)), -1);
	assert_int_equal(errno, ECONNREFUSED);
	assert_fails(rsend(fd, &value, 1, 0), ENOTCONN);
	assert_int_equal(rclose(fd), 0);
	assert_fails(rclose(fd), EBADF);
	fd = listener(&bound);
	other = rsocket(AF_INET, SOCK_STREAM, 0);
	assert_fails(rbind(other, (struct sockaddr *)&bound, sizeof(bound)), EADDRINUSE);
	assert_int_equal(rclose(other), 0);
	assert_int_equal(rclose(fd), 0);
}

struct stream {
	int fd;
	size_t len;
	unsigned seed;
	bool sends;
};

static void *pump(void *arg)
{
	const struct stream *s = arg;
	uint8_t *buf = malloc(100000);
	size_t done = 0, step = 1;

	while (done < s->len) {
		size_t n = s->len - done < step ? s->len - done : step;
		ssize_t ret;

		for (size_t i = 0; s->sends && i < n; i++)
			buf[i] = pattern(done + i, s->seed);
		ret = s->sends ? rsend(s->fd, buf, n, 0) : rrecv(s->fd, buf, n, 0);
		if (ret <= 0)
			break;
		for (ssize_t i = 0; !s->sends && i < ret; i++) {
			if (buf[i] != pattern(done + (size_t)i, s->seed))
				goto out;
		}
		done += (size_t)ret;
		step = step * 3 % 99991 + 1;
	}
out:
	free(buf);
	return (void *)(intptr_t)(done == s->len);
}

static void test_both_ways_at_once(void **state)
{
	pthread_t threads[4];
	int ends[2];
	void *good;

	connect_pair(ends);
	struct stream streams[4] = {{ends[0], 8 * MIB, 1, true},
				    {ends[1], 8 * MIB, 1, false},
				    {ends[1], 8 * MIB, 2, true},
				    {ends[0], 8 * MIB, 2, false}};
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, pump, &streams[i]), 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], &good);
		assert_non_null(good);
	}
	close_pair(ends);
}

static void test_non_blocking(void **state)
{
	int lfd, fd = rsocket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), taken, err = -1;
	static uint8_t buf[65536], back[65536];
	struct sockaddr_in addr, peer, name;
	socklen_t len = sizeof(err), peer_len = sizeof(peer);
	size_t sent = 0, got = 0;
	ssize_t n;

	lfd = listener(&addr);
	assert_int_equal(rfcntl(lfd, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(rfcntl(lfd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	assert_fails(raccept(lfd, NULL, NULL), EAGAIN);
	assert_int_equal(poll_one(lfd, POLLIN, 0), 0);
	assert_fails(rconnect(fd, (struct sockaddr *)&addr, sizeof(addr)), EINPROGRESS);
	assert_int_equal(poll_one(fd, POLLOUT, PATIENCE_MS), POLLOUT);
	assert_int_equal(rgetsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len), 0);
	assert_int_equal(err, 0);
	assert_int_equal(rconnect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_fails(rconnect(fd, (struct sockaddr *)&addr, sizeof(addr)), EISCONN);
	assert_int_equal(poll_one(lfd, POLLIN, PATIENCE_MS), POLLIN);
	taken = raccept(lfd, (struct sockaddr *)&peer, &peer_len);
	assert_true(taken >= 0);
	assert_int_equal(rfcntl(taken, F_GETFL) & O_NONBLOCK, 0);
	peer_len = sizeof(name);
	assert_int_equal(rgetsockname(fd, (struct sockaddr *)&name, &peer_len), 0);
	assert_int_equal(name.sin_port, peer.sin_port);
	assert_fails(rrecv(fd, buf, 1, 0), EAGAIN);
	assert_fails(rrecv(taken, buf, 1, MSG_DONTWAIT), EAGAIN);
	for (size_t i = 0; i < sizeof(buf); i++)
		buf[i] = pattern(i, 3);
	while ((n = rsend(fd, buf, sizeof(buf), 0)) > 0)
		sent += (size_t)n;
	assert_int_equal(errno, EAGAIN);
	assert_true(sent >= sizeof(buf));
	assert_int_equal(poll_one(fd, POLLOUT, 0), 0);
	while (got < sent) {
		n = rrecv(taken, back, sizeof(back), 0);
		assert_true(n > 0);
		got += (size_t)n;
	}
	assert_int_equal(poll_one(fd, POLLOUT, PATIENCE_MS), POLLOUT);
	assert_int_equal(rclose(taken), 0);
	assert_int_equal(rclose(fd), 0);
	assert_int_equal(rclose(lfd), 0);
	fd = rsocket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	assert_fails(rconnect(fd, (struct sockaddr *)&addr, sizeof(addr)), EINPROGRESS);
	assert_true(poll_one(fd, POLLOUT, PATIENCE_MS) & POLLERR);
	assert_int_equal(rgetsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len), 0);
	assert_int_equal(err, ECONNREFUSED);
	assert_int_equal(rclose(fd), 0);
}

static void test_pieces(void **state)
{
	char a[4] = "", b[8] = "";
	struct iovec out[3] = {{"ab", 2}, {"", 0}, {"cdefg", 5}}, in[2] = {{a, 3}, {b, 4}};
	struct msghdr msg = {.msg_iov = in, .msg_iovlen = 2};
	int ends[2];

	connect_pair(ends);
	assert_int_equal(rwritev(ends[0], out, 3), 7);
	assert_int_equal(rrecv(ends[1], b, 3, MSG_PEEK | MSG_WAITALL), 3);
	assert_memory_equal(b, "abc", 3);
	assert_int_equal(rrecvmsg(ends[1], &msg, MSG_WAITALL), 7);
	assert_string_equal(a, "abc");
	assert_string_equal(b, "defg");
	msg.msg_iov = out;
	msg.msg_iovlen = 3;
	assert_int_equal(rsendmsg(ends[1], &msg, 0), 7);
	assert_int_equal(rsend(ends[1], "h", 1, 0), 1);
	assert_int_equal(rrecv(ends[0], b, 8, MSG_WAITALL), 8);
	assert_memory_equal(b, "abcdefgh", 8);
	assert_int_equal(rsend(ends[0], b, 0, 0), 0);
	assert_fails(rrecv(ends[0], b, 1, MSG_DONTWAIT), EAGAIN);
	assert_fails(rrecv(ends[0], b, 1, MSG_OOB), EOPNOTSUPP);
	assert_fails(rreadv(ends[0], in, -1), EINVAL);
	close_pair(ends);
}

static void test_half_closed(void **state)
{
	char c = 'x';
	int ends[2];

	connect_pair(ends);
	assert_int_equal(rsend(ends[0], "abc", 3, 0), 3);
	assert_int_equal(rshutdown(ends[0], SHUT_WR), 0);
	assert_fails(rsend(ends[0], &c, 1, 0), EPIPE);
	assert_int_equal(rrecv(ends[1], &c, 1, 0), 1);
	assert_int_equal(c, 'a');
	assert_int_equal(rrecv(ends[1], &c, 1, 0), 1);
	assert_int_equal(rrecv(ends[1], &c, 1, 0), 1);
	assert_int_equal(rrecv(ends[1], &c, 1, 0), 0);
	assert_int_equal(poll_one(ends[1], POLLIN | POLLRDHUP, 0), POLLIN | POLLRDHUP);
	assert_int_equal(rsend(ends[1], "yz", 2, 0), 2); /* the other direction is still open */
	assert_int_equal(rrecv(ends[0], &c, 1, 0), 1);
	assert_int_equal(rshutdown(ends[1], SHUT_WR), 0);
	assert_int_equal(rrecv(ends[0], &c, 1, 0), 1);
	assert_int_equal(c, 'z');
	assert_int_equal(rrecv(ends[0], &c, 1, 0), 0);
	assert_true(poll_one(ends[0], POLLIN, 0) & POLLHUP);
	close_pair(ends);
}

static void test_peer_closes(void **state)
{
	struct linger linger = {1, 0};
	char buf[8];
	int ends[2];

	connect_pair(ends);
	assert_int_equal(rsend(ends[0], "last", 4, 0), 4);
	assert_int_equal(rclose(ends[0]), 0);
	assert_int_equal(rrecv(ends[1], buf, 8, MSG_WAITALL), 4);
	assert_int_equal(rrecv(ends[1], buf, 8, 0), 0);
	assert_fails(rsend(ends[1], buf, 1, 0), ECONNRESET);
	assert_fails(rsend(ends[1], buf, 1, 0), EPIPE);
	assert_int_equal(rrecv(ends[1], buf, 8, 0), 0);
	assert_int_equal(rclose(ends[1]), 0);
	connect_pair(ends);
	assert_int_equal(rsetsockopt(ends[0], SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
	assert_int_equal(rclose(ends[0]), 0);
	assert_true(rrecv(ends[1], buf, 8, 0) <= 0);
	assert_int_equal(rclose(ends[1]), 0);
}

/* A child connects, sends a byte and then hangs; it is killed while this process waits. */
static void kill_peer(bool sending)
{
	static uint8_t buf[65536];
	struct sockaddr_in addr;
	int lfd = listener(&addr), fd;
	ssize_t n;
	pid_t killer, child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		fd = rsocket(AF_INET, SOCK_STREAM, 0);
		if (rconnect(fd, (struct sockaddr *)&addr, sizeof(addr)) ||
		    rsend(fd, "x", 1, 0) != 1) {
			perror("child");
			_exit(1);
		}
		for (;;)
			pause();
	}
	fd = raccept(lfd, NULL, NULL);
	assert_true(fd >= 0);
	assert_int_equal(rrecv(fd, buf, 1, 0), 1);
	killer = fork();
	assert_true(killer >= 0);
	if (killer == 0) { /* kills within a second */
		sleep(1);
		_exit(kill(child, SIGKILL));
	}
	do {
		n = sending ? rsend(fd, buf, sizeof(buf), 0) : rrecv(fd, buf, sizeof(buf), 0);
	} while (n > 0);
	if (sending)
		assert_true(errno == ECONNRESET || errno == EPIPE || errno == ETIMEDOUT);
	else
		assert_true(n == 0 || errno == ECONNRESET || errno == ETIMEDOUT);
	assert_true(poll_one(fd, POLLIN, 0) & (POLLIN | POLLHUP | POLLERR));
	assert_int_equal(rclose(fd), 0);
	assert_int_equal(rclose(lfd), 0);
	/* wait() could return another process: if this process is the first of its namespace, it
	 * is also the parent of the daemon. */
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(waitpid(killer, NULL, 0), killer);
}

static void test_peer_dies_after_fork(void **state)
{
#ifdef __SANITIZE_THREAD__
	skip(); /* the sanitizer supports no threads in a child */
#endif
	kill_peer(false);
	kill_peer(true);
}

static void *send_later(void *arg)
{
	usleep(200000);
	return (void *)(intptr_t)(rsend(*(int *)arg, "x", 1, 0) == 1);
}

static void test_poll(void **state)
{
	struct timeval short_time = {0, 50000};
	struct pollfd p[3];
	int ends[2], pipe_ends[2];
	pthread_t thread;
	fd_set readable;
	void *good;
	char c;

	connect_pair(ends);
	assert_int_equal(pipe(pipe_ends), 0);
	p[0] = (struct pollfd){.fd = ends[1], .events = POLLIN};
	p[1] = (struct pollfd){.fd = pipe_ends[0], .events = POLLIN};
	p[2] = (struct pollfd){.fd = -1, .events = POLLIN, .revents = 7};
	assert_int_equal(rpoll(p, 3, 50), 0);
	assert_int_equal(p[2].revents, 0);
	assert_int_equal(pthread_create(&thread, NULL, send_later, &ends[0]), 0);
	assert_int_equal(rpoll(p, 3, PATIENCE_MS), 1);
	assert_int_equal(p[0].revents, POLLIN);
	pthread_join(thread, &good);
	assert_non_null(good);
	assert_int_equal(write(pipe_ends[1], "y", 1), 1);
	assert_int_equal(rpoll(p, 3, -1), 2);
	assert_int_equal(rrecv(ends[1], &c, 1, 0), 1);
	assert_int_equal(rpoll(p, 3, -1), 1);
	assert_int_equal(p[1].revents, POLLIN);
	p[2].fd = 987;
	assert_int_equal(rpoll(p, 3, -1), 2);
	assert_int_equal(p[2].revents, POLLNVAL);
	FD_ZERO(&readable);
	FD_SET(ends[1], &readable);
	assert_int_equal(rselect(ends[1] + 1, &readable, NULL, NULL, &short_time), 0);
	assert_false(FD_ISSET(ends[1], &readable));
	assert_int_equal(short_time.tv_usec, 0);
	FD_SET(ends[1], &readable);
	FD_SET(pipe_ends[0], &readable);
	assert_int_equal(rselect(FD_SETSIZE, &readable, NULL, NULL, NULL), 1);
	assert_true(FD_ISSET(pipe_ends[0], &readable) && !FD_ISSET(ends[1], &readable));
	FD_SET(987, &readable);
	assert_fails(rselect(FD_SETSIZE, &readable, NULL, NULL, NULL), EBADF);
	close(pipe_ends[0]);
	close(pipe_ends[1]);
	close_pair(ends);
}

static int int_option(int fd, int level, int name)
{
	int value = -1;
	socklen_t len = sizeof(value);

	assert_int_equal(rgetsockopt(fd, level, name, &value, &len), 0);
	assert_int_equal(len, sizeof(value));
	return value;
}

static void test_options(void **state)
{
	static const struct {
		int level, name, set, got;
	} options[] = {
		{SOL_SOCKET, SO_REUSEADDR, 1, 1},      {SOL_SOCKET, SO_KEEPALIVE, 1, 1},
		{SOL_SOCKET, SO_OOBINLINE, 1, 1},      {SOL_SOCKET, SO_RCVBUF, 10000, 20000},
		{SOL_SOCKET, SO_SNDBUF, 10000, 20000}, {IPPROTO_TCP, TCP_NODELAY, 1, 1},
		{IPPROTO_TCP, TCP_KEEPIDLE, 5, 5},     {IPPROTO_TCP, TCP_KEEPINTVL, 6, 6},
		{IPPROTO_TCP, TCP_KEEPCNT, 7, 7},      {SOL_RDMA, RDMA_SQSIZE, 64, 64},
		{SOL_RDMA, RDMA_RQSIZE, 32, 32},       {SOL_RDMA, RDMA_INLINE, 16, 16},
		{SOL_RDMA, RDMA_IOMAPSIZE, 300, 256},  {IPPROTO_IP, IP_TOS, 0x20, 0x20},
	};
	struct timeval tv = {0, 100000};
	int ends[2], value = 8, fd = rsocket(AF_INET, SOCK_STREAM, 0);
	char c;

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		value = options[i].set;
		assert_int_equal(
			rsetsockopt(fd, options[i].level, options[i].name, &value, sizeof(value)),
			0);
		assert_int_equal(int_option(fd, options[i].level, options[i].name), options[i].got);
	}
	assert_int_equal(int_option(fd, SOL_SOCKET, SO_TYPE), SOCK_STREAM);
	assert_int_equal(int_option(fd, SOL_SOCKET, SO_ACCEPTCONN), 0);
	assert_fails(rsetsockopt(fd, SOL_SOCKET, 9999, &value, sizeof(value)), ENOPROTOOPT);
	assert_fails(rsetsockopt(fd, 77, 1, &value, sizeof(value)), ENOPROTOOPT);
	assert_fails(rsetsockopt(fd, SOL_SOCKET, SO_SNDBUF, &value, 2), EINVAL);
	assert_fails(rsetsockopt(fd, SOL_SOCKET, SO_SNDBUF, NULL, 4), EINVAL);
	assert_fails(rsetsockopt(fd, SOL_RDMA, RDMA_ROUTE, &value, 4), EINVAL);
	assert_int_equal(rclose(fd), 0);
	connect_pair(ends);
	assert_fails(rsetsockopt(ends[0], SOL_RDMA, RDMA_SQSIZE, &value, sizeof(value)), EINVAL);
	assert_true(int_option(ends[0], IPPROTO_TCP, TCP_MAXSEG) >= 256);
	assert_int_equal(rsetsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)), 0);
	assert_fails(rrecv(ends[0], &c, 1, 0), EAGAIN);
	close_pair(ends);
}

/* A connection with keepalive stays up although it is idle for longer than the interval: the
 * hardware of both ends answers. */
static void test_keepalive(void **state)
{
	int ends[2], one = 1;
	char c;

	connect_pair(ends);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(rsetsockopt(ends[i], IPPROTO_TCP, TCP_KEEPIDLE, &one, sizeof(one)),
				 0);
		assert_int_equal(rsetsockopt(ends[i], SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one)),
				 0);
	}
	assert_int_equal(poll_one(ends[0], POLLIN, 3500), 0);
	assert_int_equal(rsend(ends[0], "k", 1, 0), 1);
	assert_int_equal(rrecv(ends[1], &c, 1, 0), 1);
	one = 0;
	assert_int_equal(rsetsockopt(ends[0], SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one)), 0);
	close_pair(ends);
}

static void test_mappings(void **state)
{
	static uint8_t target[20000], source[20000];
	int ends[2];
	char c;

	connect_pair(ends);
	for (size_t i = 0; i < sizeof(source); i++)
		source[i] = pattern(i, 9);
	assert_int_equal(riomap(ends[1], target, sizeof(target), PROT_WRITE, 0, 5000), 5000);
	assert_fails(riowrite(ends[0], source, 10, 5000, 0), EINVAL); /* mapping not received yet */
	assert_int_equal(rsend(ends[1], "m", 1, 0), 1);
	assert_int_equal(rrecv(ends[0], &c, 1, 0), 1);
	assert_int_equal(riowrite(ends[0], source, sizeof(source), 5000, 0), sizeof(source));
	assert_int_equal(rsend(ends[0], "d", 1, 0), 1);
	assert_int_equal(rrecv(ends[1], &c, 1, 0), 1);
	assert_memory_equal(target, source, sizeof(source));
	assert_int_equal(riowrite(ends[0], source, 100, 24990, 0), 10); /* the mapping ends there */
	assert_fails(riowrite(ends[0], source, 1, 4999, 0), EINVAL);
	assert_fails(riowrite(ends[0], source, 1, 25000, 0), EINVAL);
	for (int i = 1; i < 4; i++)
		assert_int_equal(riomap(ends[1], target, 10, PROT_WRITE, 0, i), i);
	assert_fails(riomap(ends[1], target, 10, PROT_WRITE, 0, 4), ENOMEM); /* table is full */
	assert_int_equal(riounmap(ends[1], target, 10), 0);
	assert_fails(riounmap(ends[1], target, 11), EINVAL);
	assert_fails(riomap(ends[1], target, 10, PROT_READ, 0, 4), EINVAL);
	assert_int_equal(riomap(ends[1], target, 10, PROT_NONE, 0, -1), (intptr_t)target);
	close_pair(ends);
}

static void test_many(void **state)
{
	struct sockaddr_in addr;
	int lfd = listener(&addr), fds[40], taken[40];
	char c;

	for (int i = 0; i < 40; i++) {
		fds[i] = rsocket(AF_INET, SOCK_STREAM, 0);
		assert_int_equal(rconnect(fds[i], (struct sockaddr *)&addr, sizeof(addr)), 0);
		assert_int_equal(rsend(fds[i], &(char){(char)i}, 1, 0), 1);
	}
	for (int i = 0; i < 40; i++) {
		taken[i] = raccept(lfd, NULL, NULL);
		assert_true(taken[i] >= 0);
		assert_int_equal(rrecv(taken[i], &c, 1, 0), 1);
		assert_int_equal(c, i);
	}
	for (int i = 0; i < 20; i++)
		assert_int_equal(rclose(fds[i]), 0);
	assert_int_equal(rclose(lfd), 0);
	for (int i = 0; i < 40; i++) {
		if (i >= 20)
			assert_int_equal(rclose(fds[i]), 0);
		assert_int_equal(rrecv(taken[i], &c, 1, 0), 0);
		assert_int_equal(rclose(taken[i]), 0);
	}
}

/* A program may close every number, also that of a connection which raccept() has not returned. */
static void test_close_not_accepted(void **state)
{
	for (int round = 0; round < 2; round++) {
		struct sockaddr_in addr;
		int lfd = listener(&addr), fd = rsocket(AF_INET, SOCK_STREAM, 0), closed = 0, taken;

		assert_int_equal(rconnect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
		assert_true(poll_one(lfd, POLLIN, PATIENCE_MS) & POLLIN);
		for (int i = 0; i < 1024; i++)
			closed += i != lfd && i != fd && rclose(i) == 0;
		assert_int_equal(closed, 1);
		if (round == 0) {
			char c;

			taken = raccept(lfd, NULL, NULL);
			assert_true(taken >= 0);
			assert_int_equal(rrecv(taken, &c, 1, 0), 0);
			assert_int_equal(rclose(taken), 0);
		}
		assert_int_equal(rclose(lfd), 0);
		assert_int_equal(rclose(fd), 0);
	}
}

/* A child has the numbers of its parent's rsockets, but cannot use them. */
static void test_child(void **state)
{
	int ends[2], status;
	pid_t child;
	char c;

	connect_pair(ends);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		int bad = rsend(ends[0], "x", 1, 0) != -1 || errno != EBADF;

		bad |= rclose(ends[0]) != 0 || rclose(ends[0]) != -1 || errno != EBADF;
		_exit(bad);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(rsend(ends[0], "y", 1, 0), 1);
	assert_int_equal(rrecv(ends[1], &c, 1, 0), 1);
	assert_int_equal(c, 'y');
	close_pair(ends);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_bad_numbers, start_clock),
		cmocka_unit_test_setup(test_not_connected, start_clock),
		cmocka_unit_test_setup(test_both_ways_at_once, start_clock),
		cmocka_unit_test_setup(test_non_blocking, start_clock),
		cmocka_unit_test_setup(test_pieces, start_clock),
		cmocka_unit_test_setup(test_half_closed, start_clock),
		cmocka_unit_test_setup(test_peer_closes, start_clock),
		cmocka_unit_test_setup(test_peer_dies_after_fork, start_clock),
		cmocka_unit_test_setup(test_poll, start_clock),
		cmocka_unit_test_setup(test_options, start_clock),
		cmocka_unit_test_setup(test_keepalive, start_clock),
		cmocka_unit_test_setup(test_mappings, start_clock),
		cmocka_unit_test_setup(test_many, start_clock),
		cmocka_unit_test_setup(test_close_not_accepted, start_clock),
		cmocka_unit_test_setup(test_child, start_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
