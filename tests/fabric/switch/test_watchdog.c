/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The PFC watchdog by SONiC's rule. A queue is stuck if it has frames, sends none, and is paused
 * for more than 99 % of the time. */
#include "bench.h"

#define MS ADV_PS_PER_MS

static void open_with(struct bench *b, bool forward)
{
	bench_open(b);
	b->config.watchdog = (struct adv_watchdog){
		.poll = 100 * MS, .detect = 200 * MS, .restore = 400 * MS, .forward = forward};
	bench_start(b);
}

/* Advances the time to `until`. If `storm` is set, port 2 receives a PAUSE every millisecond. */
static uint64_t pass(struct bench *b, uint64_t now, uint64_t until, bool storm)
{
	for (; now < until; now += MS) {
		adv_switch_expire(b->s, now);
		if (storm)
			bench_pause(b, now, 2, 3, ADV_QUANTA_MAX);
		while (adv_switch_next_ready(b->s) >= 0)
			;
	}
	adv_switch_expire(b->s, until);
	return until;
}

/* At 100 Gb/s a PAUSE frame lasts 335 us, one third of its interval of 1 ms. At 10 Gb/s it lasts
 * longer than the interval. */
static void slow_links(struct bench *b)
{
	for (unsigned i = 0; i < BENCH_PORTS; i++)
		b->ps_per_byte[i] = 800; /* 10 Gb/s: 3.3 ms */
}

static void open_slow(struct bench *b, bool forward)
{
	bench_open(b);
	slow_links(b);
	b->config.watchdog = (struct adv_watchdog){
		.poll = 100 * MS, .detect = 200 * MS, .restore = 400 * MS, .forward = forward};
	bench_start(b);
}

/* The watchdog finds a storm between detect and detect + poll after its beginning. It drops the
 * queue and all later frames for it. Other priorities and ports are not affected. */
static void test_drop(void **state)
{
	struct bench b;
	uint64_t now;

	open_slow(&b, false);
	now = pass(&b, 0, 150 * MS, false);
	bench_pause(&b, now, 2, 3, ADV_QUANTA_MAX);
	bench_in(&b, now, 0, 2, 3, 1000);
	bench_in(&b, now, 0, 2, 3, 1000);
	bench_in(&b, now, 0, 2, 4, 64);
	bench_in(&b, now, 0, 1, 3, 500);
	now = pass(&b, now, 150 * MS + 200 * MS - MS, true);
	assert_false(adv_switch_storm(b.s, 2, 3));
	now = pass(&b, now, 150 * MS + 300 * MS, true);
	assert_true(adv_switch_storm(b.s, 2, 3));
	assert_int_equal(adv_switch_counters(b.s)->storms, 1);
	assert_int_equal(adv_switch_counters(b.s)->drops[ADV_DROP_WATCHDOG], 2);
	bench_in(&b, now, 0, 2, 3, 1000);
	assert_int_equal(adv_switch_counters(b.s)->drops[ADV_DROP_WATCHDOG], 3);
	assert_int_equal(adv_switch_used(b.s), 564);
	assert_int_equal(bench_out(&b, now, 2, NULL), 64);
	assert_int_equal(bench_out(&b, now, 1, NULL), 500);
	/* The action lasts as long as the storm. The time `restore` begins at the first poll
	 * without a pause. */
	now = pass(&b, now, 2000 * MS, true);
	assert_true(adv_switch_storm(b.s, 2, 3));
	now = pass(&b, now, 2400 * MS, false);
	assert_true(adv_switch_storm(b.s, 2, 3));
	now = pass(&b, now, 2600 * MS, false);
	assert_false(adv_switch_storm(b.s, 2, 3));
	assert_int_equal(b.events[ADV_SWITCH_STORM_END], 1);
	bench_in(&b, now, 0, 2, 3, 1000);
	assert_int_equal(bench_out(&b, now, 2, NULL), 1000);
	bench_close(&b);
}

