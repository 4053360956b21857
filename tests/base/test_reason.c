/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests the reasons of refused calls. The log goes to a file, which each test reads. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/reason.h"
#include "log_file.h"

static unsigned lines_in(const char *text)
{
	unsigned n = 0;

	while ((text = strchr(text, '\n'))) {
		text++;
		n++;
	}
	return n;
}

static void the_line_has_the_call_the_reason_and_the_error(void **state)
{
	errno = EDOM;
	assert_int_equal(adv_reason(EINVAL, "size %d is above %d", 7, 5), EINVAL);
	adv_reason_tell(EINVAL, "make(%s)", "it");
	assert_int_equal(errno, EDOM);
	assert_non_null(strstr(log_file_read(), " warn: make(it): size 7 is above 5 (EINVAL)\n"));
}

static void without_a_reason_the_line_has_the_text_of_the_error(void **state)
{
	adv_reason_tell(EMFILE, "make(%d)", 1);
	assert_non_null(strstr(log_file_read(), "make(1): Too many open files (EMFILE)\n"));
	/* A reason for another error is not the reason of this call. */
	adv_reason(EINVAL, "no reason");
	adv_reason_tell(ENOMEM, "make(%d)", 2);
	assert_non_null(strstr(log_file_read(), "make(2): Cannot allocate memory (ENOMEM)\n"));
	adv_reason_tell(12345, "make(%d)", 3);
	assert_non_null(strstr(log_file_read(), "(unknown error)\n"));
}

static void a_reason_is_told_once(void **state)
{
	adv_reason(EBUSY, "in use");
	adv_reason_tell(EBUSY, "first()");
	assert_non_null(strstr(log_file_read(), "first(): in use (EBUSY)"));
	adv_reason_tell(EBUSY, "second()");
	assert_non_null(strstr(log_file_read(), "second(): Device or resource busy (EBUSY)"));
}

static void no_object_sets_errno(void **state)
{
	errno = 0;
	assert_null(adv_reason_no_object(ENOSPC, "full"));
	assert_int_equal(errno, ENOSPC);
	adv_reason_tell(ENOSPC, "make()");
	assert_non_null(strstr(log_file_read(), "make(): full (ENOSPC)"));
}

static void long_texts_are_cut(void **state)
{
	char call[1000];

	memset(call, 'c', sizeof(call) - 1);
	call[sizeof(call) - 1] = '\0';
	adv_reason(EINVAL, "%s", call);
	adv_reason_tell(EINVAL, "make()");
	assert_int_equal(lines_in(log_file_read()), 1);
	adv_reason_tell(EINVAL, "%s", call);
	assert_int_equal(lines_in(log_file_read()), 1);
}

static void repeated_lines_are_counted(void **state)
{
	const char *text;

	for (int i = 0; i < 1000; i++) {
		adv_reason(ENOMEM, "the queue is full");
		adv_reason_tell(ENOMEM, "post()");
	}
	text = log_file_read();
	assert_int_equal(lines_in(text), 4);
	assert_non_null(strstr(text, "full (ENOMEM)\n"));
	assert_non_null(strstr(text, "full (ENOMEM) (10 times)\n"));
	assert_non_null(strstr(text, "full (ENOMEM) (100 times)\n"));
	assert_non_null(strstr(text, "full (ENOMEM) (1000 times)\n"));
	adv_reason_tell(EINVAL, "other()");
	adv_reason(ENOMEM, "the queue is full");
	adv_reason_tell(ENOMEM, "post()");
	assert_int_equal(lines_in(log_file_read()), 2);
}

static void below_warn_nothing_is_kept(void **state)
{
	adv_log_set_level(ADV_LOG_ERROR);
	adv_reason(EINVAL, "kept");
	adv_reason_tell(EINVAL, "make()");
	assert_string_equal(log_file_read(), "");
	adv_log_set_level(ADV_LOG_WARN);
	adv_reason_tell(EINVAL, "make()");
	assert_null(strstr(log_file_read(), "kept"));
}

static int open_log(void **state)
{
	log_file_open();
	return 0;
}

static int remove_log(void **state)
{
	log_file_remove();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_line_has_the_call_the_reason_and_the_error),
		cmocka_unit_test(without_a_reason_the_line_has_the_text_of_the_error),
		cmocka_unit_test(a_reason_is_told_once),
		cmocka_unit_test(no_object_sets_errno),
		cmocka_unit_test(long_texts_are_cut),
		cmocka_unit_test(repeated_lines_are_counted),
		cmocka_unit_test(below_warn_nothing_is_kept),
	};

	return cmocka_run_group_tests(tests, open_log, remove_log);
}
