/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests which programs' posts receive until the peer's WRITE arrives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime/progress/progress.h"

#define US	1000ull
#define MS	(1000 * US)
#define POLL	300 /* ns */

#define POSTS	8	    /* signs after which posts linger at first */
#define LONGEST (100 * US)  /* of one lingering post */
#define CHECKS	(3200 * US) /* longest time between the thread's checks of the program */
#define VAIN	4	    /* useless lingering posts, until posts do not linger */

static struct adv_progress p;
static uint64_t now;

static int setup(void **state)
{
	now = 1000 * MS;
	adv_progress_init(&p, ADV_PROGRESS_NEVER);
	return 0;
}

static void poll(void)
{
	now += POLL;
	adv_progress_poll_begins(&p, now);
	(void)adv_progress_poll_ends(&p, now, 0);
	if (adv_progress_on_trial(&p))
		adv_progress_judge(&p, now, false);
}

static void post(void)
{
	if (adv_progress_on_trial(&p))
		adv_progress_judge(&p, now, true);
	adv_progress_posted(&p, now);
}

static void plan_sleep(uint64_t deadline)
{
	const struct adv_progress_plan plan = {.deadline = deadline};

	adv_progress_sleeps(&p, now, &plan);
}

/* The background thread wakes and receives the peer's WRITE, 20 us after the last call. */
static void receive(void)
{
	struct adv_progress_wakeup w = {.sources = ADV_PROGRESS_BY_PACKET};

	now += 20 * US;
	assert_int_equal(adv_progress_woken(&p, now, w.sources, false), ADV_PROGRESS_ENTER);
	(void)adv_progress_enters(&p, now, &w);
	(void)adv_progress_received(&p, now, 1, &w);
	plan_sleep(now + 1 * MS);
}

/* riowrite() of a program that spins on memory: it polls once and posts, `later` ns after the
 * WRITE.
 */
static void exchange(uint64_t later)
{
	receive();
	now += later;
	poll();
	post();
}

static void learn(unsigned posts)
{
	for (unsigned i = 0; i < posts; i++) {
		assert_false(adv_progress_lingers(&p));
		exchange(1 * US);
	}
	assert_true(adv_progress_lingers(&p));
}

/* Lingers for `ns`. Returns the actions. */
static unsigned linger(uint64_t ns, bool written)
{
	uint64_t until;
	unsigned actions = adv_progress_linger_begins(&p, now, &until);

	assert_int_equal(until, now + LONGEST);
	now += ns;
	actions |= adv_progress_linger_ends(&p, now - POLL, now, written);
	adv_progress_posted(&p, now);
	return actions;
}

static void test_learns(void **state)
{
	learn(POSTS);
	assert_int_equal(adv_progress_state(&p), ADV_PROGRESS_THREAD);
	/* Now a packet does not wake the thread. */
	assert_int_equal(linger(2 * US, true), ADV_PROGRESS_DISARM);
	assert_int_equal(adv_progress_state(&p), ADV_PROGRESS_POLLER);
	for (unsigned i = 0; i < 1000; i++) {
		poll();
		assert_int_equal(linger(2 * US, true), 0);
		assert_int_equal(adv_progress_woken(&p, now, 0, false), ADV_PROGRESS_SLEEP_ON);
	}
	assert_true(adv_progress_lingers(&p));
}

/* Tests that a program that reacts late does something else than to spin. */
static void test_reacts_late(void **state)
{
	for (unsigned i = 0; i < 100; i++)
		exchange(i % POSTS ? 1 * US : 60 * US);
	assert_false(adv_progress_lingers(&p));
	for (unsigned i = 0; i < 100; i++) { /* without a poll */
		receive();
		now += 60 * US;
		post();
	}
	assert_false(adv_progress_lingers(&p));
}

/* Tests that a program that polls in a loop receives the WRITE itself. */
static void test_loops(void **state)
{
	for (unsigned i = 0; i < 100; i++) {
		poll();
		poll();
		exchange(1 * US);
	}
	assert_false(adv_progress_lingers(&p));
	for (unsigned i = 0; i < 100; i++) { /* the loop ends with a packet */
		poll();
		poll();
		adv_progress_poll_begins(&p, now += POLL);
		(void)adv_progress_poll_ends(&p, now, 1);
		exchange(1 * US);
	}
	assert_false(adv_progress_lingers(&p));
}

/* Tests the sequence of post, poll and poll after the thread received: a loop. */
static void test_polls_after(void **state)
{
	for (unsigned i = 0; i < 100; i++) {
		struct adv_progress_wakeup w = {.sources = ADV_PROGRESS_BY_PACKET};

		now += 20 * US;
		(void)adv_progress_enters(&p, now, &w);
		(void)adv_progress_received(&p, now, 1, &w);
		if (adv_progress_state(&p) == ADV_PROGRESS_POLLER)
			return; /* the thread has stopped receiving, as its wake-ups are useless */
		poll();
		poll();
		assert_false(adv_progress_on_trial(&p));
	}
	fail();
}

/* Tests that useless lingering ends, and that the thread receives after each useless time. */
static void test_vain(void **state)
{
	learn(POSTS);
	for (unsigned i = 0; i < VAIN; i++) {
		assert_true(adv_progress_lingers(&p));
		assert_int_equal(linger(LONGEST, false), ADV_PROGRESS_DISARM | ADV_PROGRESS_ARM);
		assert_int_equal(adv_progress_state(&p), ADV_PROGRESS_THREAD);
		assert_int_equal(p.wake_at, now + CHECKS); /* the thread's check runs timers */
	}
	assert_false(adv_progress_lingers(&p));
	learn(2 * POSTS);
	for (unsigned i = 0; i <= POSTS; i++)
		(void)linger(2 * US, true);
	for (unsigned i = 0; i < VAIN; i++)
		(void)linger(LONGEST, false);
	learn(2 * POSTS); /* success has reduced the number of signs by POSTS */
}

