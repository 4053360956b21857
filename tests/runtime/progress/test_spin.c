/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests when the background thread spins before it sleeps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime/progress/progress.h"

#define US	  1000ull
#define MS	  (1000 * US)
#define LOOK	  (1 * US)  /* between two looks of a spin */
#define LONGEST	  (30 * US) /* of a spin without packets */
#define TOTAL	  (1 * MS)  /* of a spin with packets */
#define VAIN	  4	    /* spins in vain, until the thread does not spin */
#define PREEMPTED (500 * US)

static struct adv_progress p;
static uint64_t now;

static int setup(void **state)
{
	now = 1000 * MS;
	adv_progress_init(&p, ADV_PROGRESS_NEVER);
	return 0;
}

/* A packet wakes the thread after a sleep of ns. The thread receives it. Returns whether it then
 * spins. */
static bool wake_after(uint64_t ns)
{
	const struct adv_progress_plan plan = {.deadline = ADV_PROGRESS_NEVER};
	struct adv_progress_wakeup w = {.sources = ADV_PROGRESS_BY_PACKET};

	adv_progress_sleeps(&p, now, &plan);
	now += ns;
	assert_int_equal(adv_progress_woken(&p, now, w.sources, false), ADV_PROGRESS_ENTER);
	(void)adv_progress_enters(&p, now, &w);
	(void)adv_progress_received(&p, now, 1, &w);
	return adv_progress_spins(&p, now);
}

/* Spins without a packet. Returns the duration. */
static uint64_t spin_in_vain(void)
{
	uint64_t since = now;

	do
		now += LOOK;
	while (adv_progress_spins_on(&p, now, 0));
	return now - since;
}

static void learn(void)
{
	for (unsigned i = 1; i < ADV_PROGRESS_SPIN_SIGNS; i++)
		assert_false(wake_after(20 * US));
	assert_true(wake_after(20 * US));
}

static void test_short_sleeps_are_the_sign(void **state)
{
	learn();
	assert_int_equal(spin_in_vain(), LONGEST);
}

static void test_a_long_sleep_is_none(void **state)
{
	for (unsigned i = 0; i < 3; i++) {
		for (unsigned k = 1; k < ADV_PROGRESS_SPIN_SIGNS; k++)
			assert_false(wake_after(20 * US));
		assert_false(wake_after(200 * US));
	}
}

static void test_packets_prolong_a_spin(void **state)
{
	uint64_t since;

	learn();
	since = now;
	for (unsigned i = 0; i < 5; i++) {
		now += LONGEST - LOOK;
		assert_true(adv_progress_spins_on(&p, now, 1));
	}
	assert_int_equal(spin_in_vain(), LONGEST);
	assert_in_range(now - since, 5 * (LONGEST - LOOK), TOTAL);
}

/* Otherwise a stream of packets would keep the thread from its notices. */
static void test_a_spin_ends_in_any_case(void **state)
{
	uint64_t since;

	learn();
	since = now;
	do
		now += LOOK;
	while (adv_progress_spins_on(&p, now, 1));
	assert_int_equal(now - since, TOTAL);
	assert_true(wake_after(20 * US));
}

static void test_vain_spins_end_it(void **state)
{
	learn();
	for (unsigned i = 1; i < VAIN; i++) {
		(void)spin_in_vain();
		assert_true(wake_after(20 * US));
	}
	(void)spin_in_vain();
	for (unsigned i = 1; i < 2 * ADV_PROGRESS_SPIN_SIGNS; i++)
		assert_false(wake_after(20 * US));
	assert_true(wake_after(20 * US));
}

static void test_good_spins_forgive(void **state)
{
	learn();
	for (unsigned i = 0; i < 5 * VAIN; i++) {
		(void)spin_in_vain();
		assert_true(wake_after(20 * US));
		now += LOOK;
		assert_true(adv_progress_spins_on(&p, now, 1));
		(void)spin_in_vain();
		assert_true(wake_after(20 * US));
	}
}

/* The program then polls, or may want the lock and the processor. */
static void test_a_call_ends_a_spin(void **state)
{
	learn();
	adv_progress_judge(&p, now, true);
	adv_progress_posted(&p, now);
	assert_false(adv_progress_spins_on(&p, now, 0));
	assert_true(wake_after(20 * US));
	adv_progress_judge(&p, now, false); /* a poll, after which another may follow */
	assert_false(adv_progress_spins_on(&p, now, 1));
}

static void test_not_on_a_crowded_processor(void **state)
{
	learn();
	now += PREEMPTED;
	assert_false(adv_progress_spins_on(&p, now, 0));
	assert_true(adv_progress_is_crowded(&p, now));
	assert_false(wake_after(20 * US));
	now += 200 * MS;
	assert_true(wake_after(20 * US));
}

static void test_only_after_a_packet(void **state)
{
	const struct adv_progress_plan plan = {.deadline = ADV_PROGRESS_NEVER};
	struct adv_progress_wakeup w = {.sources = ADV_PROGRESS_BY_KICK};

	learn();
	(void)spin_in_vain();
	adv_progress_judge(&p, now, true);
	adv_progress_sleeps(&p, now, &plan);
	now += 20 * US;
	(void)adv_progress_enters(&p, now, &w);
	(void)adv_progress_received(&p, now, 0, &w);
	assert_false(adv_progress_spins(&p, now));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_short_sleeps_are_the_sign, setup),
		cmocka_unit_test_setup(test_a_long_sleep_is_none, setup),
		cmocka_unit_test_setup(test_packets_prolong_a_spin, setup),
		cmocka_unit_test_setup(test_a_spin_ends_in_any_case, setup),
		cmocka_unit_test_setup(test_vain_spins_end_it, setup),
		cmocka_unit_test_setup(test_good_spins_forgive, setup),
		cmocka_unit_test_setup(test_a_call_ends_a_spin, setup),
		cmocka_unit_test_setup(test_not_on_a_crowded_processor, setup),
		cmocka_unit_test_setup(test_only_after_a_packet, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
