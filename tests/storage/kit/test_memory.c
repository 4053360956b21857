/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory for blocks and data. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "base/array.h"
#include "storage/kit/memory.h"

#define HUGE_PAGE (2u << 20)

/* All bytes are there, are zero, and begin at a huge page. Nothing else is touched when the memory
 * is unmapped. */
static void test_mapped(void **state)
{
	static const size_t sizes[] = {1, 4096, 5000, HUGE_PAGE - 1, HUGE_PAGE, 2 * HUGE_PAGE + 1};

	for (size_t i = 0; i < ADV_ARRAY_SIZE(sizes); i++) {
		uint8_t *p = adv_kit_memory_map(sizes[i]), *other = adv_kit_memory_map(sizes[i]);

		assert_non_null(p);
		assert_non_null(other);
		assert_int_equal((uintptr_t)p % HUGE_PAGE, 0);
		for (size_t k = 0; k < sizes[i]; k++)
			assert_int_equal(p[k], 0);
		memset(p, 1, sizes[i]);
		memset(other, 2, sizes[i]);
		assert_int_equal(munmap(p, sizes[i]), 0);
		assert_int_equal(other[0], 2);
		assert_int_equal(other[sizes[i] - 1], 2);
		assert_int_equal(munmap(other, sizes[i]), 0);
	}
}

/* The address space ends before a size that wraps around. */
static void test_too_large(void **state)
{
	static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 4095, SIZE_MAX - HUGE_PAGE,
				       SIZE_MAX / 2};

	for (size_t i = 0; i < ADV_ARRAY_SIZE(sizes); i++) {
		errno = 0;
		assert_null(adv_kit_memory_map(sizes[i]));
		assert_int_equal(errno, ENOMEM);
	}
}

/* Fetching changes nothing, not even where nothing is mapped. */
static void test_fetched(void **state)
{
	uint8_t *p = adv_kit_memory_map(3 * 4096);

	memset(p, 7, 2 * 4096);
	assert_int_equal(munmap(p + 2 * 4096, 4096), 0);
	adv_kit_memory_fetch(p, 4096);
	adv_kit_memory_fetch(p + 4096 + 100, 1 << 20);
	adv_kit_memory_fetch_to_write(p, 0);
	adv_kit_memory_fetch_to_write(p + 2 * 4096 - 1, 4096);
	for (size_t k = 0; k < 2 * 4096; k++)
		assert_int_equal(p[k], 7);
	assert_int_equal(munmap(p, 2 * 4096), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mapped),
		cmocka_unit_test(test_too_large),
		cmocka_unit_test(test_fetched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
