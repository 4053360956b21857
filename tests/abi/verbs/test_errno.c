/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tests that every call that can fail stores its error in errno, like a system call. Before each
 * call, errno has a value that no verbs call returns. The list of calls is compared with the
 * library's symbols.
 */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "errno_calls.h"
#include "log_file.h"

/* True if the call fails as expected; otherwise prints the difference to stderr. Does not assert,
 * because it may run in a child. */
static bool fails_as_it_should(const struct failing *f)
{
	const long returned[] = {
		[ERROR] = f->error, [NEGATIVE] = -f->error, [MINUS_ONE] = -1, [OBJECT] = 0};
	long ret;

	errno = SENTINEL;
	ret = f->call();
	if (ret == returned[f->kind] && errno == f->error)
		return true;
	fprintf(stderr, "%s returned %ld, errno %d (%s); expected %ld, errno %d\n", f->name, ret,
		errno, strerror(errno), returned[f->kind], f->error);
	return false;
}

static bool fails_in_a_child(const struct failing *f)
{
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(fails_as_it_should(f) ? 0 : 1);
	return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static bool fails_without_files(const struct failing *f)
{
	struct rlimit limit, none;
	bool good;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	good = fails_as_it_should(f);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	return good;
}

/* ---- the log ---- */

/* Calls whose failure a correct program expects: those that only wait for events (EAGAIN), and
 * ibv_query_ece(), which asks whether the device has enhanced connection establishment. */
static bool is_silent(const char *name)
{
	return strcmp(name, "ibv_get_cq_event") == 0 || strcmp(name, "ibv_get_async_event") == 0 ||
	       strcmp(name, "ibv_read_sysfs_file") == 0 || strcmp(name, "ibv_query_ece") == 0;
}

/* True if the log names the function, or the one to which it leads, and the error, and has a reason
 * that is not only the error's text. */
static bool is_explained(const struct failing *f, const char *text)
{
	static const char *const leads_to[][2] = {
		{"ibv_create_ah_from_wc", "ibv_init_ah_from_wc"},
		{"ibv_query_gid_type", "ibv_query_gid_ex"},
		{"ibv_reg_mr", "ibv_reg_mr"},
		{"bind_mw", "ibv_post_send"},
		{"ibv_query_rt_values", "ibv_query_rt_values"},
	};
	const char *name = f->name + (f->name[0] == '_');
	char error[32];

	for (size_t i = 0; i < sizeof(leads_to) / sizeof(leads_to[0]); i++)
		if (strncmp(name, leads_to[i][0], strlen(leads_to[i][0])) == 0)
			name = leads_to[i][1];
	snprintf(error, sizeof(error), "(%s)\n", strerrorname_np(f->error));
	if (strstr(text, name) && strstr(text, error) && !strstr(text, strerrordesc_np(f->error)))
		return true;
	fprintf(stderr, "%s: the log has no reason: %s\n", f->name, text);
	return false;
}

static void what_fails_says_why_in_the_log(void **state)
{
	char text[4096] = "";
	unsigned bad = 0, explained = 0;

	for (unsigned i = 0; i < failing_count; i++) {
		const struct failing *f = &failing_calls[i];
		const char *newer;

		if (is_silent(f->name))
			continue;
		if (f->where == WITHOUT_FILES)
			continue; /* no descriptor for the log either */
		log_file_read();
		bad += f->where == IN_A_CHILD ? !fails_in_a_child(f) : !fails_as_it_should(f);
		newer = log_file_read();
		if (*newer) /* else the line is the same as the previous one, which is logged once
			     */
			memcpy(text, newer, sizeof(text));
		bad += !is_explained(f, text);
		explained++;
	}
	assert_int_equal(bad, 0);
	assert_true(explained > 50);
}

static void what_fails_says_so_in_errno(void **state)
{
	unsigned bad = 0;

	for (unsigned i = 0; i < failing_count; i++) {
		const struct failing *f = &failing_calls[i];

		if (f->where == IN_A_CHILD)
			bad += !fails_in_a_child(f);
		else if (f->where == WITHOUT_FILES)
			bad += !fails_without_files(f);
		else
			bad += !fails_as_it_should(f);
	}
	assert_int_equal(bad, 0);
}

/* Tests empty lists of requests, which rdma-core's providers accept. */
static void a_list_may_be_empty(void **state)
{
	struct ibv_send_wr *bad_send = NULL;
	struct ibv_recv_wr *bad_recv = NULL;

	assert_int_equal(ibv_post_send(p.a.qp, NULL, &bad_send), 0);
	assert_int_equal(ibv_post_recv(ud.a.qp, NULL, &bad_recv), EINVAL); /* in RESET */
	assert_int_equal(to_init(&ud.a, &(struct options){0}), 0);
	assert_int_equal(ibv_post_recv(ud.a.qp, NULL, &bad_recv), 0);
	assert_int_equal(ibv_post_srq_recv(p.b.srq, NULL, &bad_recv), 0);
	assert_int_equal(ibv_poll_cq(p.a.send_cq, 0, NULL), 0);
	ibv_wr_start(ex);
	assert_int_equal(ibv_wr_complete(ex), 0);
	ibv_free_device_list(NULL);
}

static bool is_listed(const char *name)
{
	for (unsigned i = 0; i < failing_count; i++)
		if (strcmp(failing_calls[i].name, name) == 0)
			return true;
	for (unsigned i = 0; i < unfailing_count; i++)
		if (strcmp(unfailing_calls[i], name) == 0)
			return true;
	return false;
}

/* Tests that the list has all calls of the nodes up to IBVERBS_1.14. test_newer.c tests the later
 * nodes, which the headers do not have. */
static void every_exported_call_is_listed(void **state)
{
	FILE *f = fopen(SYMBOLS, "r");
	char line[256], name[128];
	unsigned minor, found = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "T %127[^@]@@IBVERBS_1.%u", name, &minor) != 2 || minor > 14)
			continue;
		found++;
		if (!is_listed(name))
			fail_msg("%s is not in the lists of this test", name);
	}
	fclose(f);
	assert_true(found > 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_fails_says_so_in_errno),
		cmocka_unit_test(what_fails_says_why_in_the_log),
		cmocka_unit_test(a_list_may_be_empty),
		cmocka_unit_test(every_exported_call_is_listed),
	};
	int failed;

	log_file_open();
	failed = cmocka_run_group_tests(tests, open_errno_objects, close_errno_objects);
	log_file_remove();
	return failed;
}
