/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/array.h"
#include "base/units.h"

static void test_values(void **state)
{
	static const struct {
		enum adv_unit kind;
		const char *text;
		uint64_t value;
	} cases[] = {
		{ADV_UNIT_BYTES, "0B", 0},
		{ADV_UNIT_BYTES, "9000B", 9000},
		{ADV_UNIT_BYTES, "22.4kB", 22400},
		{ADV_UNIT_BYTES, "32MB", 32000000},
		{ADV_UNIT_BYTES, "32MiB", 33554432},
		{ADV_UNIT_BYTES, "0.5KiB", 512},
		{ADV_UNIT_BYTES, "1GiB", 1073741824},
		{ADV_UNIT_BYTES, "4K", 4096},
		{ADV_UNIT_BYTES, "4k", 4096},
		{ADV_UNIT_BYTES, "256M", 268435456},
		{ADV_UNIT_BYTES, "1.5G", 1610612736},
		{ADV_UNIT_BYTES, "2T", 2199023255552},
		{ADV_UNIT_BYTES, "2TB", 2000000000000},
		{ADV_UNIT_BYTES, "2TiB", 2199023255552},
		{ADV_UNIT_RATE, "400Gb/s", 400000000000},
		{ADV_UNIT_RATE, "2.5Gbit/s", 2500000000},
		{ADV_UNIT_RATE, "1.6Tb/s", 1600000000000},
		{ADV_UNIT_RATE, "10Gbps", 10000000000},
		{ADV_UNIT_TIME, "614.4ns", 614400},
		{ADV_UNIT_TIME, "50us", 50000000},
		{ADV_UNIT_TIME, "2s", 2000000000000},
		{ADV_UNIT_LENGTH, "100m", 100000},
		{ADV_UNIT_LENGTH, "0.5km", 500000},
		{ADV_UNIT_RATIO, "1/8", 125000000},
		{ADV_UNIT_RATIO, "1e-5", 10000},
		{ADV_UNIT_RATIO, "2.5E-3", 2500000},
		{ADV_UNIT_RATIO, "1e-3%", 10000},
		{ADV_UNIT_RATIO, "1e+2%", 1000000000},
		{ADV_UNIT_RATIO, "8", 8 * ADV_RATIO_ONE},
		{ADV_UNIT_RATIO, "0.5", ADV_RATIO_ONE / 2},
		{ADV_UNIT_RATIO, "1%", ADV_RATIO_ONE / 100},
		{ADV_UNIT_COUNT, "32", 32},
		{ADV_UNIT_COUNT, "1000000000", 1000000000},
	};
	char why[ADV_UNITS_WHY];

	for (size_t i = 0; i < ADV_ARRAY_SIZE(cases); i++) {
		uint64_t v = 1;

		if (!adv_units_parse(cases[i].kind, cases[i].text, strlen(cases[i].text), &v, why))
			fail_msg("%s: %s", cases[i].text, why);
		assert_int_equal(v, cases[i].value);
	}
}

static void test_refused(void **state)
{
	static const struct {
		enum adv_unit kind;
		const char *text;
		const char *part; /* text that the message must contain */
	} cases[] = {
		{ADV_UNIT_BYTES, "", "expected"},
		{ADV_UNIT_BYTES, "9000", "has no unit"},
		{ADV_UNIT_BYTES, "0", "has no unit"},
		{ADV_UNIT_BYTES, "5KB", "kB (1000 bytes) or K (1024)"},
		{ADV_UNIT_BYTES, "5mb", "did you mean 'MB'?"},
		{ADV_UNIT_BYTES, "5m", "did you mean 'M'?"},
		{ADV_UNIT_BYTES, "1.5B", "too fine"},
		{ADV_UNIT_BYTES, "-1B", "expected"},
		{ADV_UNIT_BYTES, "+1B", "expected"},
		{ADV_UNIT_BYTES, "1 B", "no unit ' B'"},
		{ADV_UNIT_BYTES, ".5MB", "expected"},
		{ADV_UNIT_BYTES, "5.MB", "no unit '.MB'"},
		{ADV_UNIT_BYTES, "1.2.3MB", "no unit '.3MB'"},
		{ADV_UNIT_BYTES, "1e3B", "no unit 'e3B'"},
		{ADV_UNIT_BYTES, "9999999999999999999B", "expected"},
		{ADV_UNIT_BYTES, "999999999999999999GB", "too large"},
		{ADV_UNIT_RATE, "100GB/s", "counts bytes"},
		{ADV_UNIT_RATE, "100gb/s", "did you mean 'Gb/s'?"},
		{ADV_UNIT_RATE, "100G", "no unit 'G'"},
		{ADV_UNIT_TIME, "5m", "no unit 'm'"},
		{ADV_UNIT_LENGTH, "5ns", "no unit 'ns'"},
		{ADV_UNIT_RATIO, "1/0", "no unit"},
		{ADV_UNIT_RATIO, "1/3", "no unit"},
		{ADV_UNIT_COUNT, "1.5", "not a whole number"},
		{ADV_UNIT_COUNT, "3x", "no unit 'x'"},
		{ADV_UNIT_TIME, "\x1b[2Js", "'?[2Js'"},
	};
	char why[ADV_UNITS_WHY];

	for (size_t i = 0; i < ADV_ARRAY_SIZE(cases); i++) {
		uint64_t v = 77;

		if (adv_units_parse(cases[i].kind, cases[i].text, strlen(cases[i].text), &v, why))
			fail_msg("%s was taken", cases[i].text);
		if (!strstr(why, cases[i].part))
			fail_msg("%s: %s", cases[i].text, why);
		assert_int_equal(v, 77);
	}
}

