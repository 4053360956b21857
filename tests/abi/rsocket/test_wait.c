/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests that a thread that waits in a call on rsockets receives in place of the background thread,
 * and that everything else ends its wait too. Both ends are in this process. */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmocka.h>

#include <rdma/rsocket.h>

#define LIMIT_SEC   60	  /* time limit of a test */
#define PATIENCE_MS 30000 /* a test that takes longer hangs */
#define ROUNDS	    300

/* A thread that waits at an rsocket: for one byte, or in another call. */
struct waiter {
	pthread_t thread;
	int fd;
	int (*call)(int fd); /* the other call; NULL: none */
	int blocks;	     /* signal that the thread blocks; 0: none */
	int other;	     /* a further descriptor of rpoll(); -1: none */
	bool polls;	     /* waits in rpoll() before it reads */
	int timeout;	     /* of rpoll() */
	atomic_int tid;
	int found; /* result of rpoll() */
	int error;
	struct pollfd fds[2];
	atomic_bool done;
};

static void connect_pair(int ends[2])
{
	struct sockaddr_in sin = {.sin_family = AF_INET};
	int lfd = rsocket(AF_INET, SOCK_STREAM, 0), fd = rsocket(AF_INET, SOCK_STREAM, 0);
	socklen_t len = sizeof(sin);

	assert_true(lfd >= 0 && fd >= 0);
	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(rbind(lfd, (struct sockaddr *)&sin, sizeof(sin)), 0);
	assert_int_equal(rlisten(lfd, 1), 0);
	assert_int_equal(rgetsockname(lfd, (struct sockaddr *)&sin, &len), 0);
	assert_int_equal(rconnect(fd, (struct sockaddr *)&sin, sizeof(sin)), 0);
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

static void *wait_main(void *arg)
{
	struct waiter *w = arg;
	char byte;

	if (w->blocks) {
		sigset_t set;

		sigemptyset(&set);
		sigaddset(&set, w->blocks);
		pthread_sigmask(SIG_BLOCK, &set, NULL);
	}
	w->tid = (int)syscall(SYS_gettid);
	w->fds[0] = (struct pollfd){.fd = w->fd, .events = POLLIN};
	w->fds[1] = (struct pollfd){.fd = w->other, .events = POLLIN};
	if (w->call)
		w->found = w->call(w->fd);
	else if (w->polls)
		w->found = rpoll(w->fds, 2, w->timeout);
	else
		w->found = (int)rrecv(w->fd, &byte, 1, 0);
	w->error = errno;
	w->done = true;
	return NULL;
}

static void start_waiter(struct waiter *w)
{
	w->done = false;
	w->tid = 0;
	w->found = -2;
	assert_int_equal(pthread_create(&w->thread, NULL, wait_main, w), 0);
	while (!w->tid)
		usleep(100);
}

/* Returns the result of the call. */
static int join_waiter(struct waiter *w)
{
	for (int i = 0; i < PATIENCE_MS && !w->done; i++)
		usleep(1000);
	assert_true(w->done);
	assert_int_equal(pthread_join(w->thread, NULL), 0);
	return w->found;
}

static bool is_datagram_socket(int fd)
{
	socklen_t len = sizeof(int);
	int type;

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_DGRAM;
}

/* Copies from the stack of a thread that may run. */
__attribute__((noinline, no_sanitize_address, no_sanitize_thread)) static void
copy_from_stack(struct pollfd *to, const volatile struct pollfd *from, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		to[i].fd = from[i].fd;
}

/* Copies the descriptors on which the thread sleeps in ppoll(2). Returns their number; 0: it does
 * not sleep there. */
static unsigned descriptors_of(const struct waiter *w, struct pollfd *fds, unsigned room)
{
	char path[64], line[256] = "";
	unsigned long array, count;
	long call;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", w->tid);
	file = fopen(path, "r");
	assert_non_null(file);
	(void)!fgets(line, sizeof(line), file);
	fclose(file);
	if (sscanf(line, "%ld %lx %lx", &call, &array, &count) != 3 || call != SYS_ppoll)
		return 0;
	count = count < room ? count : room;
	copy_from_stack(fds, (const volatile struct pollfd *)array, (unsigned)count);
	return (unsigned)count;
}

/* Waits until the thread sleeps on the device's socket. */
static void expect_receives(const struct waiter *w)
{
	for (int i = 0; i < PATIENCE_MS; i++) {
		struct pollfd fds[16];
		unsigned count = descriptors_of(w, fds, 16);

		for (unsigned k = 0; k < count; k++)
			if (is_datagram_socket(fds[k].fd))
				return;
		usleep(1000);
	}
	fail();
}

static void send_byte(int fd)
{
	assert_int_equal(rsend(fd, "x", 1, 0), 1);
}

static void take_byte(int fd)
{
	char byte;

	assert_int_equal(rrecv(fd, &byte, 1, 0), 1);
}

static void test_receive(void **state)
{
	struct waiter w = {.other = -1};
	int ends[2];

	connect_pair(ends);
	w.fd = ends[1];
	for (unsigned i = 0; i < 3; i++) {
		start_waiter(&w);
		expect_receives(&w);
		send_byte(ends[0]);
		assert_int_equal(join_waiter(&w), 1);
	}
	close_pair(ends);
}

static void test_poll(void **state)
{
	struct waiter w = {.polls = true, .timeout = -1};
	int ends[2], pipe_ends[2];

	connect_pair(ends);
	assert_int_equal(pipe(pipe_ends), 0);
	w.fd = ends[1];
	w.other = pipe_ends[0];
	for (unsigned i = 0; i < 3; i++) {
		start_waiter(&w);
		expect_receives(&w);
		send_byte(ends[0]);
		assert_int_equal(join_waiter(&w), 1);
		assert_int_equal(w.fds[0].revents, POLLIN);
		assert_int_equal(w.fds[1].revents, 0);
		take_byte(ends[1]);
	}
	start_waiter(&w);
	expect_receives(&w);
	assert_int_equal(write(pipe_ends[1], "x", 1), 1);
	assert_int_equal(join_waiter(&w), 1);
	assert_int_equal(w.fds[0].revents, 0);
	assert_int_equal(w.fds[1].revents, POLLIN);
	close(pipe_ends[0]);
	close(pipe_ends[1]);
	close_pair(ends);
}

static void test_timeout(void **state)
{
	struct waiter w = {.other = -1, .polls = true, .timeout = 20};
	struct timeval limit = {.tv_usec = 20000};
	int ends[2];

	connect_pair(ends);
	w.fd = ends[1];
	start_waiter(&w);
	assert_int_equal(join_waiter(&w), 0);
	w.polls = false;
	assert_int_equal(rsetsockopt(ends[1], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), 0);
	start_waiter(&w);
	assert_int_equal(join_waiter(&w), -1);
	assert_int_equal(w.error, EAGAIN);
	close_pair(ends);
}

static void handler(int number)
{
}

/* Tests that any handler ends rpoll(), as it ends poll(2). Signals arrive until the wait is over:
 * one that arrives while the thread handles a packet, such as an ACK of the connection, does not
 * end it. */
static void test_signal(void **state)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART}, before;
	struct waiter w = {.other = -1, .polls = true, .timeout = -1};
	int ends[2];

	connect_pair(ends);
	assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
	w.fd = ends[1];
	start_waiter(&w);
	expect_receives(&w);
	for (int i = 0; i < PATIENCE_MS && !w.done; i++) {
		assert_int_equal(pthread_kill(w.thread, SIGUSR1), 0);
		usleep(1000);
	}
	assert_int_equal(join_waiter(&w), -1);
	assert_int_equal(w.error, EINTR);
	assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
	close_pair(ends);
}