/* Tests a thread that has planned a long sleep when a post lingers: it is woken, or nobody would
 * receive if the program makes no further call. */
static void test_thread_sleeps(void **state)
{
	uint64_t until;

	learn(POSTS);
	plan_sleep(ADV_PROGRESS_NEVER);
	assert_true(p.wake_at > now + CHECKS);
	assert_int_equal(adv_progress_linger_begins(&p, now, &until),
			 ADV_PROGRESS_DISARM | ADV_PROGRESS_KICK);
	assert_int_equal(adv_progress_woken(&p, now, ADV_PROGRESS_BY_KICK, true),
			 ADV_PROGRESS_ENTER);
	assert_int_equal(adv_progress_enters(&p, now, &(struct adv_progress_wakeup){0}), 0);
	assert_in_range(adv_progress_sleep_until(&p, now), now, now + CHECKS);
	/* As long as it may still sleep, an earlier timer wakes it. */
	assert_int_equal(adv_progress_linger_ends(&p, now, now, false), ADV_PROGRESS_ARM);
	assert_true(p.wake_at > now + CHECKS);
}

/* Tests that a WRITE in between ends the count of useless posts. */
static void test_vain_sometimes(void **state)
{
	learn(POSTS);
	for (unsigned i = 0; i < 100; i++) {
		for (unsigned k = 0; k < VAIN - 1; k++)
			(void)linger(LONGEST, false);
		(void)linger(2 * US, true);
		(void)linger(2 * US, true);
	}
	assert_true(adv_progress_lingers(&p));
}

/* Tests that it was useless to receive a WRITE if the program does not post soon, or polls. */
static void test_no_post_follows(void **state)
{
	learn(POSTS);
	for (unsigned i = 0; i < VAIN; i++) {
		(void)linger(2 * US, true);
		now += 60 * US;
	}
	assert_int_equal(adv_progress_linger_begins(&p, now, &(uint64_t){0}), ADV_PROGRESS_ARM);
	assert_int_equal(adv_progress_state(&p), ADV_PROGRESS_THREAD);
	assert_false(adv_progress_lingers(&p));
	learn(2 * POSTS);
	for (unsigned i = 0; i < VAIN; i++) {
		(void)linger(2 * US, true);
		poll();
		poll();
	}
	assert_int_equal(adv_progress_linger_begins(&p, now, &(uint64_t){0}), 0);
	assert_int_equal(adv_progress_state(&p), ADV_PROGRESS_POLLER); /* it polls: it receives */
	assert_false(adv_progress_lingers(&p));
}

/* Tests that a post does not spin beside processes that need the processor. */
static void test_preempted(void **state)
{
	learn(POSTS);
	for (unsigned i = 0; i < VAIN; i++) {
		uint64_t until, before = now;

		(void)adv_progress_linger_begins(&p, now, &until);
		now += 3 * MS;
		(void)adv_progress_linger_ends(&p, before, now, true);
		assert_int_equal(adv_progress_state(&p), ADV_PROGRESS_THREAD);
	}
	assert_false(adv_progress_lingers(&p));
}

static void test_must_not(void **state)
{
	for (unsigned i = 1; i < ADV_PROGRESS_STATES; i++) {
		uint64_t until = 1;

		(void)setup(NULL);
		learn(POSTS);
		p.state = (enum adv_progress_state)i;
		(void)adv_progress_linger_begins(&p, now, &until);
		assert_int_equal(until != 0, i == ADV_PROGRESS_POLLER || i <= ADV_PROGRESS_LEAVING);
		assert_int_equal(adv_progress_state(&p), until ? ADV_PROGRESS_POLLER : i);
	}
	(void)setup(NULL);
	learn(POSTS);
	p.crowded_till = now + 1;
	assert_int_equal(adv_progress_linger_begins(&p, now, &(uint64_t){0}), 0);
	assert_int_equal(adv_progress_state(&p), ADV_PROGRESS_THREAD);
}

/* Tests that a program that requests an event sleeps for it instead of spinning on memory. */
static void test_requests_event(void **state)
{
	learn(POSTS);
	(void)adv_progress_arms(&p);
	assert_false(adv_progress_lingers(&p));
	for (unsigned i = 0; i < 100; i++) {
		exchange(1 * US);
		(void)adv_progress_arms(&p);
	}
	assert_false(adv_progress_lingers(&p));
}

/* Tests that single polls before posts are no polling loop, which another process might preempt. */
static void test_no_loop(void **state)
{
	p.state = ADV_PROGRESS_POLLER;
	for (unsigned i = 0; i < 1000; i++) {
		poll();
		post();
		now += 2 * MS;
	}
	assert_int_equal(p.crowded_till, 0);
}

/* Tests a found completion before a post: it belongs to the time of the post, not to the thread's
 * next wake-up. */
static void test_found(void **state)
{
	adv_progress_found(&p);
	adv_progress_posted(&p, now);
	assert_int_equal(adv_progress_woken(&p, now + 20 * US, ADV_PROGRESS_BY_PACKET, false),
			 ADV_PROGRESS_ENTER);
}

#define T(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_learns),		T(test_reacts_late),
		T(test_loops),		T(test_polls_after),
		T(test_vain),		T(test_thread_sleeps),
		T(test_vain_sometimes), T(test_no_post_follows),
		T(test_preempted),	T(test_must_not),
		T(test_requests_event), T(test_no_loop),
		T(test_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
