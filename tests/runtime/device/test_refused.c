/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tests that the device works without recent system calls of Linux and tries each of them once. An
 * older kernel refuses them with ENOSYS, the seccomp profile of an older container runtime with
 * EPERM.
 */
#include "node.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "../../common/netns.h"

#define FIRST_REFUSED SYS_pidfd_send_signal /* 424, the first number that all platforms share */

static atomic_uint waits; /* calls of epoll_pwait2() */

long __wrap_syscall(long number, ...);
long __real_syscall(long number, ...);

/* The wrapper reads six arguments, even if the caller passes fewer. */
__attribute__((no_sanitize_address)) long __wrap_syscall(long number, ...)
{
	long a[6];
	va_list list;

	va_start(list, number);
	for (unsigned i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	if (number == SYS_epoll_pwait2)
		atomic_fetch_add(&waits, 1);
	return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* Refuses recent system calls from now on, for this process and its children. clone3() is refused
 * with the error that the C library understands. */
static void refuse_new_calls(uint16_t error)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, FIRST_REFUSED, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
	};
	struct sock_fprog program = {ADV_ARRAY_SIZE(f), f};

	assert_int_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	assert_int_equal(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

/* Exchanges messages while no thread polls: the background thread sleeps, and wakes for each of
 * them. */
static void exchange(void)
{
	struct node n;
	struct ibv_wc wc;

	node_open(&n);
	node_connect(&n, &n);
	for (uint64_t i = 0; i < 200; i++) {
		node_recv(&n, i, NODE_BUFFER / 2, 1000);
		assert_int_equal(node_send(&n, i, 0, 1000), 0);
		for (unsigned k = 0; k < 2; k++) {
			node_wait(&n, &wc);
			assert_int_equal(wc.status, IBV_WC_SUCCESS);
		}
	}
	node_close(&n);
}

static void with_refusal(uint16_t error)
{
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		refuse_new_calls(error);
		exchange();
		_exit(atomic_load(&waits) == 1 ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void test_eperm(void **state)
{
	with_refusal(EPERM);
}

static void test_enosys(void **state)
{
	with_refusal(ENOSYS);
}

static void test_eacces(void **state)
{
	with_refusal(EACCES);
}

/* Tests that the calls are made if they are allowed. Without this, a refused call could not be
 * distinguished from a call that is never made. */
static void test_allowed(void **state)
{
	exchange();
	assert_true(atomic_load(&waits) > 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_eperm),
		cmocka_unit_test(test_enosys),
		cmocka_unit_test(test_eacces),
		cmocka_unit_test(test_allowed),
	};

	if (!netns_enter())
		return NETNS_SKIP;
	return cmocka_run_group_tests(tests, node_start_daemon, node_stop_daemon);
}