static int call_accept(int fd)
{
	return raccept(fd, NULL, NULL);
}

/* Sends until a call fails: the peer does not read. */
static int call_send(int fd)
{
	static char data[65536];
	ssize_t sent;

	do
		sent = rsend(fd, data, sizeof(data), 0);
	while (sent > 0); /* after a signal, a call may return a part of its data */
	return (int)sent;
}

static void expect_sleeps(const struct waiter *w)
{
	struct pollfd fds[16];

	for (int i = 0; i < PATIENCE_MS; i++) {
		if (descriptors_of(w, fds, 16) > 0)
			return;
		usleep(1000);
	}
	fail();
}

static void handle_signals(int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags};

	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
}

/* Sends signals to the thread, each while it sleeps. */
static void signal_often(const struct waiter *w)
{
	for (int i = 0; i < 10; i++) {
		expect_sleeps(w);
		assert_int_equal(pthread_kill(w->thread, SIGUSR1), 0);
		usleep(2000);
	}
}

static void expect_interrupted(struct waiter *w)
{
	for (int i = 0; i < PATIENCE_MS && !w->done; i++) {
		assert_int_equal(pthread_kill(w->thread, SIGUSR1), 0);
		usleep(1000);
	}
	assert_int_equal(join_waiter(w), -1);
	assert_int_equal(w->error, EINTR);
}

static int make_listener(struct sockaddr_in *sin)
{
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);
	socklen_t len = sizeof(*sin);

	assert_true(fd >= 0);
	*sin = (struct sockaddr_in){.sin_family = AF_INET};
	sin->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(rbind(fd, (struct sockaddr *)sin, sizeof(*sin)), 0);
	assert_int_equal(rlisten(fd, 8), 0);
	assert_int_equal(rgetsockname(fd, (struct sockaddr *)sin, &len), 0);
	return fd;
}

static int connect_to(const struct sockaddr_in *sin)
{
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(rconnect(fd, (const struct sockaddr *)sin, sizeof(*sin)), 0);
	return fd;
}

/* Tests that a call goes on after a handler with SA_RESTART, as those on sockets do, and ends after
 * another handler. */
