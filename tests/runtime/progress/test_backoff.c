/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests that a polling program sleeps on a crowded processor and spins on a free one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime/progress/progress.h"

#define US   1000ull
#define MS   (1000 * US)
#define POLL 300 /* ns */
#define SPIN (100 * US)

static struct adv_progress p;
static uint64_t now;

static bool poll(uint64_t later, unsigned packets)
{
	now += later;
	adv_progress_poll_begins(&p, now);
	return adv_progress_poll_ends(&p, now, packets);
}

/* Setup: the thread has left receiving to the program's polls, which have received a packet. */
static int setup(void **state)
{
	now = 1000 * MS;
	adv_progress_init(&p, ADV_PROGRESS_NEVER);
	p.state = ADV_PROGRESS_POLLER;
	(void)poll(POLL, 1);
	return 0;
}

/* Polls without a packet for `ns`. Returns the number of polls after which the program should have
 * slept. */
static unsigned spin(uint64_t ns)
{
	unsigned sleeps = 0;

	for (uint64_t end = now + ns; now < end;)
		sleeps += poll(POLL, 0);
	return sleeps;
}

static void be_preempted(void)
{
	(void)spin(SPIN + POLL);
	(void)poll(3 * MS, 0);
}

static void test_free_processor(void **state)
{
	for (unsigned i = 0; i < 100000; i++) { /* packets arrive every 3 us, and sometimes late */
		assert_int_equal(spin(i % 1000 ? 3 * US : 10 * MS), 0);
		assert_false(poll(POLL, 1));
	}
}

/* Tests that interrupts are no sign: they take some us, but the peer does not need them to respond.
 */
static void test_interrupts(void **state)
{
	for (unsigned i = 0; i < 1000; i++) {
		assert_int_equal(spin(1 * MS), 0);
		assert_false(poll(20 * US, 0));
		assert_int_equal(spin(5 * US), 0);
		assert_false(poll(POLL, 1));
	}
}

static void test_preempted(void **state)
{
	be_preempted();
	assert_int_equal(spin((ADV_PROGRESS_SPINS - 1) * POLL), 0);
	assert_true(poll(POLL, 0));
	assert_false(poll(POLL, 1)); /* a packet ends the sleep */
	assert_int_equal(spin(ADV_PROGRESS_SPINS * POLL), 0);
	assert_true(poll(POLL, 0)); /* the next polls without a packet begin it again */
}

/* Tests a peer that ran on this processor for a moment only: its packet has arrived when the
 * program polls again. */
static void test_peer_ran(void **state)
{
	assert_int_equal(spin(SPIN + POLL), 0);
	assert_false(poll(5 * US, 1));
	assert_true(spin(10 * US) > 0);
}

/* Loops of a few polls, with pauses between them. The polls are those that skip what the poll
 * before them found out (runtime/device/poll.c): they only count themselves. */
static void poll_in_short_loops(unsigned polls)
{
	(void)poll(POLL, 0);
	for (unsigned i = 0; i < 100; i++) {
		now += 3 * MS;
		for (unsigned n = 0; n < polls; n++, now += POLL) {
			adv_progress_poll_begins(&p, now);
			assert_false(adv_progress_is_crowded(&p, now));
			p.vain++;
		}
	}
}

/* Tests that a loop of polls that begins after a pause has a time of its own. */
static void test_short_loops(void **state)
{
	poll_in_short_loops(ADV_PROGRESS_SPINS + 2);
}

/* Tests that loops of a few polls do not add up to a long one. */
static void test_few_polls(void **state)
{
	poll_in_short_loops(2);
}

/* Tests a program that alternately computes for 1 ms and polls a few times. */
static void test_computes(void **state)
{
	for (unsigned i = 0; i < 1000; i++) {
		assert_false(poll(1 * MS, i % 3 == 0));
		assert_int_equal(spin(SPIN / 2), 0);
	}
}

/* Tests that a poll that finds completions does not count as a poll without a packet. */
static void test_found(void **state)
{
	(void)spin(SPIN + POLL);
	adv_progress_found(&p);
	assert_false(poll(3 * MS, 0));
	assert_int_equal(spin(50 * US), 0);
}

/* Tests that the pause of a program that requested an event is no sign: the program slept. */
static void test_slept(void **state)
{
	(void)spin(SPIN + POLL);
	(void)adv_progress_arms(&p);
	assert_false(poll(3 * MS, 0));
	assert_int_equal(spin(50 * US), 0);
}

