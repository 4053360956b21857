/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The device's lock: one at a time, nobody sleeps for ever, and who has much to do gives way. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "host/lock.h"

#define THREADS 4
#define TURNS	20000
#define LOOKS	100000000 /* that is never */

struct bed {
	struct adv_lock lock;
	unsigned long count; /* under the lock */
	unsigned long had;   /* the same */
	unsigned turns;
};

static void *take_once(void *arg)
{
	struct bed *b = arg;

	adv_lock_take(&b->lock);
	b->had++;
	adv_lock_release(&b->lock);
	return NULL;
}

static void wait_for_sleeper(struct adv_lock *l)
{
	for (unsigned n = 0; l->state != 2; n++) {
		assert_true(n < LOOKS);
		sched_yield();
	}
}

/* Who sleeps for the lock has it before the one that gives way has it again. */
static void test_gives_way(void **state)
{
	for (unsigned i = 0; i < 50; i++) {
		struct bed b = {0};
		pthread_t thread;
		unsigned ways = 0;

		adv_lock_take(&b.lock);
		assert_int_equal(pthread_create(&thread, NULL, take_once, &b), 0);
		/* It may have marked the lock and not sleep yet, or get no processor. */
		for (; b.had == 0; ways++) {
			assert_true(ways < 10000);
			wait_for_sleeper(&b.lock);
			adv_lock_give_way(&b.lock);
			assert_true(adv_lock_is_taken(&b.lock));
		}
		adv_lock_release(&b.lock);
		assert_int_equal(pthread_join(thread, NULL), 0);
		assert_int_equal(b.lock.state, 0);
	}
}

/* Where nobody waits, nothing happens, also where somebody has waited before. */
static void test_alone(void **state)
{
	struct adv_lock lock = {0};

	adv_lock_take(&lock);
	adv_lock_give_way(&lock);
	assert_int_equal(lock.state, 1);
	lock.state = 2;
	adv_lock_give_way(&lock);
	assert_int_equal(lock.state, 1);
	adv_lock_release(&lock);
	assert_int_equal(lock.state, 0);
}

/* Holds the lock for long, giving way now and then, and for short. */
static void *take_turns(void *arg)
{
	struct bed *b = arg;

	for (unsigned i = 0; i < b->turns; i++) {
		adv_lock_take(&b->lock);
		for (unsigned k = 0; k < i % 4; k++) {
			unsigned long before = b->count;

			for (volatile unsigned spin = 0; spin < i % 64; spin++)
				;
			b->count = before + 1;
			adv_lock_give_way(&b->lock);
		}
		adv_lock_release(&b->lock);
	}
	return NULL;
}

static void test_threads(void **state)
{
	struct bed b = {.turns = TURNS};
	pthread_t thread[THREADS];

	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, take_turns, &b), 0);
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
	assert_int_equal(b.count, THREADS * TURNS / 4 * 6ul);
	assert_false(adv_lock_is_taken(&b.lock));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gives_way),
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