static void test_restart(void **state)
{
	struct waiter receiver = {.other = -1}, sender = {.other = -1, .call = call_send};
	struct waiter acceptor = {.other = -1, .call = call_accept};
	struct waiter *w[] = {&receiver, &sender, &acceptor};
	struct sockaddr_in sin;
	int ends[2], fd;

	connect_pair(ends);
	receiver.fd = sender.fd = ends[0];
	acceptor.fd = make_listener(&sin);
	for (int i = 0; i < 3; i++) {
		handle_signals(SA_RESTART);
		start_waiter(w[i]);
		signal_often(w[i]);
		assert_false(w[i]->done);
		handle_signals(0);
		expect_interrupted(w[i]);
	}
	handle_signals(SA_RESTART);
	start_waiter(&acceptor);
	signal_often(&acceptor);
	fd = connect_to(&sin);
	assert_true(join_waiter(&acceptor) >= 0);
	assert_int_equal(rclose(acceptor.found), 0);
	assert_int_equal(rclose(acceptor.fd), 0);
	assert_int_equal(rclose(fd), 0);
	assert_int_equal(rclose(ends[1]), 0);
	assert_int_equal(rclose(ends[0]), 0);
}

/* Tests that any handler ends a call on an rsocket that has a timeout: signal(7). */
static void test_restart_with_timeout(void **state)
{
	struct waiter w = {.other = -1};
	struct timeval limit = {.tv_sec = LIMIT_SEC};
	int ends[2];

	connect_pair(ends);
	w.fd = ends[1];
	assert_int_equal(rsetsockopt(ends[1], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), 0);
	handle_signals(SA_RESTART);
	start_waiter(&w);
	expect_sleeps(&w);
	expect_interrupted(&w);
	close_pair(ends);
}

/* Tests that a handler without SA_RESTART does not count for a thread that blocks its signal. */
static void test_restart_of_mixed_handlers(void **state)
{
	struct sigaction action = {.sa_handler = handler}, before;
	struct waiter w = {.other = -1};
	int ends[2];

	connect_pair(ends);
	w.fd = ends[1];
	handle_signals(SA_RESTART);
	assert_int_equal(sigaction(SIGUSR2, &action, &before), 0);
	start_waiter(&w);
	expect_sleeps(&w);
	expect_interrupted(&w);
	w.blocks = SIGUSR2;
	start_waiter(&w);
	signal_often(&w);
	assert_false(w.done);
	send_byte(ends[0]);
	assert_int_equal(join_waiter(&w), 1);
	assert_int_equal(sigaction(SIGUSR2, &before, NULL), 0);
	close_pair(ends);
}

/* Tests that rconnect(2) succeeds while a timer ticks, such as a profiler's. */
static void test_restart_connecting(void **state)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
	const struct itimerval ticks = {{0, 500}, {0, 500}}, none = {{0}, {0}};
	struct sockaddr_in sin;
	int listener = make_listener(&sin), fds[4];

	assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &ticks, NULL), 0);
	for (int i = 0; i < 4; i++)
		fds[i] = connect_to(&sin);
	assert_int_equal(setitimer(ITIMER_REAL, &none, NULL), 0);
	signal(SIGALRM, SIG_DFL);
	for (int i = 0; i < 4; i++)
		assert_int_equal(rclose(fds[i]), 0);
	assert_int_equal(rclose(listener), 0);
}

/* Tests that a call of another thread on the same rsocket ends the wait. */
static void test_other_thread(void **state)
{
	struct waiter w = {.other = -1};
	int ends[2];

	connect_pair(ends);
	w.fd = ends[1];
	start_waiter(&w);
	expect_receives(&w);
	assert_int_equal(rshutdown(ends[1], SHUT_RD), 0);
	assert_int_equal(join_waiter(&w), 0);
	close_pair(ends);
}

static void *answer(void *arg)
{
	const int *fd = arg;

	for (unsigned i = 0; i < ROUNDS; i++) {
		take_byte(*fd);
		send_byte(*fd);
	}
	return NULL;
}

/* Tests that no event is lost or counted twice, whichever thread received: a lost one costs half a
 * second, and rclose() would wait for one that is not acknowledged. */
static void test_many_waits(void **state)
{
	pthread_t thread;
	int ends[2];

	connect_pair(ends);
	assert_int_equal(pthread_create(&thread, NULL, answer, &ends[1]), 0);
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct pollfd twice[] = {{.fd = ends[0], .events = POLLIN},
					 {.fd = ends[0], .events = POLLIN}};

		send_byte(ends[0]);
		if (i % 2)
			assert_true(rpoll(twice, 2, -1) > 0);
		take_byte(ends[0]);
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
	close_pair(ends);
}

static int start_clock(void **state)
{
	alarm(LIMIT_SEC);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_receive, start_clock),
		cmocka_unit_test_setup(test_poll, start_clock),
		cmocka_unit_test_setup(test_timeout, start_clock),
		cmocka_unit_test_setup(test_signal, start_clock),
		cmocka_unit_test_setup(test_restart, start_clock),
		cmocka_unit_test_setup(test_restart_with_timeout, start_clock),
		cmocka_unit_test_setup(test_restart_of_mixed_handlers, start_clock),
		cmocka_unit_test_setup(test_restart_connecting, start_clock),
		cmocka_unit_test_setup(test_other_thread, start_clock),
		cmocka_unit_test_setup(test_many_waits, start_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
