/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests what a program pays for a request that was held too long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime/progress/hold.h"

#define US	(1000ull)
#define MS	(1000 * US)
#define LONGEST (50 * US)
#define FORGIVE 32 /* holds that are not too long, in a row */

static struct adv_progress_hold h;

static int setup(void **state)
{
	h = (struct adv_progress_hold){.cost = ADV_PROGRESS_HOLD_COST};
	return 0;
}

/* Returns the number of requests that are sent at once. */
static unsigned count_denied(void)
{
	unsigned n = 0;

	while (!adv_progress_hold_permits(&h))
		n++;
	return n;
}

static void test_costs_twice_as_much_each_time(void **state)
{
	adv_progress_hold_ended(&h, LONGEST);
	assert_int_equal(count_denied(), 0);
	for (unsigned cost = ADV_PROGRESS_HOLD_COST; cost <= 4096; cost *= 2) {
		adv_progress_hold_ended(&h, LONGEST + 1);
		assert_int_equal(count_denied(), cost);
	}
	for (unsigned i = 0; i < 20; i++)
		adv_progress_hold_ended(&h, LONGEST + 1);
	assert_int_equal(count_denied(), 1 << 20);
}

/* A program that is preempted now and then holds again soon. */
static void test_short_holds_forgive(void **state)
{
	for (unsigned i = 0; i < 5; i++)
		adv_progress_hold_ended(&h, 3 * MS);
	assert_int_equal(count_denied(), ADV_PROGRESS_HOLD_COST << 4);
	for (unsigned i = 0; i < 5 * FORGIVE; i++)
		adv_progress_hold_ended(&h, 20 * US);
	adv_progress_hold_ended(&h, 3 * MS);
	assert_int_equal(count_denied(), ADV_PROGRESS_HOLD_COST);
}

static void test_too_few_do_not(void **state)
{
	adv_progress_hold_ended(&h, 3 * MS);
	for (unsigned i = 0; i < 5; i++) {
		for (unsigned k = 1; k < FORGIVE; k++)
			adv_progress_hold_ended(&h, 20 * US);
		adv_progress_hold_ended(&h, 3 * MS);
		assert_int_equal(h.off, ADV_PROGRESS_HOLD_COST << (i + 1));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_costs_twice_as_much_each_time, setup),
		cmocka_unit_test_setup(test_short_holds_forgive, setup),
		cmocka_unit_test_setup(test_too_few_do_not, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
