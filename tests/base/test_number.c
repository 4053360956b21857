/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/array.h"
#include "base/number.h"

#define UNTOUCHED 0x5a5a5a5a

static void test_values(void **state)
{
	static const struct {
		const char *text;
		uint64_t max, value;
	} cases[] = {
		{"0", 0, 0},
		{"7", 7, 7},
		{"007", 7, 7},
		{"0x7", 7, 7},
		{"255", 255, 255},
		{"0xff", 255, 255},
		{"0XfF", 255, 255},
		{"0xABCDEF", 0xffffff, 0xabcdef},
		{"18446744073709551615", UINT64_MAX, UINT64_MAX},
		{"0xffffffffffffffff", UINT64_MAX, UINT64_MAX},
		{"0x00000000000000000000000001", UINT64_MAX, 1},
	};

	(void)state;
	for (size_t i = 0; i < ADV_ARRAY_SIZE(cases); i++) {
		uint64_t value = UNTOUCHED;

		assert_true(adv_number_read(cases[i].text, strlen(cases[i].text), cases[i].max,
					    &value));
		assert_int_equal(value, cases[i].value);
	}
}

static void test_refused(void **state)
{
	static const struct {
		const char *text;
		uint64_t max;
	} cases[] = {
		{"", 9},
		{"1", 0},
		{"8", 7},
		{"9", 7}, /* a digit greater than max */
		{"0xf", 7},
		{"10", 9},
		{"256", 255},
		{"0x100", 255},
		{"18446744073709551616", UINT64_MAX},
		{"0x10000000000000000", UINT64_MAX},
		{"99999999999999999999999999999999", UINT64_MAX},
		{"0x", 99},
		{"x1", 99},
		{"0xg", 99},
		{"1f", 99},
		{"+1", 99},
		{"-1", UINT64_MAX},
		{" 1", 99},
		{"1 ", 99},
		{"1.5", 99},
		{"\xb2", 99},
	};

	(void)state;
	for (size_t i = 0; i < ADV_ARRAY_SIZE(cases); i++) {
		uint64_t value = UNTOUCHED;

		assert_false(adv_number_read(cases[i].text, strlen(cases[i].text), cases[i].max,
					     &value));
		assert_int_equal(value, UNTOUCHED);
	}
}

/* Bytes behind the end are not read; a NUL is not a digit. */
static void test_length(void **state)
{
	uint64_t value;

	(void)state;
	assert_true(adv_number_read("1234", 2, 99, &value));
	assert_int_equal(value, 12);
	assert_true(adv_number_read("0x12", 1, 99, &value));
	assert_int_equal(value, 0);
	assert_false(adv_number_read("0x12", 2, 99, &value));
	assert_false(adv_number_read("1\0002", 3, 999, &value));
}

static void test_digits(void **state)
{
	static const char upper[] = "0123456789ABCDEF", lower[] = "0123456789abcdef";

	(void)state;
	for (int c = -128; c < 128; c++) {
		const char *at = c ? strchr(c & 0x20 ? lower : upper, c) : NULL;

		assert_int_equal(adv_number_digit((char)c),
				 at ? at - (c & 0x20 ? lower : upper) : -1);
	}
}

static void test_hex_bytes(void **state)
{
	(void)state;
	assert_int_equal(adv_number_hex_byte("00"), 0);
	assert_int_equal(adv_number_hex_byte("a5"), 0xa5);
	assert_int_equal(adv_number_hex_byte("Ff"), 0xff);
	assert_int_equal(adv_number_hex_byte("g0"), -1);
	assert_int_equal(adv_number_hex_byte("0 "), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),	  cmocka_unit_test(test_refused),
		cmocka_unit_test(test_length),	  cmocka_unit_test(test_digits),
		cmocka_unit_test(test_hex_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