static uint64_t crowded_for(void)
{
	uint64_t begin = now;

	while (spin(1 * MS) > 0)
		;
	return now - begin;
}

/* Tests that the program spins again from time to time, and more rarely each time while the signs
 * remain. */
static void test_tries_again(void **state)
{
	uint64_t first, second, last = 0;

	be_preempted();
	first = crowded_for();
	be_preempted();
	second = crowded_for();
	assert_true(second > first + first / 2);
	for (unsigned i = 0; i < 20; i++) {
		be_preempted();
		last = crowded_for();
	}
	assert_in_range(last, 1000 * MS, 2000 * MS);
	assert_int_equal(spin(5000 * MS), 0); /* the processor stays free for a long time */
	be_preempted();
	assert_in_range(crowded_for(), first - MS, first + MS);
}

static void test_sleep(void **state)
{
	uint64_t deadline = ADV_PROGRESS_NEVER;
	unsigned actions;
	struct adv_progress_rest rest = {.deadline = ADV_PROGRESS_NEVER};

	assert_true(adv_progress_backs_off(&p, now, &deadline, &actions));
	assert_int_equal(actions, 0);
	assert_in_range(deadline, now + 1, now + 1 * MS);
	assert_true(adv_progress_waiter_receives(&p));
	/* The thread checks, and leaves all packets to the program. */
	assert_int_equal(adv_progress_woken(&p, now, 0, false), ADV_PROGRESS_SLEEP_ON);
	/* Another thread of the program leaves a timer or packets that are urgent. */
	assert_int_equal(adv_progress_call_ends(&p, &rest), 0);
	rest.deadline = now + 1;
	assert_int_equal(adv_progress_call_ends(&p, &rest), ADV_PROGRESS_WAKE_WAITER);
	assert_int_equal(adv_progress_backoff_ends(&p, deadline, false), 0);
	assert_int_equal(adv_progress_state(&p), ADV_PROGRESS_POLLER);
	/* The sleep itself is no sign of a crowded processor. */
	now = deadline + 10 * MS;
	p.crowded_till = 0;
	assert_false(poll(0, 0));
	assert_int_equal(spin(50 * US), 0);
}

static void test_deadline(void **state)
{
	uint64_t deadline = now + 10 * US;
	unsigned actions;

	assert_true(adv_progress_backs_off(&p, now, &deadline, &actions));
	assert_int_equal(deadline, now + 10 * US);
}

/* Tests another thread of the program that requests an event, or begins to wait, while the program
 * sleeps. */
static void test_others(void **state)
{
	uint64_t deadline = ADV_PROGRESS_NEVER;
	unsigned actions;

	assert_true(adv_progress_backs_off(&p, now, &deadline, &actions));
	assert_int_equal(adv_progress_arms(&p), ADV_PROGRESS_KICK);
	assert_int_equal(adv_progress_backoff_ends(&p, now, false), 0);
	assert_int_equal(adv_progress_state(&p), ADV_PROGRESS_NOBODY);
	assert_int_equal(atomic_load(&p.last_poll), 0); /* the program counts as sleeping */
	(void)setup(NULL);
	deadline = ADV_PROGRESS_NEVER;
	assert_true(adv_progress_backs_off(&p, now, &deadline, &actions));
	assert_int_equal(adv_progress_backoff_ends(&p, now, true), ADV_PROGRESS_KICK);
	assert_int_equal(adv_progress_state(&p), ADV_PROGRESS_NOBODY);
}

/* Tests a program that polls while the thread receives, after it was preempted: the sleep takes
 * receiving over. A thread that has planned a long sleep then begins its checks. */
static void test_from_thread(void **state)
{
	const uint64_t plans[] = {now + 1 * MS, now + 10 * MS, ADV_PROGRESS_NEVER};

	for (unsigned i = 0; i < 3; i++) {
		uint64_t deadline = ADV_PROGRESS_NEVER;
		unsigned actions;

		adv_progress_init(&p, plans[i]);
		assert_true(adv_progress_backs_off(&p, now, &deadline, &actions));
		assert_int_equal(actions, ADV_PROGRESS_DISARM);
		assert_in_range(deadline, now + 1, now + 1 * MS);
		assert_true(adv_progress_waiter_receives(&p));
		assert_int_equal(adv_progress_backoff_ends(&p, now, false),
				 i ? ADV_PROGRESS_KICK : 0);
		assert_int_equal(adv_progress_state(&p), ADV_PROGRESS_POLLER);
		/* The second sleep follows before the thread has run. */
		assert_true(adv_progress_backs_off(&p, now, &deadline, &actions));
		assert_int_equal(adv_progress_backoff_ends(&p, now, false), 0);
	}
}

