/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tests that a refused call says why: one line of the log names the function, its object, the
 * argument with its value, and what is allowed or to do, and errno is that of rdma-core and the
 * kernel. The tables name the document or the function of rdma-core or Linux that decides the
 * error.
 */
#include <fnmatch.h>
#include <stdio.h>

#include "log_file.h"
#include "refusals.h"

/* True if the last line of the log, without its prefix, matches the pattern. */
static bool is_told(const char *text, const char *pattern)
{
	char glob[512];

	snprintf(glob, sizeof(glob), "*: %s\n", pattern);
	return fnmatch(glob, text, 0) == 0;
}

static bool is_refused(const struct refusal *r)
{
	const char *text;
	int error;

	log_file_read();
	errno = EXDEV; /* no call of the tables sets it */
	error = r->make();
	text = log_file_read();
	if (error == r->error && errno == r->error && is_told(text, r->line))
		return true;
	fprintf(stderr,
		"%s: returned %d (%s), errno %d; expected %s of %s\n  logged:   %s  expected: %s\n",
		r->mistake, error, strerrorname_np(error), errno, strerrorname_np(r->error),
		r->source, text, r->line);
	return false;
}

static void all_are_refused(const struct refusal *refusals, unsigned count)
{
	unsigned bad = 0;

	for (unsigned i = 0; i < count; i++)
		bad += !is_refused(&refusals[i]);
	assert_int_equal(bad, 0);
}

static void calls_of_verbs_say_why(void **state)
{
	all_are_refused(verbs_refusals, verbs_refusal_count);
}

static void calls_of_rdmacm_say_why(void **state)
{
	all_are_refused(rdmacm_refusals, rdmacm_refusal_count);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(calls_of_verbs_say_why, open_verbs_objects,
						close_verbs_objects),
		cmocka_unit_test_setup_teardown(calls_of_rdmacm_say_why, open_rdmacm_objects,
						close_rdmacm_objects),
	};
	int failed;

	log_file_open();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	log_file_remove();
	return failed;
}
