/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests that a reading of the port's counters has the time at which the counters were read,
 * although adverbd answers late. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/clock.h"
#include "cli/observe/port_reading.h"

#define CALLS 16

/* Each call of adv_control_counters(): its number is in tx_packets. */
static struct call {
	uint64_t begin, end;
} call[CALLS];
static unsigned calls;
static const unsigned *delays; /* ms, of the calls; the last one is that of all further calls */
static unsigned delay_count;
static int failure; /* errno of all calls */

int adv_control_counters(struct adv_control *c, const char *device, struct adv_counters *sum)
{
	struct timespec pause;

	(void)c;
	if (failure)
		return failure;
	assert_true(calls < CALLS);
	pause = adv_clock_timespec(delays[calls < delay_count ? calls : delay_count - 1] *
				   UINT64_C(1000000));
	call[calls].begin = adv_clock_ns();
	nanosleep(&pause, NULL);
	memset(sum, 0, sizeof(*sum));
	sum->link.tx_packets = calls;
	call[calls++].end = adv_clock_ns();
	return 0;
}

static struct adv_port_reading read_with(const unsigned *ms, unsigned count)
{
	struct adv_port_reading r = {.at = 0};

	delays = ms;
	delay_count = count;
	calls = 0;
	failure = 0;
	assert_int_equal(adv_port_reading_take(NULL, &r), 0);
	assert_in_range(r.counters.link.tx_packets, 0, calls - 1);
	return r;
}

static uint64_t length_of(unsigned i)
{
	return call[i].end - call[i].begin;
}

static void test_the_time_is_that_of_the_counters(void **state)
{
	static const unsigned late[] = {40, 40, 0};
	struct adv_port_reading r = read_with(late, 3);
	const struct call *taken = &call[r.counters.link.tx_packets];

	assert_true(calls > 2);
	assert_true(taken->begin <= r.at && r.at <= taken->end);
}

static void test_the_quickest_of_late_readings(void **state)
{
	static const unsigned late[] = {60, 5, 60};
	struct adv_port_reading r = read_with(late, 3);

	assert_true(calls > 2);
	for (unsigned i = 0; i < calls; i++)
		assert_true(length_of((unsigned)r.counters.link.tx_packets) <=
			    length_of(i) + 30000000);
}

static void test_errors(void **state)
{
	struct adv_port_reading r;

	failure = ECONNRESET;
	assert_int_equal(adv_port_reading_take(NULL, &r), ECONNRESET);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_time_is_that_of_the_counters),
		cmocka_unit_test(test_the_quickest_of_late_readings),
		cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
