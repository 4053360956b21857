/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Suppression files: which lines are accepted, and what they match. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/check/suppress.h"

/* Reads suppressions from a text. */
static struct adv_suppressions *read_text(const char *text)
{
	char name[] = "/tmp/adverb-suppress-XXXXXX";
	struct adv_suppressions *s;
	int fd = mkstemp(name);
	FILE *f = fdopen(fd, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	s = adv_suppressions_read(name);
	unlink(name);
	return s;
}

static void test_lines(void **state)
{
	struct adv_suppressions *s = read_text("# a comment\n"
					       "\n"
					       "stale-lkey main # the old code\n"
					       "  send-buffer-*\tlibfoo.so.*");

	assert_non_null(s);
	assert_true(adv_suppressions_match(s, "stale-lkey", "main"));
	assert_false(adv_suppressions_match(s, "stale-lkey", "main2"));
	assert_false(adv_suppressions_match(s, "stale-rkey", "main"));
	assert_true(adv_suppressions_match(s, "send-buffer-changed", "libfoo.so.1"));
	assert_false(adv_suppressions_match(s, "send-buffer-changed", "libbar.so.1"));
	adv_suppressions_free(s);
}

static void test_wrong_lines(void **state)
{
	assert_null(read_text("stale-lkey\n"));
	assert_null(read_text("stale-lkey main extra\n"));
	assert_null(read_text("stale-lkey main\nno-such-rule main\n"));
	assert_null(adv_suppressions_read("/nowhere/at/all"));
}

static void test_no_file(void **state)
{
	struct adv_suppressions *s = adv_suppressions_read(NULL);

	assert_non_null(s);
	assert_false(adv_suppressions_match(s, "stale-lkey", "main"));
	adv_suppressions_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_wrong_lines),
		cmocka_unit_test(test_no_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