static void test_length_is_kept_to(void **state)
{
	char why[ADV_UNITS_WHY];
	uint64_t v;

	assert_true(adv_units_parse(ADV_UNIT_LENGTH, "5mm", 2, &v, why));
	assert_int_equal(v, 5000);
	assert_false(adv_units_parse(ADV_UNIT_LENGTH, "5mm", 1, &v, why));
}

static void test_plain_numbers(void **state)
{
	char why[ADV_UNITS_WHY];
	uint64_t v = 77;

	assert_true(adv_units_parse_plain(ADV_UNIT_BYTES, "4096", 4, &v, why));
	assert_int_equal(v, 4096);
	assert_true(adv_units_parse_plain(ADV_UNIT_BYTES, "4K", 2, &v, why));
	assert_int_equal(v, 4096);
	assert_true(adv_units_parse_plain(ADV_UNIT_BYTES, "40K", 1, &v, why));
	assert_int_equal(v, 4);
	assert_false(adv_units_parse_plain(ADV_UNIT_BYTES, "", 0, &v, why));
	assert_false(adv_units_parse_plain(ADV_UNIT_BYTES, "1.5", 3, &v, why));
	assert_int_equal(v, 4);
}

static void test_print(void **state)
{
	static const struct {
		enum adv_unit kind;
		uint64_t value;
		const char *text;
	} cases[] = {
		{ADV_UNIT_BYTES, 0, "0 B"},
		{ADV_UNIT_BYTES, 9216, "9216 B"},
		{ADV_UNIT_BYTES, 22400, "22.4 kB"},
		{ADV_UNIT_BYTES, 33554432, "33.554 MB"},
		{ADV_UNIT_BYTES, 3000000000000, "3 TB"},
		{ADV_UNIT_RATE, 100000000000, "100 Gb/s"},
		{ADV_UNIT_RATE, 33333333333, "33.333 Gb/s"},
		{ADV_UNIT_TIME, 614400, "614.4 ns"},
		{ADV_UNIT_TIME, 999, "999 ps"},
		{ADV_UNIT_TIME, 1234567, "1.235 us"},
		{ADV_UNIT_TIME, 1999600, "2 us"},
		{ADV_UNIT_LENGTH, 300000, "300 m"},
		{ADV_UNIT_RATIO, ADV_RATIO_ONE / 8, "0.125"},
		{ADV_UNIT_COUNT, UINT64_MAX / 2000, "9223372036854775"},
	};
	char text[ADV_UNITS_TEXT];

	for (size_t i = 0; i < ADV_ARRAY_SIZE(cases); i++)
		assert_string_equal(adv_units_print(cases[i].kind, cases[i].value, text),
				    cases[i].text);
}

static void test_exact(void **state)
{
	static const struct {
		enum adv_unit kind;
		uint64_t value;
		const char *text;
	} cases[] = {
		{ADV_UNIT_BYTES, 0, "0B"},
		{ADV_UNIT_BYTES, 512, "512B"},
		{ADV_UNIT_BYTES, 4 << 20, "4MiB"},
		{ADV_UNIT_BYTES, 1536, "1536B"},
		{ADV_UNIT_BYTES, 12000000, "12MB"},
		{ADV_UNIT_BYTES, UINT32_MAX, "4294967295B"},
		{ADV_UNIT_TIME, UINT64_C(10000000000), "10ms"},
		{ADV_UNIT_TIME, UINT64_C(86400000000000000), "86400s"},
		{ADV_UNIT_TIME, 1234567, "1234567ps"},
		{ADV_UNIT_COUNT, 64, "64"},
	};
	char text[ADV_UNITS_TEXT], why[ADV_UNITS_WHY];
	uint64_t again;

	for (size_t i = 0; i < ADV_ARRAY_SIZE(cases); i++) {
		assert_string_equal(adv_units_exact(cases[i].kind, cases[i].value, text),
				    cases[i].text);
		assert_true(adv_units_parse(cases[i].kind, text, strlen(text), &again, why));
		assert_int_equal(again, cases[i].value);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_length_is_kept_to),
		cmocka_unit_test(test_plain_numbers),
		cmocka_unit_test(test_print),
		cmocka_unit_test(test_exact),
	};

	return cmocka_run_group_tests_name("units", tests, NULL, NULL);
}
