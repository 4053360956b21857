/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests when a polling program may sleep, and what sleeps in vain cost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime/progress/nap.h"

#define MS     1000000ull
#define BUDGET ADV_PROGRESS_NAP_BUDGET_NS

static struct adv_progress_nap n;

static int setup(void **state)
{
	n = (struct adv_progress_nap)ADV_PROGRESS_NAP_START;
	return 0;
}

static void sleep_in_vain(uint64_t ns)
{
	adv_progress_nap_slept(&n, ns);
	assert_true(adv_progress_nap_heeds(&n, 0));
	adv_progress_nap_polled(&n, 0);
}

static void sleep_until_packet(uint64_t ns)
{
	adv_progress_nap_slept(&n, ns);
	adv_progress_nap_polled(&n, 1);
	assert_true(adv_progress_nap_permitted(&n));
}

/* Returns the number of packets after which the program may sleep again. */
static unsigned count_due(void)
{
	unsigned packets = 0;

	while (!adv_progress_nap_permitted(&n)) {
		assert_true(adv_progress_nap_heeds(&n, 1));
		adv_progress_nap_polled(&n, 1);
		packets++;
	}
	return packets;
}

/* Returns the duration of the sleeps in vain after which the program must not sleep. */
static uint64_t lose_right(void)
{
	uint64_t slept = 0;

	while (adv_progress_nap_permitted(&n)) {
		sleep_in_vain(BUDGET / 4);
		slept += BUDGET / 4;
	}
	return slept;
}

/* A program that has received no packet does not sleep, however often it polls. */
static void test_silent_queue(void **state)
{
	for (unsigned i = 0; i < 1000; i++) {
		assert_false(adv_progress_nap_permitted(&n));
		assert_false(adv_progress_nap_heeds(&n, 0));
	}
	assert_int_equal(count_due(), 1);
}

static void test_vain_sleeps_cost_packets(void **state)
{
	(void)count_due();
	for (unsigned price = 1; price <= 1u << 16; price *= 2) {
		assert_int_equal(lose_right(), BUDGET);
		assert_int_equal(count_due(), price);
	}
	(void)lose_right();
	assert_int_equal(count_due(), 1u << 16); /* the highest price */
}

static void test_useful_sleeps_earn_budget(void **state)
{
	(void)count_due();
	for (uint64_t budget = 2 * BUDGET; budget <= 32 * BUDGET; budget *= 2) {
		sleep_until_packet(1);
		for (uint64_t slept = BUDGET / 4; slept < budget; slept += BUDGET / 4) {
			sleep_in_vain(BUDGET / 4);
			assert_true(adv_progress_nap_permitted(&n));
		}
	}
	sleep_until_packet(1);
	assert_int_equal(lose_right(), 32 * BUDGET); /* the longest */
	(void)count_due();
	assert_int_equal(lose_right(), BUDGET); /* all is lost */
}

static void test_useful_sleeps_lower_price(void **state)
{
	(void)count_due();
	for (unsigned i = 0; i < 6; i++) {
		(void)lose_right();
		(void)count_due();
	}
	assert_int_equal(n.price, 64);
	for (unsigned i = 0; i < 3; i++)
		sleep_until_packet(1);
	(void)lose_right();
	assert_int_equal(count_due(), 8);
}

/* A packet that arrives between two sleeps does not end a sleep: it earns nothing. */
static void test_packet_between_sleeps(void **state)
{
	(void)count_due();
	for (unsigned i = 0; i < 3; i++) {
		sleep_in_vain(BUDGET / 4);
		assert_false(adv_progress_nap_heeds(&n, 1));
	}
	sleep_in_vain(BUDGET / 4);
	assert_false(adv_progress_nap_permitted(&n));
}

#define T(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_silent_queue),
		T(test_vain_sleeps_cost_packets),
		T(test_useful_sleeps_earn_budget),
		T(test_useful_sleeps_lower_price),
		T(test_packet_between_sleeps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
