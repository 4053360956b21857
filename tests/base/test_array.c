/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests ADV_ARRAY_SIZE() of arrays of numbers, of structures and of arrays, and as the dimension of
 * an array. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/array.h"

static void test_size(void **state)
{
	static const struct {
		char name[3];
		uint64_t value;
	} table[] = {{"a", 1}, {"b", 2}, {"c", 3}};
	uint8_t bytes[17], rows[5][7];
	char copy[ADV_ARRAY_SIZE(table) + 1];

	assert_int_equal(ADV_ARRAY_SIZE(table), 3);
	assert_int_equal(ADV_ARRAY_SIZE(bytes), 17);
	assert_int_equal(ADV_ARRAY_SIZE(rows), 5);
	assert_int_equal(ADV_ARRAY_SIZE(rows[0]), 7);
	assert_int_equal(sizeof(copy), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
