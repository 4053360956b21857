/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Hashes of memory: each byte counts, and memory that cannot be read is no fault. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "abi/check/memory.h"

#define PAGE 4096

static uint64_t hash_of(const void *p, size_t length)
{
	uint64_t hash = 1;

	assert_true(adv_check_memory_hash((uintptr_t)p, length, &hash));
	return hash;
}

static void test_each_bit_counts(void **state)
{
	static const size_t lengths[] = {1, 7, 15, 16, 17, 63, 64, 65, 200};
	uint8_t data[200];

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7);
	for (size_t k = 0; k < sizeof(lengths) / sizeof(lengths[0]); k++) {
		uint64_t before = hash_of(data, lengths[k]);

		for (size_t bit = 0; bit < 8 * lengths[k]; bit++) {
			data[bit / 8] ^= (uint8_t)(1 << bit % 8);
			assert_int_not_equal(hash_of(data, lengths[k]), before);
			data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
		assert_int_equal(hash_of(data, lengths[k]), before);
	}
}

static void test_order_and_length_count(void **state)
{
	uint8_t data[256] = {0}, swapped[256] = {0};

	assert_int_not_equal(hash_of(data, 64), hash_of(data, 65));
	assert_int_not_equal(hash_of(data, 128), hash_of(data, 192));
	/* The same words, 16 and 64 bytes apart. */
	for (size_t distance = 16; distance <= 64; distance *= 4) {
		memset(data, 0, sizeof(data));
		memset(swapped, 0, sizeof(swapped));
		data[0] = swapped[distance] = 1;
		data[distance] = swapped[0] = 2;
		assert_int_not_equal(hash_of(data, 256), hash_of(swapped, 256));
	}
}

static void test_continues(void **state)
{
	uint8_t data[64] = {1, 2, 3};
	uint64_t a = 5, b = 6;

	assert_true(adv_check_memory_hash((uintptr_t)data, 64, &a));
	assert_true(adv_check_memory_hash((uintptr_t)data, 64, &b));
	assert_int_not_equal(a, b);
}

/* Three pages, of which the middle one is unmapped, protected, or beyond the end of its file. */
static void assert_not_readable(uint8_t *pages)
{
	uint64_t hash = 1;

	adv_check_memory_forget();
	assert_true(adv_check_memory_hash((uintptr_t)pages, PAGE, &hash));
	hash = 1;
	assert_false(adv_check_memory_hash((uintptr_t)pages, PAGE + 1, &hash));
	assert_false(adv_check_memory_hash((uintptr_t)pages + PAGE + 100, 8, &hash));
	assert_false(adv_check_memory_hash((uintptr_t)pages + 2 * PAGE - 1, 1, &hash));
	assert_int_equal(hash, 1);
}

static void test_unreadable(void **state)
{
	uint8_t *p =
		mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	FILE *file = tmpfile();
	uint64_t hash = 1;

	assert_ptr_not_equal(p, MAP_FAILED);
	assert_int_equal(mprotect(p + PAGE, PAGE, PROT_NONE), 0);
	assert_not_readable(p);
	assert_int_equal(munmap(p + PAGE, PAGE), 0);
	assert_not_readable(p);
	assert_true(adv_check_memory_hash((uintptr_t)p + 2 * PAGE, PAGE, &hash));
	munmap(p, 3 * PAGE);

	assert_non_null(file);
	assert_int_equal(ftruncate(fileno(file), PAGE), 0);
	p = mmap(NULL, 2 * PAGE, PROT_READ, MAP_SHARED, fileno(file), 0);
	assert_ptr_not_equal(p, MAP_FAILED);
	assert_not_readable(p);
	munmap(p, 2 * PAGE);
	fclose(file);
}

/* What was readable in one call need not be in the next one. */
static void test_forgets(void **state)
{
	uint8_t *p = mmap(NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t hash = 1, again = 1;

	assert_ptr_not_equal(p, MAP_FAILED);
	assert_true(adv_check_memory_hash((uintptr_t)p, 2 * PAGE, &hash));
	assert_true(adv_check_memory_hash((uintptr_t)p, 2 * PAGE, &again));
	assert_int_equal(hash, again);
	assert_int_equal(munmap(p + PAGE, PAGE), 0);
	adv_check_memory_forget();
	assert_false(adv_check_memory_hash((uintptr_t)p, 2 * PAGE, &hash));
	assert_true(adv_check_memory_hash((uintptr_t)p, PAGE, &hash));
	munmap(p, PAGE);
}

static void test_unmapped(void **state)
{
	const size_t length = 600 * (size_t)PAGE;
	uint8_t *p = mmap(NULL, length, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	assert_int_equal(mprotect(p, PAGE, PROT_NONE), 0);
	assert_false(adv_check_memory_is_unmapped((uintptr_t)p, length));
	assert_false(adv_check_memory_is_unmapped((uintptr_t)p + 5, length - 5));
	assert_int_equal(munmap(p + 500 * PAGE, PAGE), 0);
	assert_true(adv_check_memory_is_unmapped((uintptr_t)p, length));
	assert_false(adv_check_memory_is_unmapped((uintptr_t)p, 500 * PAGE));
	assert_true(adv_check_memory_is_unmapped((uintptr_t)p + 500 * PAGE - 1, 2));
	assert_true(adv_check_memory_is_unmapped(UINTPTR_MAX - 100, 200));
	munmap(p, length);
}

static void test_end_of_address_space(void **state)
{
	uint64_t hash = 1;

	assert_false(adv_check_memory_hash(UINTPTR_MAX - 100, 200, &hash));
	assert_false(adv_check_memory_hash(8, SIZE_MAX - 4, &hash));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_bit_counts),
		cmocka_unit_test(test_order_and_length_count),
		cmocka_unit_test(test_continues),
		cmocka_unit_test(test_unreadable),
		cmocka_unit_test(test_forgets),
		cmocka_unit_test(test_unmapped),
		cmocka_unit_test(test_end_of_address_space),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