static void test_forward(void **state)
{
	struct bench b;
	uint64_t now;

	open_slow(&b, true);
	bench_pause(&b, 0, 2, 3, ADV_QUANTA_MAX);
	bench_in(&b, 0, 0, 2, 3, 1000);
	now = pass(&b, 0, 300 * MS, true);
	assert_true(adv_switch_storm(b.s, 2, 3));
	assert_int_equal(bench_out(&b, now, 2, NULL), 1000);
	assert_int_equal(b.events[ADV_SWITCH_DROP], 0);
	now = pass(&b, now, 1000 * MS, false);
	assert_false(adv_switch_storm(b.s, 2, 3));
	bench_pause(&b, now, 2, 3, 1);
	bench_in(&b, now, 0, 2, 3, 1000);
	assert_int_equal(bench_out(&b, now, 2, NULL), 0);
	bench_close(&b);
}

/* If a pause occurs now and then, the storm does not end: each pause restarts the time `restore`.
 */
static void test_flapping(void **state)
{
	struct bench b;
	uint64_t now;

	open_slow(&b, false);
	bench_pause(&b, 0, 2, 3, ADV_QUANTA_MAX);
	bench_in(&b, 0, 0, 2, 3, 1000);
	now = pass(&b, 0, 300 * MS, true);
	assert_true(adv_switch_storm(b.s, 2, 3));
	for (unsigned i = 0; i < 5; i++) {
		now = pass(&b, now, now + 300 * MS, false);
		assert_true(adv_switch_storm(b.s, 2, 3));
		bench_pause(&b, now, 2, 3, 1000);
	}
	now = pass(&b, now, now + 600 * MS, false);
	assert_false(adv_switch_storm(b.s, 2, 3));
	assert_int_equal(adv_switch_counters(b.s)->storms, 1);
	bench_close(&b);
}

/* The longest possible poll interval is no storm by itself. */
static void test_long_poll(void **state)
{
	const uint64_t poll = 1000000 * ADV_PS_PER_S;
	struct bench b;

	bench_open(&b);
	b.config.watchdog = (struct adv_watchdog){.poll = poll, .detect = poll, .restore = poll};
	bench_start(&b);
	bench_in(&b, 0, 0, 2, 3, 1000);
	bench_pause(&b, poll / 2, 2, 3, ADV_QUANTA_MAX);
	adv_switch_expire(b.s, poll);
	assert_int_equal(adv_switch_counters(b.s)->storms, 0);
	bench_close(&b);
}

/* A queue that is often paused but sends now and then is not stuck. An empty queue is not stuck
 * either. */
static void test_no_false_alarm(void **state)
{
	struct bench b;
	uint64_t now = 0;

	open_slow(&b, false);
	now = pass(&b, now, 1000 * MS, true);
	assert_int_equal(adv_switch_counters(b.s)->storms, 0);
	bench_in(&b, now, 0, 2, 3, 1000);
	bench_in(&b, now, 0, 2, 3, 1000);
	for (unsigned i = 0; i < 20; i++) {
		now = pass(&b, now, now + 90 * MS, true);
		bench_pause(&b, now, 2, 3, 0);
		assert_int_equal(bench_out(&b, now, 2, NULL), 1000);
		bench_in(&b, now, 0, 2, 3, 1000);
	}
	assert_int_equal(adv_switch_counters(b.s)->storms, 0);
	bench_close(&b);
}

/* If a queue sends no frame but is paused for only two thirds of the time, it is no storm. */
static void test_paused_not_all_the_time(void **state)
{
	struct bench b;

	open_with(&b, false);
	bench_pause(&b, 0, 2, 3, ADV_QUANTA_MAX);
	bench_in(&b, 0, 0, 2, 3, 1000);
	/* The queue sends no frame, because the test does not call adv_switch_tx(). */
	pass(&b, 0, 1000 * MS, true);
	assert_int_equal(adv_switch_counters(b.s)->storms, 0);
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_drop),
		cmocka_unit_test(test_forward),
		cmocka_unit_test(test_flapping),
		cmocka_unit_test(test_long_poll),
		cmocka_unit_test(test_no_false_alarm),
		cmocka_unit_test(test_paused_not_all_the_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
