/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests the device's lock: one holder at a time, no endless sleep, a busy holder that yields, and a
 * waiting thread that rarely gets a processor. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

#include "runtime/progress/lock.h"

#define THREADS	 4
#define TURNS	 20000
#define LOOKS	 100000000 /* never reached */
#define SPINNERS 8
#define WAYS	 100 /* under load, the waiting thread does not run each time */

struct bed {
	struct adv_lock lock;
	unsigned long count; /* protected by the lock */
	unsigned long had;   /* protected by the lock too */
	unsigned turns;
	atomic_bool stop;
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
	for (unsigned n = 0; l->state != ADV_LOCK_CONTENDED; n++) {
		assert_true(n < LOOKS);
		sched_yield();
	}
}

/* Tests that a thread that sleeps for the lock acquires it before the yielding holder acquires it
 * again. */
static void test_gives_way(void **state)
{
	for (unsigned i = 0; i < 50; i++) {
		struct bed b = {0};
		pthread_t thread;
		unsigned ways = 0;

		adv_lock_take(&b.lock);
		assert_int_equal(pthread_create(&thread, NULL, take_once, &b), 0);
		/* The other thread may have marked the lock as contended without sleeping yet, or
		 * may have no processor. */
		for (; b.had == 0; ways++) {
			assert_true(ways < 10000);
			wait_for_sleeper(&b.lock);
			adv_lock_give_way(&b.lock);
			assert_true(adv_lock_is_taken(&b.lock));
		}
		adv_lock_release(&b.lock);
		assert_int_equal(pthread_join(thread, NULL), 0);
		assert_int_equal(b.lock.state, ADV_LOCK_FREE);
	}
}

/* Tests that adv_lock_give_way() keeps the lock if no thread waits, even if a thread has waited
 * before. */
static void test_alone(void **state)
{
	struct adv_lock lock = {0};

	adv_lock_take(&lock);
	adv_lock_give_way(&lock);
	assert_int_equal(lock.state, ADV_LOCK_TAKEN);
	lock.state = ADV_LOCK_CONTENDED;
	adv_lock_give_way(&lock);
	assert_int_equal(lock.state, ADV_LOCK_TAKEN);
	adv_lock_release(&lock);
	assert_int_equal(lock.state, ADV_LOCK_FREE);
}

/* Holds the lock alternately for a long time, during which it yields now and then, and for a short
 * time. */
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

/* Keeps a processor busy until the test sets `stop`. */
static void *spin(void *arg)
{
	struct bed *b = arg;

	while (!atomic_load(&b->stop))
		;
	return NULL;
}

static void *take_once_when_idle(void *arg)
{
	(void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 19);
	return take_once(arg);
}

static void start_on(pthread_t *thread, int processor, void *(*run)(void *), struct bed *b)
{
	pthread_attr_t attr;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(processor, &set);
	pthread_attr_init(&attr);
	pthread_attr_setaffinity_np(&attr, sizeof(set), &set);
	assert_int_equal(pthread_create(thread, &attr, run, b), 0);
	pthread_attr_destroy(&attr);
}

/* Tests a starving thread. Processor 1 runs a holder that only yields the lock. Processor 0 runs
 * busy threads and a waiting thread of low priority. Whenever the waiting thread runs, the holder
 * has already acquired the lock again. */
static void test_starving(void **state)
{
	struct bed b = {0};
	pthread_t thread[SPINNERS + 1];
	cpu_set_t before, set;

	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	if (!CPU_ISSET(0, &before) || !CPU_ISSET(1, &before))
		skip();
	CPU_ZERO(&set);
	CPU_SET(1, &set);
	assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
	adv_lock_take(&b.lock);
	start_on(&thread[SPINNERS], 0, take_once_when_idle, &b);
	wait_for_sleeper(&b.lock);
	for (unsigned i = 0; i < SPINNERS; i++)
		start_on(&thread[i], 0, spin, &b);
	for (unsigned ways = 0, looks = 0; b.had == 0; looks++) {
		assert_true(ways < WAYS && looks < LOOKS);
		if (b.lock.state == ADV_LOCK_CONTENDED) {
			adv_lock_give_way(&b.lock);
			ways++;
		}
		sched_yield();
	}
	adv_lock_release(&b.lock);
	atomic_store(&b.stop, true);
	for (unsigned i = 0; i < SPINNERS + 1; i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
	assert_int_equal(b.lock.starving, 0);
	assert_false(adv_lock_is_taken(&b.lock));
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
}

/* Tests a signal handler that leaves adv_lock_take() by longjmp(): the lock must not stay reserved
 * for ever. */
static void test_starving_thread_has_left(void **state)
{
	struct bed b = {.lock = {.state = ADV_LOCK_CONTENDED, .starving = 1}};

	adv_lock_release(&b.lock);
	assert_int_equal(b.lock.state, ADV_LOCK_RESERVED);
	assert_false(adv_lock_try(&b.lock));
	adv_lock_take(&b.lock);
	assert_int_equal(b.lock.starving, 0);
	assert_int_equal(b.lock.uses, 1);
	adv_lock_release(&b.lock);
	assert_false(adv_lock_is_taken(&b.lock));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gives_way),
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_starving),
		cmocka_unit_test(test_starving_thread_has_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
