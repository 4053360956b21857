/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The clock never decreases, its units agree, and durations become struct timespec. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/clock.h"

static void test_monotonic(void **state)
{
	uint64_t last = adv_clock_ns();

	for (unsigned i = 0; i < 10000; i++) {
		uint64_t now = adv_clock_ns();

		assert_true(now >= last);
		last = now;
	}
}

static void test_units(void **state)
{
	struct timespec ts;
	uint64_t before, ms, after;

	assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &ts), 0);
	before = adv_clock_ns();
	ms = adv_clock_ms();
	after = adv_clock_ns();
	assert_in_range(ms, before / 1000000, after / 1000000);
	assert_true(before / 1000000000 >= (uint64_t)ts.tv_sec);
}

static void test_timespec(void **state)
{
	struct timespec ts = adv_clock_timespec(3000000007u);

	assert_int_equal(ts.tv_sec, 3);
	assert_int_equal(ts.tv_nsec, 7);
	ts = adv_clock_timespec(999999999u);
	assert_int_equal(ts.tv_sec, 0);
	assert_int_equal(ts.tv_nsec, 999999999);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_monotonic),
		cmocka_unit_test(test_units),
		cmocka_unit_test(test_timespec),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
