/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "base/units.h"
#include "fabric/plan/ets.h"

#define GB   1000000000ull
#define PCT  (ADV_RATIO_ONE / 100)
#define MORE (1000 * GB) /* more than the link's speed */

static struct adv_plan_class ets(uint64_t percent, uint64_t demand)
{
	return (struct adv_plan_class){.used = true, .share = percent * PCT, .demand = demand};
}

static struct adv_plan_class strict(uint64_t demand)
{
	return (struct adv_plan_class){.used = true, .strict = true, .demand = demand};
}

static void test_shares(void **state)
{
	struct adv_plan_class c[8] = {[0] = ets(30, MORE), [3] = ets(70, MORE)};
	struct adv_plan_ets e;

	assert_null(adv_plan_ets(c, 100 * GB, 1522, &e));
	assert_int_equal(e.got[0], 30 * GB);
	assert_int_equal(e.got[3], 70 * GB);
	assert_int_equal(e.unused, 0);
	assert_int_equal(e.quantum[0], 1522);
	assert_int_equal(e.quantum[3], 1522 * 7 / 3);
}

/* Class 0 demands less than its share of 50. The unused 30 are divided between classes 3 and 4 as
 * 30 to 20. This satisfies class 4. */
static void test_water_filling(void **state)
{
	struct adv_plan_class c[8] = {
		[0] = ets(50, 20 * GB), [3] = ets(30, MORE), [4] = ets(20, 25 * GB)};
	struct adv_plan_ets e;

	assert_null(adv_plan_ets(c, 100 * GB, 1522, &e));
	assert_int_equal(e.got[0], 20 * GB);
	assert_int_equal(e.got[4], 25 * GB);
	assert_int_equal(e.got[3], 55 * GB);
	assert_int_equal(e.guaranteed[3], 30 * GB);
	assert_int_equal(e.unused, 0);
}

static void test_strict(void **state)
{
	struct adv_plan_class c[8] = {[0] = ets(50, MORE),
				      [3] = ets(50, 10 * GB),
				      [6] = strict(5 * GB),
				      [7] = strict(20 * GB)};
	struct adv_plan_ets e;

	assert_null(adv_plan_ets(c, 100 * GB, 1522, &e));
	assert_int_equal(e.got[7], 20 * GB);
	assert_int_equal(e.got[6], 5 * GB);
	assert_int_equal(e.strict_rate, 25 * GB);
	assert_int_equal(e.got[3], 10 * GB);
	assert_int_equal(e.got[0], 65 * GB);
	assert_int_equal(e.guaranteed[0], 37500000000);

	c[7].demand = MORE; /* class 7, the highest, uses the whole link */
	assert_null(adv_plan_ets(c, 100 * GB, 1522, &e));
	assert_int_equal(e.got[7], 100 * GB);
	assert_int_equal(e.got[6] + e.got[3] + e.got[0], 0);
}

static void test_nobody_wants_it(void **state)
{
	struct adv_plan_class c[8] = {[0] = ets(100, 0), [7] = strict(GB)};
	struct adv_plan_ets e;

	assert_null(adv_plan_ets(c, 100 * GB, 1522, &e));
	assert_int_equal(e.got[0], 0);
	assert_int_equal(e.unused, 99 * GB);
}

static void test_refused(void **state)
{
	struct adv_plan_class none[8] = {{0}}, c[8] = {[0] = ets(50, GB), [1] = ets(49, GB)};
	struct adv_plan_ets e;

	assert_non_null(adv_plan_ets(none, 100 * GB, 1522, &e));
	assert_non_null(adv_plan_ets(c, 100 * GB, 1522, &e));
	c[1] = ets(50, GB);
	assert_null(adv_plan_ets(c, 100 * GB, 1522, &e));
	assert_non_null(adv_plan_ets(c, 1, 1522, &e));
	assert_non_null(adv_plan_ets(c, 100 * GB, 1, &e));
	c[0].share = 0;
	c[1].share = ADV_RATIO_ONE;
	assert_non_null(adv_plan_ets(c, 100 * GB, 1522, &e));
}

/* With random classes, no class gets more than its demand, no rate is lost, and all classes whose
 * demand is not satisfied have the same level. */
static void test_random(void **state)
{
	struct adv_rng rng;

	adv_rng_seed(&rng, 5);
	for (unsigned run = 0; run < 20000; run++) {
		struct adv_plan_class c[8] = {{0}};
		uint64_t left = 100, sum = 0, level = 0;
		struct adv_plan_ets e;

		for (unsigned i = 0; i < 8; i++) {
			uint64_t demand = adv_rng_below(&rng, 60) * GB + adv_rng_below(&rng, 7);
			uint64_t share = i == 7 ? left : adv_rng_below(&rng, left) / 2;

			c[i] = share ? ets(share, demand) : strict(demand / 10);
			left -= share;
		}
		assert_null(adv_plan_ets(c, 100 * GB, 9238, &e));
		for (unsigned i = 0; i < 8; i++) {
			sum += e.got[i];
			assert_true(e.got[i] <= c[i].demand);
			if (!c[i].strict &&
			    e.got[i] < c[i].demand) /* bit/s per billionth of share */
				level = (uint64_t)((unsigned __int128)e.got[i] * ADV_RATIO_ONE /
						   c[i].share);
		}
		assert_int_equal(sum + e.unused, 100 * GB);
		for (unsigned i = 0; i < 8 && level; i++) {
			uint64_t due =
				(uint64_t)((unsigned __int128)level * c[i].share / ADV_RATIO_ONE);

			if (c[i].strict)
				continue;
			assert_in_range(e.unused, 0, 8); /* rounding errors */
			if (e.got[i] < c[i].demand)
				assert_in_range(e.got[i], due - 300, due + 300);
			else
				assert_true(c[i].demand <= due + 300);
			assert_true(e.got[i] >= c[i].demand || e.got[i] + 1 >= e.guaranteed[i]);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shares),	cmocka_unit_test(test_water_filling),
		cmocka_unit_test(test_strict),	cmocka_unit_test(test_nobody_wants_it),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests_name("plan ets", tests, NULL, NULL);
}
