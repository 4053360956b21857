/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Threads that are cancelled in rsocket calls. iperf3 ends its threads so. */
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include <rdma/rsocket.h>

#define LIMIT_SEC 120 /* of a test: a call that hangs ends it */
#define ROUNDS	  60

static int ends[2];
static atomic_bool runs;

static void connect_pair(void)
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(addr);
	int listener = rsocket(AF_INET, SOCK_STREAM, 0);

	ends[0] = rsocket(AF_INET, SOCK_STREAM, 0);
	assert_true(listener >= 0 && ends[0] >= 0);
	assert_int_equal(rbind(listener, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(rlisten(listener, 1), 0);
	assert_int_equal(rgetsockname(listener, (struct sockaddr *)&addr, &len), 0);
	assert_int_equal(rconnect(ends[0], (struct sockaddr *)&addr, sizeof(addr)), 0);
	ends[1] = raccept(listener, NULL, NULL);
	assert_true(ends[1] >= 0);
	assert_int_equal(rclose(listener), 0);
}

static void set_cancel_type(int type)
{
	pthread_setcanceltype(type, NULL);
	atomic_store(&runs, true);
}

static void *receive(void *type)
{
	char buf[512];

	set_cancel_type(*(int *)type);
	for (;;)
		rrecv(ends[1], buf, sizeof(buf), 0);
	return NULL;
}

static void *poll_and_receive(void *type)
{
	struct pollfd p = {.fd = ends[1], .events = POLLIN};
	char buf[512];

	set_cancel_type(*(int *)type);
	for (;;) {
		rpoll(&p, 1, -1);
		rrecv(ends[1], buf, sizeof(buf), MSG_DONTWAIT);
	}
	return NULL;
}

/* Sends for a while to a thread that receives, and cancels it. Then both ends still work. */
static void cancel_one(void *(*function)(void *), int type, unsigned round)
{
	char byte = 'x';
	pthread_t thread;

	connect_pair();
	atomic_store(&runs, false);
	assert_int_equal(pthread_create(&thread, NULL, function, &type), 0);
	while (!atomic_load(&runs))
		usleep(100);
	for (unsigned i = 0; i < round % 50; i++)
		assert_int_equal(rsend(ends[0], &byte, 1, 0), 1);
	if (round % 3 == 0)
		usleep(round * 10);
	assert_int_equal(pthread_cancel(thread), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	while (rrecv(ends[1], &byte, 1, MSG_DONTWAIT) == 1)
		continue;
	assert_int_equal(rsend(ends[1], &byte, 1, 0), 1);
	assert_int_equal(rrecv(ends[0], &byte, 1, 0), 1);
	assert_int_equal(rclose(ends[0]), 0);
	assert_int_equal(rclose(ends[1]), 0);
}

static void cancel_many(void *(*function)(void *), int type)
{
	alarm(LIMIT_SEC);
	for (unsigned round = 0; round < ROUNDS; round++)
		cancel_one(function, type, round);
}

static void test_asynchronous(void **state)
{
	(void)state;
	cancel_many(receive, PTHREAD_CANCEL_ASYNCHRONOUS);
}

static void test_asynchronous_poll(void **state)
{
	(void)state;
	cancel_many(poll_and_receive, PTHREAD_CANCEL_ASYNCHRONOUS);
}

/* Calls that block are cancellation points, as recv(2) and poll(2) are. */
static void test_deferred(void **state)
{
	(void)state;
	cancel_many(receive, PTHREAD_CANCEL_DEFERRED);
}

static void test_deferred_poll(void **state)
{
	(void)state;
	cancel_many(poll_and_receive, PTHREAD_CANCEL_DEFERRED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_asynchronous),
		cmocka_unit_test(test_asynchronous_poll),
		cmocka_unit_test(test_deferred),
		cmocka_unit_test(test_deferred_poll),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
