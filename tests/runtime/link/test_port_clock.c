/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime/link/port_clock.h"

#define US 1000ull
#define MS (1000 * US)
#define S  (1000 * MS)

static struct adv_port_time time_of;
static struct adv_port_clock now_of;

static int start(void **state)
{
	now_of = (struct adv_port_clock){.time = &time_of};
	adv_port_time_set(&time_of, 0, UINT64_MAX);
	return 0;
}

/* Without a limit, and before the promise, it is the machine's clock. */
static void test_runs(void **state)
{
	assert_int_equal(adv_port_clock_at(&now_of, 5 * S), 5 * S);
	adv_port_time_set(&time_of, 0, 6 * S);
	assert_int_equal(adv_port_clock_at(&now_of, 6 * S), 6 * S);
	assert_false(adv_port_clock_is_late(&now_of, 6 * S, 1));
}

/* Without a new promise the clock hardly runs, but it runs. */
static void test_stops(void **state)
{
	adv_port_time_set(&time_of, 0, 6 * S);
	assert_int_equal(adv_port_clock_at(&now_of, 16 * S), 6 * S + 10 * S / ADV_PORT_CLOCK_CREEP);
	assert_true(adv_port_clock_is_late(&now_of, 16 * S, 10 * S));
	assert_false(adv_port_clock_is_late(&now_of, 16 * S, 10 * S + 1));
}

/* The emulator gives up the time in which it did nothing. */
static void test_leaves_out(void **state)
{
	adv_port_time_set(&time_of, 0, 6 * S);
	assert_int_equal(adv_port_clock_at(&now_of, 6 * S), 6 * S);
	adv_port_time_set(&time_of, 10 * S, 17 * S);
	assert_int_equal(adv_port_clock_at(&now_of, 16 * S + MS), 6 * S + MS);
	assert_int_equal(adv_port_clock_at(&now_of, 17 * S), 7 * S);
	/* the promise is 17 s by the machine's clock */
	assert_true(adv_port_clock_is_late(&now_of, 17 * S + 1, 1));
	/* without a limit, what was given up stays given up */
	adv_port_time_set(&time_of, 10 * S, UINT64_MAX);
	assert_int_equal(adv_port_clock_at(&now_of, 60 * S), 50 * S);
}

/* Time that a process has counted before the emulator gave it up does not come twice. */
static void test_never_decreases(void **state)
{
	adv_port_time_set(&time_of, 0, 60 * S);
	assert_int_equal(adv_port_clock_at(&now_of, 10 * S), 10 * S);
	adv_port_time_set(&time_of, 4 * S, 60 * S);
	assert_int_equal(adv_port_clock_at(&now_of, 12 * S), 10 * S);
	assert_int_equal(adv_port_clock_at(&now_of, 15 * S), 11 * S);
	/* a thread that read the machine's clock earlier */
	assert_int_equal(adv_port_clock_at(&now_of, 14 * S), 11 * S);
	assert_int_equal(adv_port_clock_at(&now_of, 1 * S), 11 * S);
}

/* Time that was lost is found once, from 10 us on. */
static void test_stood(void **state)
{
	uint64_t behind = 0;

	adv_port_time_set(&time_of, 0, 6 * S);
	assert_false(adv_port_clock_stood(&now_of, 5 * S, &behind));
	assert_false(adv_port_clock_stood(&now_of, 6 * S + 9 * US, &behind));
	assert_true(adv_port_clock_stood(&now_of, 6 * S + 20 * US, &behind));
	assert_false(adv_port_clock_stood(&now_of, 6 * S + 25 * US, &behind));
	assert_true(adv_port_clock_stood(&now_of, 6 * S + MS, &behind));
	/* The emulator gives up time that has passed: the clock stands for as long. */
	adv_port_time_set(&time_of, 4 * MS, 60 * S);
	assert_true(adv_port_clock_stood(&now_of, 6 * S + 2 * MS, &behind));
	assert_true(adv_port_clock_stood(&now_of, 6 * S + 5 * MS, &behind));
	assert_false(adv_port_clock_stood(&now_of, 6 * S + 9 * MS, &behind));
	/* Another thread has read a later time of the clock. */
	(void)adv_port_clock_at(&now_of, 7 * S);
	assert_false(adv_port_clock_stood(&now_of, 7 * S - 5 * MS, &behind));
	assert_false(adv_port_clock_stood(&now_of, 7 * S, &behind));
}

/* After the emulator's end the clock goes on from where it was, at full speed. */
static void test_ends(void **state)
{
	uint64_t last;

	adv_port_time_set(&time_of, 0, 6 * S);
	last = adv_port_clock_at(&now_of, 10 * S);
	adv_port_clock_end(&now_of, 10 * S);
	assert_int_equal(adv_port_clock_at(&now_of, 10 * S), last);
	assert_int_equal(adv_port_clock_at(&now_of, 13 * S), last + 3 * S);
	assert_false(adv_port_clock_is_late(&now_of, 13 * S, 1));
	/* a second thread finds the same */
	adv_port_clock_end(&now_of, 13 * S);
	assert_int_equal(adv_port_clock_at(&now_of, 14 * S), last + 4 * S);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_runs, start),
		cmocka_unit_test_setup(test_stops, start),
		cmocka_unit_test_setup(test_leaves_out, start),
		cmocka_unit_test_setup(test_never_decreases, start),
		cmocka_unit_test_setup(test_stood, start),
		cmocka_unit_test_setup(test_ends, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
