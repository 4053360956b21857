/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The text of ADVERB_IWARP. The process of each test reads its environment once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/array.h"
#include "runtime/identity/iwarp_options.h"

static void check(const char *text, enum adv_mpa_crc crc, bool markers)
{
	struct adv_iwarp_options o = {0};
	char why[160];

	assert_true(adv_iwarp_options_parse(text, &o, why, sizeof(why)));
	assert_int_equal(o.crc, crc);
	assert_int_equal(o.markers, markers);
}

static void test_right(void **state)
{
	check("", ADV_MPA_CRC_ACCEPT, false);
	check(" , ", ADV_MPA_CRC_ACCEPT, false);
	check("crc=require", ADV_MPA_CRC_REQUIRE, false);
	check("crc=refuse", ADV_MPA_CRC_REFUSE, false);
	check("markers=yes", ADV_MPA_CRC_ACCEPT, true);
	check("crc=require markers=yes", ADV_MPA_CRC_REQUIRE, true);
	check(" markers=yes,crc=refuse, ", ADV_MPA_CRC_REFUSE, true);
	/* the last one counts */
	check("crc=require crc=accept markers=yes markers=no", ADV_MPA_CRC_ACCEPT, false);
}

static void test_wrong(void **state)
{
	static const char *const texts[] = {
		"crc",	       "crc=",		"crc=yes",   "crc=required",
		"markers",     "markers=yesno", "markers=1", "crc=require;markers=yes",
		"CRC=require", "crc=requir",
	};
	struct adv_iwarp_options o = {0};
	char why[160];

	for (size_t i = 0; i < ADV_ARRAY_SIZE(texts); i++) {
		assert_false(adv_iwarp_options_parse(texts[i], &o, why, sizeof(why)));
		assert_non_null(strstr(why, "is none of: crc=accept, crc=require"));
	}
	assert_false(adv_iwarp_options_parse("markers=no crc=of-a-kind-with-a-very-very-long-name",
					     &o, why, sizeof(why)));
	assert_non_null(strstr(why, "'crc=of-a-kind-with-a-very-very-l' is"));
}

/* Reads the environment in a process of its own. Returns the options and whether it is right. */
static int with_environment(const char *text)
{
	pid_t child = fork();
	int status;

	assert_int_not_equal(child, -1);
	if (child == 0) {
		const struct adv_iwarp_options *o;
		char why[200] = "";

		if (text)
			setenv(ADV_IWARP_VARIABLE, text, 1);
		else
			unsetenv(ADV_IWARP_VARIABLE);
		o = adv_iwarp_options();
		if (!adv_iwarp_options_check(why, sizeof(why)))
			_exit(strncmp(why, "ADVERB_IWARP: 'crc=no' is none of", 33) == 0 ? 100
											 : 101);
		_exit((int)o->crc * 2 + o->markers);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_environment(void **state)
{
	assert_int_equal(with_environment(NULL), 0);
	assert_int_equal(with_environment(""), 0);
	assert_int_equal(with_environment("crc=require,markers=yes"), 3);
	assert_int_equal(with_environment("crc=no"), 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_right),
		cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_environment),
	};

	return cmocka_run_group_tests_name("iwarp options", tests, NULL, NULL);
}
