/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests which processes may read the memory of another process, and that they read the memory of
 * the process that signed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/link/pull.h"

#define LEN    (64u << 10)
#define NOBODY 65534

/* What the two processes share. */
static struct shared {
	struct adv_pull_sign sign;
	_Atomic uint64_t data; /* address of LEN bytes in the child; 0: not yet */
} * shared;

static pid_t child;

/* The child: shows its token and waits. In it, byte i of the data is i * 7. */
static void be_read(void (*prepare)(void))
{
	struct adv_pull_page page;
	uint8_t *data = malloc(LEN);

	adv_pull_page_make(&page);
	adv_pull_page_show(&page, &shared->sign);
	for (unsigned i = 0; data && i < LEN; i++)
		data[i] = (uint8_t)(i * 7);
	if (prepare)
		prepare();
	atomic_store(&shared->data, (uintptr_t)data);
	for (;;)
		pause();
}

static pid_t start(void (*prepare)(void))
{
	pid_t pid;

	memset(shared, 0, sizeof(*shared));
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		be_read(prepare);
	}
	assert_true(pid > 0);
	for (unsigned i = 0; i < 10000 && !atomic_load(&shared->data); i++)
		usleep(1000);
	assert_true(atomic_load(&shared->data));
	child = pid;
	return pid;
}

static void stop(void)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	child = 0;
}

static bool read_child(const struct adv_pull_peer *peer, uint8_t *to, uint64_t offset,
		       uint64_t length)
{
	struct adv_pull_piece from[2] = {{shared->data + offset, length / 3},
					 {shared->data + offset + length / 3, length - length / 3}};
	struct iovec iov[2] = {{to, length / 2}, {to + length / 2, length - length / 2}};

	return adv_pull_read(peer, from, 2, iov, 2);
}

static void test_read(void **state)
{
	pid_t pid = start(NULL);
	struct adv_pull_peer peer;
	uint8_t *to = malloc(LEN);

	assert_true(adv_pull_meet(&peer, pid, &shared->sign));
	assert_true(read_child(&peer, to, 0, LEN));
	for (unsigned i = 0; i < LEN; i++)
		assert_int_equal(to[i], (uint8_t)(i * 7));
	/* One piece is not mapped, or the lengths differ. */
	assert_false(adv_pull_read(&peer, (struct adv_pull_piece[]){{shared->data, 8}, {8, 8}}, 2,
				   &(struct iovec){to, 16}, 1));
	assert_false(adv_pull_read(&peer, &(struct adv_pull_piece){shared->data, 8}, 1,
				   &(struct iovec){to, 16}, 1));
	assert_false(adv_pull_read(&peer, &(struct adv_pull_piece){shared->data, 16}, 1,
				   &(struct iovec){NULL, 16}, 1));
	assert_true(read_child(&peer, to, 0, 16));
	stop();
	assert_false(read_child(&peer, to, 0, 16));
	free(to);
}

/* A process id alone proves nothing: the token is in the peer's memory only. */
static void test_other_process(void **state)
{
	pid_t pid = start(NULL);
	struct adv_pull_peer peer;
	uint8_t to[16];

	assert_false(adv_pull_meet(&peer, getpid(), &shared->sign));
	assert_false(adv_pull_meet(&peer, 0, &shared->sign));
	assert_true(adv_pull_meet(&peer, pid, &shared->sign));
	peer.token[1]++;
	assert_false(read_child(&peer, to, 0, 16));
	atomic_fetch_add(&shared->sign.token[0], 1);
	assert_false(adv_pull_meet(&peer, pid, &shared->sign));
	atomic_store(&shared->sign.address, 0);
	assert_false(adv_pull_meet(&peer, pid, &shared->sign));
	stop();
}

static struct adv_pull_page own;

/* A child of fork() is another process: it does not have the parent's token. */
static void test_fork(void **state)
{
	uint64_t token[ADV_PULL_TOKEN];
	struct adv_pull_peer peer;
	pid_t pid;

	adv_pull_page_make(&own);
	assert_non_null(own.token);
	memcpy(token, own.token, sizeof(token));
	pid = start(NULL);
	adv_pull_page_show(&own, &shared->sign);
	assert_memory_equal((const void *)own.token, token, sizeof(token));
	assert_false(adv_pull_meet(&peer, pid, &shared->sign));
	assert_true(adv_pull_meet(&peer, getpid(), &shared->sign));
	stop();
	adv_pull_page_free(&own);
	assert_null(own.token);
}

/* ---- refusals: a child of this process reads another one ---- */

/* Runs adv_pull_meet() in a process of its own, after `prepare`. */
static bool met_by(pid_t pid, void (*prepare)(void))
{
	struct adv_pull_peer peer;
	pid_t reader = fork();
	int status;

	if (reader == 0) {
		prepare();
		_exit(adv_pull_meet(&peer, pid, &shared->sign) ? 1 : 0);
	}
	assert_true(reader > 0);
	assert_int_equal(waitpid(reader, &status, 0), reader);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* As a container's seccomp filter does. */
static void refuse_by_seccomp(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {sizeof(code) / sizeof(code[0]), code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		_exit(2);
}

static void do_nothing(void)
{
}

static void test_seccomp(void **state)
{
	pid_t pid = start(NULL);

	assert_true(met_by(pid, do_nothing));
	assert_false(met_by(pid, refuse_by_seccomp));
	stop();
}

static void drop_root(void)
{
	if (geteuid() == 0 && (setgid(NOBODY) || setuid(NOBODY)))
		_exit(2);
	prctl(PR_SET_DUMPABLE, 1);
}

static void become_undumpable(void)
{
	drop_root();
	prctl(PR_SET_DUMPABLE, 0);
}

static void become_dumpable(void)
{
	drop_root();
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
}

static void test_undumpable(void **state)
{
	pid_t pid = start(become_dumpable);

	assert_true(met_by(pid, drop_root));
	stop();
	pid = start(become_undumpable);
	assert_false(met_by(pid, drop_root));
	stop();
}

static void test_other_user(void **state)
{
	pid_t pid;

	if (geteuid() != 0)
		skip(); /* only root can start processes of two users */
	pid = start(NULL);
	assert_false(met_by(pid, drop_root));
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read),	   cmocka_unit_test(test_other_process),
		cmocka_unit_test(test_fork),	   cmocka_unit_test(test_seccomp),
		cmocka_unit_test(test_undumpable), cmocka_unit_test(test_other_user),
	};

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	return shared == MAP_FAILED ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
