/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* P_Keys: matching (IBTA 10.9.3), tables, and their configuration as text. */
#include "nic/wire/pkey.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void test_matching(void **state)
{
	assert_true(adv_pkey_matches(0xffff, 0xffff));
	assert_true(adv_pkey_matches(0x7fff, 0xffff));
	assert_true(adv_pkey_matches(0xffff, 0x7fff));
	assert_false(adv_pkey_matches(0x7fff, 0x7fff));
	assert_false(adv_pkey_matches(0x8001, 0x8002));
	assert_false(adv_pkey_matches(0x8000, 0x8000));
	assert_false(adv_pkey_matches(0, 0));
}

static void test_table(void **state)
{
	struct adv_pkey_table t;
	char why[80];

	adv_pkey_table_default(&t);
	assert_int_equal(t.count, 1);
	assert_int_equal(adv_pkey_index(&t, 0xffff), 0);
	assert_int_equal(adv_pkey_index(&t, 0x7fff), -1);
	assert_int_equal(adv_pkey_match_index(&t, 0x7fff), 0);
	assert_true(adv_pkey_table_parse("0x0001,0x8001,2", &t, why, sizeof(why)));
	assert_int_equal(t.count, 3);
	/* The full membership is preferred, for full and for limited peers. */
	assert_int_equal(adv_pkey_match_index(&t, 0x8001), 1);
	assert_int_equal(adv_pkey_match_index(&t, 0x0001), 1);
	assert_int_equal(adv_pkey_match_index(&t, 0x8002), 2);
	assert_int_equal(adv_pkey_match_index(&t, 0x0002), -1);
	assert_int_equal(adv_pkey_match_index(&t, 0xffff), -1);
}

static void test_bad_text(void **state)
{
	static const char *const bad[] = {"",
					  "0",
					  "0x8000",
					  "0x10000",
					  "-1",
					  "1,",
					  ",1",
					  "1,,2",
					  "0x8001,0x8001",
					  " 1",
					  "1x",
					  "x0001\n",
					  "1;2",
					  "99999999999999999999"};
	struct adv_pkey_table t;
	char why[80];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		why[0] = 0;
		assert_false(adv_pkey_table_parse(bad[i], &t, why, sizeof(why)));
		assert_true(why[0] != 0);
	}
}

static void test_length(void **state)
{
	char text[8 * (ADV_PKEYS_MAX + 1)] = "", why[80];
	struct adv_pkey_table t;
	size_t n = 0;

	for (unsigned i = 1; i <= ADV_PKEYS_MAX; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%u", i > 1 ? "," : "", i);
	assert_true(adv_pkey_table_parse(text, &t, why, sizeof(why)));
	assert_int_equal(t.count, ADV_PKEYS_MAX);
	snprintf(text + n, sizeof(text) - n, ",999");
	assert_false(adv_pkey_table_parse(text, &t, why, sizeof(why)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_matching),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_bad_text),
		cmocka_unit_test(test_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