/* Tests that a poll sleeps only if no other thread of the program waits. */
static void test_other_states(void **state)
{
	for (unsigned i = ADV_PROGRESS_THREAD; i < ADV_PROGRESS_STATES; i++) {
		uint64_t deadline = ADV_PROGRESS_NEVER;
		unsigned actions;

		p.state = (enum adv_progress_state)i;
		assert_int_equal(adv_progress_backs_off(&p, now, &deadline, &actions),
				 i == ADV_PROGRESS_POLLER || i <= ADV_PROGRESS_LEAVING);
	}
}

/* Tests a program that polls without connected queue pairs: the thread receives again, also what is
 * in the socket already. */
static void test_gives_back(void **state)
{
	assert_int_equal(adv_progress_gives_back(&p, now), ADV_PROGRESS_ARM | ADV_PROGRESS_KICK);
	assert_int_equal(adv_progress_state(&p), ADV_PROGRESS_THREAD);
	assert_int_equal(adv_progress_gives_back(&p, now), 0);
	assert_int_equal(
		adv_progress_woken(&p, now, ADV_PROGRESS_BY_KICK | ADV_PROGRESS_BY_PACKET, false),
		ADV_PROGRESS_ENTER);
	p.state = ADV_PROGRESS_WAITER;
	assert_int_equal(adv_progress_gives_back(&p, now), 0);
}

/*
 * A program that waits for something else and polls the queue besides, for `ns`, on a crowded
 * processor: UCX with shared memory and a queue pair. A packet arrives every packets_every ns; 0:
 * none. Returns the time for which the program slept.
 */
static uint64_t wait_for_others(uint64_t ns, uint64_t packets_every)
{
	const uint64_t begin = now;
	uint64_t slept = 0, packet = packets_every ? now + packets_every : ADV_PROGRESS_NEVER;

	while (now < begin + ns) {
		uint64_t deadline = ADV_PROGRESS_NEVER, fell_asleep = now;
		bool arrived = packet <= now;
		unsigned actions;

		p.crowded_till = ADV_PROGRESS_NEVER;
		packet += arrived ? packets_every : 0;
		if (!poll(POLL, arrived) || !adv_progress_backs_off(&p, now, &deadline, &actions))
			continue;
		now = packet < deadline ? packet : deadline;
		(void)adv_progress_backoff_ends(&p, now, false);
		slept += now - fell_asleep;
	}
	return slept;
}

static void test_silent_queue(void **state)
{
	adv_progress_init(&p, ADV_PROGRESS_NEVER);
	assert_int_equal(wait_for_others(1000 * MS, 0), 0);
}

/* Tests a queue that is idle after packets have set it up. */
static void test_idle_queue(void **state)
{
	assert_in_range(wait_for_others(100 * MS, 0), 1, 2 * MS);
	assert_int_equal(wait_for_others(1000 * MS, 0), 0);
}

/* Tests a program that exchanges a packet now and then. */
static void test_few_packets(void **state)
{
	assert_in_range(wait_for_others(10000 * MS, 5 * MS), 1, 50 * MS);
}

/* Tests a program that waits for packets only: it sleeps nearly all the time. */
static void test_waits_for_packets(void **state)
{
	assert_in_range(wait_for_others(1000 * MS, 100 * US), 900 * MS, 1000 * MS);
}

#define T(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_free_processor), T(test_interrupts),
		T(test_preempted),	T(test_peer_ran),
		T(test_short_loops),	T(test_few_polls),
		T(test_computes),	T(test_found),
		T(test_slept),		T(test_tries_again),
		T(test_sleep),		T(test_deadline),
		T(test_others),		T(test_from_thread),
		T(test_other_states),	T(test_gives_back),
		T(test_silent_queue),	T(test_idle_queue),
		T(test_few_packets),	T(test_waits_for_packets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
