/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tests fork() as ibv_fork_init(3) describes it. The objects belong to the parent, and the child
 * does not disturb the parent's traffic. The child can open its own device, run another program, or
 * call exit().
 */
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

#define CHILDREN 20
#define MESSAGE	 4096

static struct pair p;
static atomic_bool done;
static atomic_uint exchanged;

/* Sends one message and compares it. True if it arrived unchanged. Asserts nothing, as cmocka's
 * assertions work only in the main thread. */
static bool exchange(uint32_t round)
{
	struct ibv_wc wc;

	memset(p.a.buf, (int)(round % 251), MESSAGE);
	if (post_recv(&p.b, round, MESSAGE, MESSAGE) ||
	    post_send(&p.a, round, 0, MESSAGE, IBV_SEND_SIGNALED) ||
	    !wait_wc(p.b.recv_cq, &wc, PATIENCE) || wc.status != IBV_WC_SUCCESS ||
	    wc.wr_id != round || !wait_wc(p.a.send_cq, &wc, PATIENCE) ||
	    wc.status != IBV_WC_SUCCESS)
		return false;
	return memcmp(p.a.buf, p.b.buf + MESSAGE, MESSAGE) == 0;
}

static void *traffic(void *arg)
{
	for (uint32_t round = 0; !atomic_load(&done); round++) {
		if (!exchange(round)) {
			fprintf(stderr, "round %u: the exchange of messages failed\n", round);
			abort();
		}
		atomic_fetch_add(&exchanged, 1);
	}
	return NULL;
}

