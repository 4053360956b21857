/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "harness.h"

enum { TIMERS = 200 };

static const struct adv_cm_timer *earliest(const struct adv_cm_timer *t)
{
	const struct adv_cm_timer *first = NULL;
	unsigned i;

	for (i = 0; i < TIMERS; i++)
		if (t[i].position && (!first || t[i].when < first->when))
			first = &t[i];
	return first;
}

/* Timers set, moved and stopped at random: the first is always the earliest. */
static void test_random(void **state)
{
	struct adv_cm_timer t[TIMERS] = {{0}};
	struct adv_heap heap = {.count = 0};
	struct adv_rng rng;
	unsigned i;

	adv_rng_seed(&rng, 4);
	for (i = 0; i < TIMERS; i++)
		assert_int_equal(adv_cm_timers_reserve(&heap), 0);
	assert_null(adv_cm_timers_first(&heap));
	for (i = 0; i < 50000; i++) {
		struct adv_cm_timer *one = &t[adv_rng_below(&rng, TIMERS)];
		const struct adv_cm_timer *first;

		adv_cm_timer_set(&heap, one,
				 adv_rng_below(&rng, 3) ? adv_rng_below(&rng, 1000) : ADV_CM_NEVER);
		first = earliest(t);
		if (first)
			assert_int_equal(adv_cm_timers_first(&heap)->when, first->when);
		else
			assert_null(adv_cm_timers_first(&heap));
	}
	for (i = 0; i < TIMERS; i++) {
		adv_cm_timer_set(&heap, &t[i], ADV_CM_NEVER);
		adv_cm_timers_release(&heap);
	}
	assert_int_equal(heap.count, 0);
	assert_null(heap.slot);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};

	return cmocka_run_group_tests_name("cm timer", tests, NULL, NULL);
}
