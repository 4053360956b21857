/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdlib.h>

#include "harness.h"

#define TIMERS 200

struct watched {
	struct adv_timer t;
	uint64_t model; /* expected time; ADV_NEVER: none */
	unsigned fired;
	uint64_t again; /* ns after which the timer sets itself again */
};

static uint64_t last_fired;

static void fire(struct adv_engine *e, struct adv_timer *t, uint64_t now)
{
	struct watched *w = adv_container_of(t, struct watched, t);

	assert_true(t->when == ADV_NEVER);
	w->fired++;
	last_fired = now;
	if (w->again) {
		adv_timer_set(&e->timers, t, now + w->again);
		w->again = 0;
	}
}

static void watch(struct adv_engine *e, struct watched *w)
{
	memset(w, 0, sizeof(*w));
	w->model = ADV_NEVER;
	adv_timer_init(&w->t, fire);
	assert_int_equal(adv_timers_reserve(&e->timers), 0);
}

static void unwatch(struct adv_engine *e, struct watched *w)
{
	adv_timer_remove(&e->timers, &w->t);
	adv_timers_release(&e->timers);
}

static int setup(void **state)
{
	struct adv_engine_config c = {.seed = {1}, .qpn_first = 1, .qpn_count = 8};

	*state = adv_engine_create(&c);
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	adv_engine_destroy(*state);
	return 0;
}

static void test_fires_at_its_time(void **state)
{
	struct adv_engine *e = *state;
	struct watched w;

	assert_true(adv_engine_deadline(e) == ADV_NEVER);
	watch(e, &w);
	adv_timer_set(&e->timers, &w.t, 100);
	assert_int_equal(adv_engine_deadline(e), 100);
	adv_engine_expire(e, 99);
	assert_int_equal(w.fired, 0);
	adv_engine_expire(e, 100);
	assert_int_equal(w.fired, 1);
	assert_int_equal(last_fired, 100);
	assert_true(adv_engine_deadline(e) == ADV_NEVER);
	adv_engine_expire(e, 1000);
	assert_int_equal(w.fired, 1);
	unwatch(e, &w);
}

static void test_moving_later_is_lazy(void **state)
{
	struct adv_engine *e = *state;
	struct watched w;

	watch(e, &w);
	adv_timer_set(&e->timers, &w.t, 100);
	adv_timer_set(&e->timers, &w.t, 500);
	/* The deadline may still be the old, earlier time. */
	assert_true(adv_engine_deadline(e) <= 500);
	adv_engine_expire(e, 100);
	assert_int_equal(w.fired, 0);
	assert_int_equal(adv_engine_deadline(e), 500);
	adv_engine_expire(e, 500);
	assert_int_equal(w.fired, 1);
	unwatch(e, &w);
}

static void test_moving_earlier_counts_at_once(void **state)
{
	struct adv_engine *e = *state;
	struct watched w;

	watch(e, &w);
	adv_timer_set(&e->timers, &w.t, 500);
	adv_timer_set(&e->timers, &w.t, 50);
	assert_int_equal(adv_engine_deadline(e), 50);
	adv_engine_expire(e, 50);
	assert_int_equal(w.fired, 1);
	adv_engine_expire(e, 500);
	assert_int_equal(w.fired, 1);
	unwatch(e, &w);
}

static void test_cancel(void **state)
{
	struct adv_engine *e = *state;
	struct watched a, b;

	watch(e, &a);
	watch(e, &b);
	adv_timer_set(&e->timers, &a.t, 10);
	adv_timer_set(&e->timers, &b.t, 20);
	adv_timer_cancel(&a.t);
	adv_engine_expire(e, 15);
	assert_int_equal(a.fired, 0);
	assert_int_equal(adv_engine_deadline(e), 20);
	/* Cancelled, then set again while it is still in the heap. */
	adv_timer_cancel(&b.t);
	adv_timer_set(&e->timers, &b.t, 30);
	adv_engine_expire(e, 29);
	assert_int_equal(b.fired, 0);
	adv_engine_expire(e, 30);
	assert_int_equal(b.fired, 1);
	adv_timer_set(&e->timers, &a.t, ADV_NEVER);
	assert_true(adv_engine_deadline(e) == ADV_NEVER);
	unwatch(e, &a);
	unwatch(e, &b);
}

static void test_sets_itself_again(void **state)
{
	struct adv_engine *e = *state;
	struct watched w;

	watch(e, &w);
	w.again = 40;
	adv_timer_set(&e->timers, &w.t, 10);
	adv_engine_expire(e, 12);
	assert_int_equal(w.fired, 1);
	assert_int_equal(adv_engine_deadline(e), 52);
	adv_engine_expire(e, 52);
	assert_int_equal(w.fired, 2);
	unwatch(e, &w);
}

static void change_at_random(struct adv_engine *e, struct adv_rng *rng, struct watched *w,
			     uint64_t now)
{
	switch (adv_rng_below(rng, 4)) {
	case 0:
		adv_timer_cancel(&w->t);
		w->model = ADV_NEVER;
		break;
	case 1:
		adv_timer_remove(&e->timers, &w->t);
		w->model = ADV_NEVER;
		break;
	default:
		w->model = now + 1 + adv_rng_below(rng, 1000);
		adv_timer_set(&e->timers, &w->t, w->model);
	}
}

/* Compares the heap with a model: an array that is searched. */
static void test_random(void **state)
{
	struct adv_engine *e = *state;
	struct watched *w = calloc(TIMERS, sizeof(*w));
	struct adv_rng rng;
	uint64_t now = 0;

	adv_rng_seed(&rng, 7);
	for (int i = 0; i < TIMERS; i++)
		watch(e, &w[i]);
	for (int round = 0; round < 5000; round++) {
		uint64_t first = ADV_NEVER;

		for (int k = 0; k < 5; k++)
			change_at_random(e, &rng, &w[adv_rng_below(&rng, TIMERS)], now);
		for (int i = 0; i < TIMERS; i++)
			if (w[i].model < first)
				first = w[i].model;
		assert_true(adv_engine_deadline(e) <= first);
		now += adv_rng_below(&rng, 30);
		adv_engine_expire(e, now);
		for (int i = 0; i < TIMERS; i++) {
			bool due = w[i].model <= now;

			assert_int_equal(w[i].fired, due);
			w[i].fired = 0;
			if (due)
				w[i].model = ADV_NEVER;
		}
	}
	for (int i = 0; i < TIMERS; i++)
		unwatch(e, &w[i]);
	free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_fires_at_its_time, setup, teardown),
		cmocka_unit_test_setup_teardown(test_moving_later_is_lazy, setup, teardown),
		cmocka_unit_test_setup_teardown(test_moving_earlier_counts_at_once, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_cancel, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sets_itself_again, setup, teardown),
		cmocka_unit_test_setup_teardown(test_random, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
