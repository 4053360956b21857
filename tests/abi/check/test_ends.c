/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Ends of connections: only those of running processes meet, whatever the file has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "abi/check/ends.h"

static char folder[] = "/tmp/adverb-test-ends-XXXXXX";
static char path[64];

static struct adv_check_end end_of(uint32_t number, uint32_t peer)
{
	return (struct adv_check_end){.number = number, .peer = peer, .type = 2, .path_mtu = 3};
}

static bool meets(uint32_t number, uint32_t peer)
{
	struct adv_check_end own = end_of(number, peer), other = {0};
	bool found = adv_check_ends_meet(path, &own, &other);

	assert_int_equal(own.pid, getpid());
	if (found)
		assert_int_equal(other.number, peer);
	return found;
}

static unsigned entries(void)
{
	struct stat st;

	return stat(path, &st) < 0 ? 0
				   : (unsigned)((size_t)st.st_size / sizeof(struct adv_check_end));
}

static int remove_file(void **state)
{
	unlink(path);
	return 0;
}

static void test_meet_and_leave(void **state)
{
	assert_false(meets(1, 2));
	assert_false(meets(3, 2)); /* 2 is connected to neither */
	assert_true(meets(2, 1));
	assert_true(meets(1, 2));
	assert_int_equal(entries(), 3);
	adv_check_ends_leave(path, 1);
	adv_check_ends_leave(path, 77);
	assert_false(meets(2, 1));
	assert_int_equal(entries(), 3);
	assert_false(meets(9, 8));
	assert_int_equal(entries(), 3); /* in the place of 1 */
}

static void test_types_differ(void **state)
{
	struct adv_check_end own = end_of(1, 2), other;

	own.type = 3;
	assert_false(adv_check_ends_meet(path, &own, &other));
	assert_false(meets(2, 1));
}

static void test_processes(void **state)
{
	pid_t child = fork();

	if (child == 0)
		_exit(meets(1, 2));
	assert_int_equal(waitpid(child, NULL, 0), child);
	/* The process has ended, so its queue pair has ended, too. */
	assert_int_equal(entries(), 1);
	assert_false(meets(2, 1));
	assert_int_equal(entries(), 2);
}

/* All entries are taken; those of processes that have ended are free. */
static void test_full(void **state)
{
	pid_t child = fork();

	if (child == 0) {
		for (uint32_t i = 0; i < 3; i++)
			meets(100000 + i, 1);
		_exit(0);
	}
	assert_int_equal(waitpid(child, NULL, 0), child);
	for (uint32_t i = 0; i < ADV_CHECK_ENDS_MOST - 3; i++)
		assert_false(meets(1000 + i, 1));
	assert_int_equal(entries(), ADV_CHECK_ENDS_MOST);
	for (uint32_t i = 0; i < 3; i++)
		assert_false(meets(200000 + i, 300000 + i));
	assert_int_equal(entries(), ADV_CHECK_ENDS_MOST);
	/* There is no room for this one, and it finds its peer. */
	assert_true(meets(300001, 200001));
	assert_int_equal(entries(), ADV_CHECK_ENDS_MOST);
	adv_check_ends_tidy(path);
	assert_int_equal(entries(), ADV_CHECK_ENDS_MOST); /* this process runs */
}

static void test_tidy(void **state)
{
	pid_t child = fork();

	adv_check_ends_tidy(path);
	if (child == 0)
		_exit(meets(1, 2));
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(access(path, F_OK), 0);
	adv_check_ends_tidy(path);
	assert_int_equal(access(path, F_OK), -1);
}

static void test_random_contents(void **state)
{
	uint8_t bytes[4096 + 5];
	int fd = open(path, O_WRONLY | O_CREAT, 0600);

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(random() >> 7);
	for (int i = 0; i < 100; i++)
		assert_int_equal(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
	close(fd);
	assert_false(meets(1, 2));
	adv_check_ends_leave(path, 1);
	adv_check_ends_tidy(path);
	assert_int_equal(access(path, F_OK), -1);
}

static void test_not_a_file(void **state)
{
	assert_int_equal(symlink("/dev/null", path), 0);
	assert_false(meets(1, 2));
	assert_false(meets(2, 1));
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_false(meets(1, 2));
	assert_false(meets(2, 1));
	adv_check_ends_tidy(path);
	assert_int_equal(access(path, F_OK), 0);
}

/* A process that was stopped just then: the others do without. */
static void test_locked(void **state)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);

	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_false(meets(1, 2));
	assert_false(meets(2, 1));
	close(fd);
	assert_int_equal(entries(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_meet_and_leave, remove_file),
		cmocka_unit_test_teardown(test_types_differ, remove_file),
		cmocka_unit_test_teardown(test_processes, remove_file),
		cmocka_unit_test_teardown(test_full, remove_file),
		cmocka_unit_test_teardown(test_tidy, remove_file),
		cmocka_unit_test_teardown(test_random_contents, remove_file),
		cmocka_unit_test_teardown(test_not_a_file, remove_file),
		cmocka_unit_test_teardown(test_locked, remove_file),
	};
	int failed;

	if (!mkdtemp(folder))
		return 1;
	snprintf(path, sizeof(path), "%s/ends", folder);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(folder);
	return failed;
}
