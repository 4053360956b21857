/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "../engine/harness.h"

#define GBPS 1000000ull /* in kb/s */

/* Packets are due one after the other: 1000 bytes take 1 us at 8 Gb/s. */
static void test_one_after_the_other(void **state)
{
	struct adv_pacer p = {0};

	assert_true(adv_pacer_open(&p, 0));
	adv_pacer_charge(&p, 1000, 8 * GBPS, 0, 50 * US);
	assert_int_equal(p.due, 51 * US);
	assert_false(adv_pacer_open(&p, 51 * US - 1));
	assert_true(adv_pacer_open(&p, 51 * US));
	assert_int_equal(adv_pacer_wake(&p, 8 * GBPS, 0), 51 * US);
	/* Unused credit is lost. */
	assert_int_equal(adv_pacer_credit(&p, 8 * GBPS, 0, 90 * US), 0);
	adv_pacer_charge(&p, 2000, 8 * GBPS, 0, 90 * US);
	assert_int_equal(p.due, 92 * US);
}

/* Fractions of a ns are not lost: 3 million packets of 1 byte at 7 Gb/s. */
static void test_fractions(void **state)
{
	struct adv_pacer p = {0};

	for (unsigned i = 0; i < 3000000; i++)
		adv_pacer_charge(&p, 1, 7 * GBPS, 0, 0);
	assert_int_equal(p.due, 3000000ull * 8 / 7);
}

static void test_burst(void **state)
{
	struct adv_pacer p = {.due = 10 * US};

	/* The sender is 40 us late, but may catch up by at most 20,000 bytes, which take 20 us. */
	assert_int_equal(adv_pacer_credit(&p, 8 * GBPS, 20000, 50 * US), 20000);
	adv_pacer_charge(&p, 1000, 8 * GBPS, 20000, 50 * US);
	assert_int_equal(p.due, 31 * US);
	assert_int_equal(adv_pacer_credit(&p, 8 * GBPS, 20000, 50 * US), 19000);
	adv_pacer_charge(&p, 19000, 8 * GBPS, 20000, 50 * US);
	assert_int_equal(p.due, 50 * US);
	assert_true(adv_pacer_open(&p, 50 * US));
	assert_int_equal(adv_pacer_credit(&p, 8 * GBPS, 20000, 50 * US), 0);
	adv_pacer_charge(&p, 1000, 8 * GBPS, 20000, 50 * US);
	assert_int_equal(p.due, 51 * US);
	/* The wake-up is due when half a burst may be sent, but at most 100 us after `due`. */
	assert_int_equal(adv_pacer_wake(&p, 8 * GBPS, 20000), 61 * US);
	assert_int_equal(adv_pacer_wake(&p, GBPS, 20000), 131 * US);
	assert_int_equal(adv_pacer_wake(&p, GBPS / 10, 20000), 151 * US);
	/* Times close to 0 do not wrap. */
	memset(&p, 0, sizeof(p));
	adv_pacer_charge(&p, 1000, 8 * GBPS, 20000, 5 * US);
	assert_int_equal(p.due, 1 * US);
}

/* If the rate changes, a wait keeps its number of bytes, and an unused credit keeps its
 * duration. */
static void test_change(void **state)
{
	struct adv_pacer p = {.due = 100 * US, .rest = 5};

	adv_pacer_change(&p, 8 * GBPS, 2 * GBPS, 90 * US);
	assert_int_equal(p.due, 130 * US);
	assert_int_equal(p.rest, 0);
	adv_pacer_change(&p, 2 * GBPS, 10 * GBPS, 120 * US);
	assert_int_equal(p.due, 122 * US);
	adv_pacer_change(&p, 10 * GBPS, GBPS, 122 * US);
	assert_int_equal(p.due, 122 * US);
	adv_pacer_change(&p, 10 * GBPS, GBPS, 200 * US);
	assert_int_equal(p.due, 122 * US);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_after_the_other),
		cmocka_unit_test(test_fractions),
		cmocka_unit_test(test_burst),
		cmocka_unit_test(test_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
