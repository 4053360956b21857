/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* With ADVERB_PARANOID, a device whose engine does not keep an invariant ends the program. This
 * program runs itself with that state, and looks how it ends. */
#include "node.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../common/netns.h"
#include "nic/engine/state.h"
#include "runtime/device/internal.h"

extern char **environ;

/* Opens a device, makes a wrong count in its engine, and calls it. Returns if nothing happens. */
static int be_broken(void)
{
	struct node n;

	node_open(&n);
	adv_device_lock(n.d);
	n.d->engine->in_flight++;
	adv_device_unlock(n.d);
	return 0;
}

/* Runs this program with an argument. Returns its status, and its standard error in text[]. */
static int run_self(char *text, size_t size)
{
	char *arguments[] = {"/proc/self/exe", "broken", NULL};
	posix_spawn_file_actions_t actions;
	int pair[2], status;
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
	assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
	assert_int_equal(posix_spawn_file_actions_adddup2(&actions, pair[1], STDERR_FILENO), 0);
	assert_int_equal(posix_spawn(&pid, arguments[0], &actions, NULL, arguments, environ), 0);
	close(pair[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	n = read(pair[0], text, size - 1);
	text[n > 0 ? n : 0] = 0;
	close(pair[0]);
	posix_spawn_file_actions_destroy(&actions);
	return status;
}

static void test_ends(void **state)
{
	char text[1000];
	int status;

	assert_int_equal(setenv("ADVERB_PARANOID", "1", 1), 0);
	status = run_self(text, sizeof(text));
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
	assert_non_null(strstr(text, "ADVERB_PARANOID: the count of packets in flight is wrong"));
}

static void test_unasked(void **state)
{
	char text[1000];

	assert_int_equal(setenv("ADVERB_PARANOID", "", 1), 0);
	assert_int_equal(run_self(text, sizeof(text)), 0);
	assert_string_equal(text, "");
}

/* A device that keeps its invariants works as ever. */
static void test_kept(void **state)
{
	struct ibv_wc wc;
	struct node n;

	assert_int_equal(setenv("ADVERB_PARANOID", "1", 1), 0);
	node_open(&n);
	assert_true(n.d->paranoid);
	node_connect(&n, &n);
	for (uint64_t id = 1; id <= 100; id++) {
		assert_int_equal(node_write(&n, &n, id, 0, NODE_BUFFER / 2, 64), 0);
		node_poll(&n, &wc);
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
	}
	node_close(&n);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_unasked),
		cmocka_unit_test(test_kept),
	};

	if (argc > 1)
		return be_broken();
	if (!netns_enter())
		return NETNS_SKIP;
	return cmocka_run_group_tests(tests, node_start_daemon, node_stop_daemon);
}
