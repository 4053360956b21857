/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests memory of whole cache lines: where it begins, that it is all zero, and that it may fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/lines.h"
#include "no_memory.h"

static void test_zero(void **state)
{
	static const uint8_t zero[3 * ADV_CACHE_LINE];

	for (size_t bytes = 1; bytes <= sizeof(zero); bytes++) {
		uint8_t *p = adv_lines_calloc(bytes), *again;

		assert_non_null(p);
		assert_int_equal((uintptr_t)p % ADV_CACHE_LINE, 0);
		assert_memory_equal(p, zero, bytes);
		memset(p, 0xff, bytes);
		free(p);
		again = adv_lines_calloc(bytes); /* mostly the same memory */
		assert_non_null(again);
		assert_memory_equal(again, zero, bytes);
		free(again);
	}
}

static void test_no_memory(void **state)
{
	no_memory_at = 1;
	assert_null(adv_lines_calloc(100));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_zero),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
