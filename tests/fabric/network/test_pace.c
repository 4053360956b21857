/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rng.h"
#include "fabric/network/calendar.h"
#include "fabric/network/pace.h"

#define S 1000000000ull /* ns */

static void test_factor(void **state)
{
	struct adv_pace p;

	adv_pace_start(&p, 1, 100, 0, 5 * S, 7);
	assert_int_equal(adv_pace_virtual(&p, 5 * S), 7);
	assert_int_equal(adv_pace_virtual(&p, 6 * S), 7 + ADV_PS_PER_MS * 10);
	assert_int_equal(adv_pace_clock(&p, 7 + ADV_PS_PER_MS * 10), 6 * S);
	assert_int_equal(adv_pace_clock(&p, 0), 5 * S);
	assert_int_equal(adv_pace_clock(&p, ADV_CALENDAR_NEVER), UINT64_MAX);
}

/* At the clock's time that adv_pace_clock() returns, virtual time has been reached; a nanosecond
 * earlier it has not. */
static void test_inverse(void **state)
{
	struct adv_rng rng;
	struct adv_pace p;

	adv_rng_seed(&rng, 1);
	for (unsigned i = 0; i < 10000; i++) {
		uint32_t numerator = 1 + (uint32_t)adv_rng_below(&rng, 1000);
		uint32_t denominator = 1 + (uint32_t)adv_rng_below(&rng, 1000);
		uint64_t at = 1 + adv_rng_below(&rng, 1ull << 55);
		uint64_t clock;

		adv_pace_start(&p, numerator, denominator, 0, adv_rng_below(&rng, 1ull << 50), 0);
		clock = adv_pace_clock(&p, at);
		assert_true(adv_pace_virtual(&p, clock) >= at);
		assert_true(adv_pace_virtual(&p, clock - 1) < at);
	}
}

static void test_a_long_time(void **state)
{
	struct adv_pace p;
	uint64_t year = 365ull * 86400 * S;

	adv_pace_start(&p, 1, 1, 0, 0, 0);
	assert_true(adv_pace_virtual(&p, year / 2) == year / 2 * ADV_PS_PER_NS);
	adv_pace_start(&p, 1, UINT32_MAX, 0, 1, 0);
	assert_true(adv_pace_clock(&p, ADV_CALENDAR_NEVER - 1) == UINT64_MAX);
}

/* A simulation that is late within the patience catches up; later it gives up what it missed. */
static void test_falls_behind(void **state)
{
	struct adv_pace p;

	adv_pace_start(&p, 1, 10, 1000, 0, 0);
	assert_false(adv_pace_reached(&p, 100 * ADV_PS_PER_NS, 1000));
	assert_int_equal(p.worst, 0);
	assert_false(adv_pace_reached(&p, 200 * ADV_PS_PER_NS, 3000));
	assert_int_equal(p.worst, 1000);
	assert_int_equal(p.slips, 0);
	assert_int_equal(adv_pace_virtual(&p, 4000), 400 * ADV_PS_PER_NS);

	assert_true(adv_pace_reached(&p, 300 * ADV_PS_PER_NS, 4001));
	assert_int_equal(p.slips, 1);
	assert_int_equal(p.slipped, 1001);
	assert_int_equal(p.worst, 1001);
	assert_int_equal(adv_pace_virtual(&p, 4001), 300 * ADV_PS_PER_NS);
	assert_int_equal(adv_pace_virtual(&p, 5001), 400 * ADV_PS_PER_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_factor),
		cmocka_unit_test(test_inverse),
		cmocka_unit_test(test_a_long_time),
		cmocka_unit_test(test_falls_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