/* True if the child exited with status 0 in time. */
static bool ended_well(pid_t child)
{
	int status;

	return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int touch_nothing(void)
{
	_exit(0);
}

static int run_a_program(void)
{
	execl("/bin/true", "true", (char *)NULL);
	_exit(1);
}

/* Runs in the child: exits with the destructors of all libraries. */
static int end_by_exit(void)
{
	exit(0);
}

static int open_own(void)
{
	const struct options o = {0};
	struct pair own;

	pair_open(&own, &o);
	if (post_recv(&own.b, 1, 0, 100) || post_send(&own.a, 2, 0, 100, IBV_SEND_SIGNALED))
		_exit(1);
	expect_wc(own.b.recv_cq, 1, IBV_WC_SUCCESS);
	expect_wc(own.a.send_cq, 2, IBV_WC_SUCCESS);
	pair_close(&own);
	_exit(0);
}

/* Runs in the child: checks that calls with the parent's objects fail and that freeing the objects
 * is harmless. */
static int use_the_parents(void)
{
	struct ibv_port_attr port;
	struct ibv_wc wc;

	(void)ibv_query_port(p.a.ctx, 1, &port);
	if (ibv_poll_cq(p.a.send_cq, 1, &wc) >= 0 || post_send(&p.a, 1, 0, 1, 0) == 0 ||
	    ibv_alloc_pd(p.a.ctx) || ibv_reg_mr(p.a.pd, p.a.buf, 100, 0) ||
	    ibv_create_cq(p.a.ctx, 1, NULL, NULL, 0))
		_exit(1);
	if (ibv_destroy_qp(p.a.qp) || ibv_dereg_mr(p.a.mr) || ibv_destroy_cq(p.a.send_cq) ||
	    ibv_destroy_cq(p.a.recv_cq) || ibv_destroy_comp_channel(p.a.channel) ||
	    ibv_dealloc_pd(p.a.pd) || ibv_close_device(p.a.ctx))
		_exit(2);
	_exit(0);
}

/* Forks while other threads use the device. Mostly one of them holds the device's lock. */
static void fork_beside_traffic(int (*child_does)(void))
{
	pthread_t thread;

#ifdef __SANITIZE_THREAD__
	skip(); /* the thread sanitizer supports no threads in a child of fork() */
#endif
	atomic_store(&done, false);
	atomic_store(&exchanged, 0);
	assert_int_equal(pthread_create(&thread, NULL, traffic, NULL), 0);
	for (int i = 0; i < CHILDREN; i++) {
		unsigned before = atomic_load(&exchanged);
		pid_t child = fork();

		assert_true(child >= 0);
		if (child == 0) {
			alarm((unsigned)PATIENCE);
			child_does();
		}
		assert_true(ended_well(child));
		while (atomic_load(&exchanged) == before)
			usleep(100);
	}
	atomic_store(&done, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static void child_touches_nothing(void **state)
{
	fork_beside_traffic(touch_nothing);
}

static void child_runs_a_program(void **state)
{
	fork_beside_traffic(run_a_program);
}

static void child_ends_by_exit(void **state)
{
	fork_beside_traffic(end_by_exit);
}

static void child_opens_its_own_device(void **state)
{
	fork_beside_traffic(open_own);
}

static void child_uses_the_parents_objects(void **state)
{
	fork_beside_traffic(use_the_parents);
}

/* Tests that registered memory remains the parent's, although the kernel copies a page when parent
 * or child writes to it. */
static void registered_memory_is_the_parents(void **state)
{
	int told[2];
	char byte = 0;
	pid_t child;

	memset(p.b.buf, 1, 2 * MESSAGE);
	assert_int_equal(pipe(told), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		alarm((unsigned)PATIENCE);
		memset(p.a.buf, 7, 2 * MESSAGE);
		if (read(told[0], &byte, 1) != 1) /* the parent has exchanged messages */
			_exit(1);
		for (size_t i = 0; i < MESSAGE; i++)
			if (p.b.buf[MESSAGE + i] != 1 || p.a.buf[i] != 7)
				_exit(2);
		_exit(0);
	}
	assert_true(exchange(42));
	assert_int_equal(write(told[1], &byte, 1), 1);
	assert_true(ended_well(child));
	assert_int_equal(p.b.buf[MESSAGE], 42);
	close(told[0]);
	close(told[1]);
}

/* Returns how many sockets, epoll sets and timers this process has open. */
static unsigned count_private(void)
{
	DIR *folder = opendir("/proc/self/fd");
	unsigned count = 0;
	struct dirent *e;
	char target[64];

	while (folder && (e = readdir(folder))) {
		ssize_t n = readlinkat(dirfd(folder), e->d_name, target, sizeof(target) - 1);

		target[n < 0 ? 0 : n] = 0;
		count += strncmp(target, "socket:", 7) == 0 || strstr(target, "[eventpoll]") ||
			 strstr(target, "[timerfd]");
	}
	if (folder)
		closedir(folder);
	return count;
}

static void *open_and_close(void *arg)
{
	while (!atomic_load(&done)) {
		struct ibv_device **list = ibv_get_device_list(NULL);
		struct ibv_context *context = list ? ibv_open_device(list[0]) : NULL;

		if (!context || ibv_close_device(context))
			abort();
		ibv_free_device_list(list);
	}
	return NULL;
}

/* Returns the number of count_private() in a new child. */
static int private_of_child(void)
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0)
		_exit((int)count_private());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* Tests that a child has no copies of the descriptors of a device that another thread was opening
 * or closing: they would keep its slot and ports as long as the child runs. */
static void child_keeps_nothing_of_opening_devices(void **state)
{
	int before = private_of_child();
	pthread_t thread;

#ifdef __SANITIZE_THREAD__
	skip(); /* as above */
#endif
	atomic_store(&done, false);
	assert_int_equal(pthread_create(&thread, NULL, open_and_close, NULL), 0);
	for (int i = 0; i < 5 * CHILDREN; i++)
		assert_int_equal(private_of_child(), before);
	atomic_store(&done, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static void fork_init_is_not_needed(void **state)
{
	assert_int_equal(ibv_fork_init(), 0);
	assert_int_equal(ibv_is_fork_initialized(), IBV_FORK_UNNEEDED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fork_init_is_not_needed),
		cmocka_unit_test(registered_memory_is_the_parents),
		cmocka_unit_test(child_touches_nothing),
		cmocka_unit_test(child_keeps_nothing_of_opening_devices),
		cmocka_unit_test(child_runs_a_program),
		cmocka_unit_test(child_ends_by_exit),
		cmocka_unit_test(child_opens_its_own_device),
		cmocka_unit_test(child_uses_the_parents_objects),
	};
	const struct options o = {0};
	int failed;

	pair_open(&p, &o);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	pair_close(&p);
	return failed;
}
