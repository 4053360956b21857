/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * fork() right after the library has closed a descriptor, when the number is another descriptor's
 * already. The child closes its copies of the library's descriptors, but not that one.
 *
 * The library's system calls of the tester pass through syscall() below.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ends.h"

#define LIMIT_SEC 60
#define ROUNDS	  3

typedef long syscall_fn(long number, ...);

static syscall_fn *real;
static pthread_t tester;
static bool forks;
static unsigned forked, lost;

/* Gives the number to another descriptor, and forks. Not if another thread has got the number. */
static void fork_with_number(int fd)
{
	int again = open("/dev/null", O_RDONLY), status;
	pid_t child;

	if (again != fd && again >= 0) {
		close(again);
		return;
	}
	child = fork();
	if (child == 0)
		_exit(fcntl(fd, F_GETFD) < 0);
	if (child < 0 || waitpid(child, &status, 0) != child)
		abort();
	close(fd);
	forked++;
	lost += status != 0;
}

/* Replaces the C library's function. It always reads six arguments. */
__attribute__((visibility("default"), no_sanitize_address)) long syscall(long number, ...)
{
	long a[6], result;
	va_list list;

	va_start(list, number);
	for (unsigned i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	if (!real) /* called at the start of a library */
		real = (syscall_fn *)dlsym(RTLD_NEXT, "syscall");
	result = real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (number == SYS_close && result == 0 && forks && pthread_equal(tester, pthread_self())) {
		forks = false;
		fork_with_number((int)a[0]);
		forks = true;
	}
	return result;
}

static void test_connections(void **state)
{
	struct ends e;

	for (int i = 0; i < ROUNDS; i++) {
		forks = true;
		ends_open(&e, "127.0.0.1", RDMA_PS_TCP);
		ends_connect(&e);
		ends_close(&e);
		forks = false;
	}
	assert_true(forked > 0);
	assert_int_equal(lost, 0);
}

static void test_devices(void **state)
{
	forked = 0;
	for (int i = 0; i < ROUNDS; i++) {
		struct ibv_device **list;
		struct ibv_context *context;

		forks = true;
		list = ibv_get_device_list(NULL);
		assert_non_null(list);
		context = ibv_open_device(list[0]);
		assert_non_null(context);
		assert_int_equal(ibv_close_device(context), 0);
		ibv_free_device_list(list);
		forks = false;
	}
	assert_true(forked > 0);
	assert_int_equal(lost, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_connections),
		cmocka_unit_test(test_devices),
	};

	tester = pthread_self();
	alarm(LIMIT_SEC);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
