/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sockets of NETLINK_RDMA when the library is preloaded: threads, children, signals, full sockets.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <linux/netlink.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rdma_netlink.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIST (RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET))

static int open_bound(void)
{
	struct sockaddr_nl name = {.nl_family = AF_NETLINK};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	return fd;
}

static uint32_t port_of(int fd)
{
	struct sockaddr_nl name = {0};
	socklen_t len = sizeof(name);

	assert_int_equal(getsockname(fd, (struct sockaddr *)&name, &len), 0);
	assert_int_equal(len, sizeof(name));
	assert_int_equal(name.nl_family, AF_NETLINK);
	return name.nl_pid;
}

/* True if the socket receives a complete answer that lists the device. */
static bool lists(int fd, uint32_t serial)
{
	const struct nlmsghdr request = {sizeof(request), LIST, NLM_F_REQUEST | NLM_F_DUMP, serial,
					 0};
	struct sockaddr_nl from = {.nl_family = AF_NETLINK};
	char room[8192] __attribute__((aligned(8)));
	const struct nlmsghdr *h = (const void *)room;
	struct iovec iov = {room, sizeof(room)};
	struct msghdr msg = {
		.msg_name = &from, .msg_namelen = sizeof(from), .msg_iov = &iov, .msg_iovlen = 1};
	ssize_t n;

	if (sendto(fd, &request, sizeof(request), 0, (struct sockaddr *)&from, sizeof(from)) !=
	    sizeof(request))
		return false;
	from.nl_pid = 5;
	n = recvmsg(fd, &msg, 0);
	return n > (ssize_t)sizeof(*h) && h->nlmsg_type == LIST && h->nlmsg_seq == serial &&
	       h->nlmsg_pid == port_of(fd) && from.nl_family == AF_NETLINK && from.nl_pid == 0 &&
	       msg.msg_namelen == sizeof(from) && !(msg.msg_flags & MSG_TRUNC) &&
	       memmem(room, (size_t)n, "adverb0", 8);
}

static void is_named_like_the_kernels(void **state)
{
	struct sockaddr_nl other = {.nl_family = AF_NETLINK, .nl_pid = 77};
	int one = open_bound(), two = open_bound(), type, family;
	socklen_t len = sizeof(int);

	assert_int_equal(port_of(one), getpid());
	assert_int_not_equal(port_of(two), port_of(one));
	assert_int_equal(getsockopt(one, SOL_SOCKET, SO_TYPE, &type, &len), 0);
	assert_int_equal(getsockopt(one, SOL_SOCKET, SO_DOMAIN, &family, &len), 0);
	assert_int_equal(type, SOCK_RAW);
	assert_int_equal(family, AF_NETLINK);
	assert_int_equal(setsockopt(one, SOL_NETLINK, NETLINK_EXT_ACK, &type, sizeof(type)), 0);
	assert_int_equal(setsockopt(one, SOL_SOCKET, SO_RCVBUF, &type, sizeof(type)), 0);
	assert_int_equal(sendto(one, "x", 1, 0, (struct sockaddr *)&other, sizeof(other)), -1);
	assert_int_equal(errno, ECONNREFUSED);
	assert_int_equal(bind(one, (struct sockaddr *)&other, sizeof(other)), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(socket(AF_NETLINK, SOCK_STREAM, NETLINK_RDMA), -1);
	assert_int_equal(errno, ESOCKTNOSUPPORT);
	close(one);
	close(two);
}

static void answers_again_and_again(void **state)
{
	for (uint32_t i = 1; i < 300; i++) { /* more sockets than the library remembers */
		int fd = open_bound();

		assert_true(lists(fd, i));
		close(fd);
	}
}

/* No answer is lost if a thousand answers are unread, more than the socket holds. */
static void keeps_what_does_not_fit(void **state)
{
	const struct nlmsghdr bad = {sizeof(bad), LIST + 1, NLM_F_REQUEST, 0, 0};
	struct nlmsghdr request = bad;
	int fd = open_bound(), n;
	struct pollfd p = {fd, POLLIN, 0};
	char room[4096] __attribute__((aligned(8)));
	const struct nlmsghdr *h = (const void *)room;

	assert_int_equal(poll(&p, 1, 0), 0);
	for (request.nlmsg_seq = 0; request.nlmsg_seq < 20000; request.nlmsg_seq++)
		assert_int_equal(send(fd, &request, sizeof(request), 0), sizeof(request));
	for (uint32_t i = 0; i < 20000; i++) {
		assert_int_equal(poll(&p, 1, 0), 1);
		assert_int_equal(recv(fd, room, sizeof(room), MSG_PEEK | MSG_TRUNC), 36);
		n = (int)recv(fd, room, sizeof(room), MSG_DONTWAIT);
		assert_int_equal(n, 36);
		assert_int_equal(h->nlmsg_type, NLMSG_ERROR);
		assert_int_equal(h->nlmsg_seq, i);
	}
	assert_int_equal(recv(fd, room, sizeof(room), MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
	close(fd);
}

static int wake[2];
static volatile sig_atomic_t alarms;

/* Counts a signal, and writes a byte to a pipe. The signals interrupt the calls of the test. */
static void on_alarm(int signal_number)
{
	alarms += write(wake[1], "x", 1) == 1;
}

static void *list_often(void *failed)
{
	int fd = open_bound();

	for (uint32_t i = 1; i < 100; i++)
		if (!lists(fd, i))
			__atomic_fetch_add((int *)failed, 1, __ATOMIC_RELAXED);
	close(fd);
	return NULL;
}

static void stands_threads_children_and_signals(void **state)
{
	const struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
	struct sigaction act = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	pthread_t threads[4];
	pid_t children[4];
	int failed = 0, status;

	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, wake), 0);
	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(pthread_create(&threads[i], NULL, list_often, &failed), 0);
		children[i] = fork();
		if (children[i] == 0) {
			list_often(&failed);
			_exit(failed != 0);
		}
	}
	for (int i = 0; i < 5; i++)
		list_often(&failed); /* this thread receives the signals */
	for (int i = 0; i < 4; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_int_equal(waitpid(children[i], &status, 0), children[i]);
		assert_int_equal(status, 0);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	assert_true(alarms > 0);
	assert_int_equal(failed, 0);
	close(wake[0]);
	close(wake[1]);
}

/* No other process can send to the socket. */
static void hears_nobody_else(void **state)
{
	int fd = open_bound(), other = socket(AF_UNIX, SOCK_DGRAM, 0);
	struct sockaddr_storage name;
	socklen_t len = sizeof(name);
	char byte;

	/* The real name of the socket, which /proc/net/unix shows. */
	assert_int_equal(syscall(SYS_getsockname, fd, &name, &len), 0);
	assert_int_equal(name.ss_family, AF_UNIX);
	assert_int_equal(sendto(other, "x", 1, 0, (struct sockaddr *)&name, len), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), -1);
	close(other);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_named_like_the_kernels),
		cmocka_unit_test(answers_again_and_again),
		cmocka_unit_test(keeps_what_does_not_fit),
		cmocka_unit_test(stands_threads_children_and_signals),
		cmocka_unit_test(hears_nobody_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
