/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests the states of src/runtime/progress/progress.c, event by event. test_progress_histories.c
 * tests whole programs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime/progress/progress.h"

#define US	    1000ull
#define MS	    (1000 * US)
#define S	    (1000 * MS)
#define NEVER	    ADV_PROGRESS_NEVER
#define START	    S /* time at which each test begins */

#define BY_KICK	    ADV_PROGRESS_BY_KICK
#define BY_PACKET   ADV_PROGRESS_BY_PACKET
#define BY_NOTICE   ADV_PROGRESS_BY_NOTICE
#define BY_ROOM	    ADV_PROGRESS_BY_ROOM
#define CLOCK_STOOD ADV_PROGRESS_CLOCK_STOOD

#define KICK	    ADV_PROGRESS_KICK
#define ARM	    ADV_PROGRESS_ARM
#define DISARM	    ADV_PROGRESS_DISARM

static const struct adv_progress_rest nothing = {.deadline = NEVER};

#define assert_state(p, name) assert_int_equal(adv_progress_state(p), ADV_PROGRESS_##name)

static unsigned ends_call(struct adv_progress *p)
{
	return adv_progress_call_ends(p, &nothing);
}

/* Plans a sleep of the thread, when no packet is available. */
static void sleeps(struct adv_progress *p, uint64_t now, uint64_t deadline, unsigned activity)
{
	const struct adv_progress_plan plan = {.deadline = deadline, .activity = activity};

	adv_progress_sleeps(p, now, &plan);
}

/* Wakes the thread, which acquires the lock and receives. Returns the actions of all these events.
 */
static unsigned takes(struct adv_progress *p, uint64_t now, unsigned sources, unsigned packets)
{
	struct adv_progress_wakeup w = {.sources = sources};
	unsigned actions = adv_progress_enters(p, now, &w);

	assert_true(adv_progress_is_armed(p));
	return actions | adv_progress_received(p, now, packets, &w);
}

static void begin(struct adv_progress *p)
{
	adv_progress_init(p, NEVER);
	assert_state(p, THREAD);
	assert_true(adv_progress_is_armed(p));
}

/* Wakes the thread while the program polls, until the thread stops receiving; then ends the
 * program's call. */
static void begin_polled(struct adv_progress *p)
{
	unsigned wakeups = 0;

	begin(p);
	do {
		adv_progress_polled(p, START);
		assert_int_equal(adv_progress_woken(p, START, BY_PACKET, true),
				 ADV_PROGRESS_SLEEP_ON);
		wakeups++;
	} while (adv_progress_state(p) == ADV_PROGRESS_LEFT);
	assert_int_equal(wakeups, 4);
	assert_state(p, LEAVING);
	assert_true(adv_progress_is_armed(p));
	assert_int_equal(ends_call(p), DISARM);
	assert_state(p, POLLER);
	assert_false(adv_progress_is_armed(p));
}

static void begin_waited(struct adv_progress *p)
{
	begin_polled(p);
	assert_int_equal(adv_progress_waits(p), 0);
	assert_state(p, BETWEEN);
	assert_int_equal(adv_progress_wait_receives(p), 0);
	assert_state(p, WAITER);
	adv_progress_wait_sleeps(p, NEVER);
}

/* ---- the thread receives ---- */

static void test_left_to_program(void **state)
{
	struct adv_progress p;

	begin(&p);
	adv_progress_polled(&p, START);
	assert_int_equal(adv_progress_woken(&p, START + 9 * US, BY_PACKET, false),
			 ADV_PROGRESS_SLEEP_ON);
	assert_state(&p, LEFT);
	/* The thread checks again within a millisecond, even if it plans a longer sleep. */
	assert_int_equal(adv_progress_sleep_until(&p, START), START + MS);
	assert_int_equal(ends_call(&p), 0);
	/* Then the program stops polling. */
	assert_int_equal(adv_progress_woken(&p, START + MS, 0, false), ADV_PROGRESS_ENTER);
	assert_int_equal(takes(&p, START + MS, 0, 3), 0);
	assert_state(&p, THREAD);
	assert_int_equal(p.useless, 1);
	assert_int_equal(p.left, 0);
}

static void test_who_polls(void **state)
{
	static const struct {
		uint64_t after_poll, after_post; /* 0: never */
		bool locked, asked;
		unsigned sources;
		bool left;
	} cases[] = {
		{9 * US, 0, false, false, BY_PACKET, true},
		{11 * US, 0, false, false, BY_PACKET, false},
		/* The program is preempted during a call. */
		{190 * US, 0, true, false, BY_PACKET, true},
		{210 * US, 0, true, false, BY_PACKET, false},
		/* The program sends between its polls. */
		{900 * US, 9 * US, false, false, BY_PACKET, true},
		{1100 * US, 9 * US, false, false, BY_PACKET, false},
		{9 * US, 0, false, true, BY_PACKET, false}, /* the program polls before it sleeps */
		{9 * US, 0, false, false, BY_PACKET | BY_NOTICE, false},
		{9 * US, 0, false, false, BY_PACKET | BY_ROOM, false},
		{9 * US, 0, false, false, BY_PACKET | BY_KICK, false},
		{9 * US, 0, false, false, 0, true},
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct adv_progress p;

		begin(&p);
		if (cases[i].asked)
			assert_int_equal(adv_progress_arms(&p), 0);
		adv_progress_polled(&p, START - cases[i].after_poll);
		if (cases[i].after_post)
			adv_progress_posted(&p, START - cases[i].after_post);
		assert_int_equal(adv_progress_woken(&p, START, cases[i].sources, cases[i].locked),
				 cases[i].left ? ADV_PROGRESS_SLEEP_ON : ADV_PROGRESS_ENTER);
		/* The clock of an emulated host stands: how long ago the poll was is unknown. */
		assert_int_equal(adv_progress_woken(&p, START, cases[i].sources | CLOCK_STOOD,
						    cases[i].locked),
				 ADV_PROGRESS_ENTER);
	}
}

/* A request for an event counts for some wake-ups of the thread while the program polls. */
static void test_asks_and_polls(void **state)
{
	struct adv_progress p;

	begin(&p);
	assert_int_equal(adv_progress_arms(&p), 0);
	for (unsigned again = 0; again < 2; again++) {
		for (unsigned i = 0; i < 16; i++) {
			adv_progress_polled(&p, START - 9 * US);
			assert_int_equal(adv_progress_woken(&p, START, BY_PACKET, false),
					 ADV_PROGRESS_ENTER);
		}
		adv_progress_polled(&p, START - 9 * US);
		assert_int_equal(adv_progress_woken(&p, START, BY_PACKET, false),
				 ADV_PROGRESS_SLEEP_ON);
		/* The program will sleep after all: the thread looks for packets that it left. */
		assert_int_equal(adv_progress_arms(&p), KICK);
		assert_state(&p, THREAD);
	}
}

/* Tests a poll that finds completions: it reads no clock, so its time is that at which the thread
 * notices it. */
static void test_found(void **state)
{
	struct adv_progress p;

	begin(&p);
	adv_progress_found(&p);
	assert_int_equal(adv_progress_woken(&p, START, BY_PACKET, false), ADV_PROGRESS_SLEEP_ON);
	assert_int_equal(adv_progress_woken(&p, START + 11 * US, BY_PACKET, false),
			 ADV_PROGRESS_ENTER);
}

static void test_trial(void **state)
{
	static const struct {
		bool polled, posted;
		uint64_t after;
		bool useful;
	} cases[] = {
		{true, false, 10 * US, false}, /* a loop */
		{true, true, 10 * US, true},   /* the program polls before each post */
		{false, true, 10 * US, true},  {false, false, 51 * US, true},
		{true, false, 51 * US, true},
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct adv_progress p;

		begin(&p);
		p.useless = 3;
		(void)takes(&p, START, BY_PACKET, 1);
		assert_true(adv_progress_on_trial(&p));
		if (cases[i].polled)
			adv_progress_judge(&p, START + 1 * US, false);
		assert_true(adv_progress_on_trial(&p));
		adv_progress_judge(&p, START + cases[i].after, cases[i].posted);
		assert_false(adv_progress_on_trial(&p));
		assert_int_equal(p.useless, cases[i].useful ? 0 : 4);
	}
}

/* Tests that a wake-up without a packet is useless, and that a wake-up after which no call comes is
 * useful. */
static void test_silent_program(void **state)
{
	struct adv_progress p;

	begin(&p);
	assert_int_equal(takes(&p, START, BY_PACKET, 0), 0);
	assert_int_equal(p.useless, 1);
	(void)takes(&p, START + US, 0, 0);
	assert_int_equal(p.useless, 1); /* the thread was not woken by a packet */
	(void)takes(&p, START + US, BY_PACKET, 1);
	(void)takes(&p, START + 2 * US, BY_PACKET, 1);
	assert_int_equal(p.useless, 0);
}

static void test_useless(void **state)
{
	struct adv_progress p;

	begin(&p);
	for (unsigned i = 1; i < 4; i++)
		assert_int_equal(takes(&p, START, BY_PACKET, 0), 0);
	assert_int_equal(takes(&p, START, BY_PACKET, 0), DISARM);
	assert_state(&p, POLLER);
	assert_int_equal(p.useless, 0);
	assert_false(adv_progress_on_trial(&p));
}

/* Tests that the thread receives packets that it was about to leave to the program. */
static void test_leaving(void **state)
{
	struct adv_progress p;

	begin(&p);
	for (unsigned i = 0; i < 4; i++) {
		adv_progress_polled(&p, START);
		(void)adv_progress_woken(&p, START, BY_PACKET, true);
	}
	assert_state(&p, LEAVING);
	assert_int_equal(adv_progress_sleep_until(&p, START), START + MS);
	assert_int_equal(adv_progress_woken(&p, START + MS, 0, false), ADV_PROGRESS_ENTER);
	assert_int_equal(takes(&p, START + MS, 0, 1), 0);
	assert_state(&p, THREAD);
	assert_int_equal(p.useless, 4);
}

/* ---- timers ---- */

static void test_idle(void **state)
{
	uint64_t now = START;
	struct adv_progress p;

	begin(&p);
	sleeps(&p, now, NEVER, 1);
	for (uint64_t idle = 10 * MS; idle < 1000 * MS; idle *= 2) {
		assert_int_equal(adv_progress_sleep_until(&p, now), now + idle);
		now += idle;
		sleeps(&p, now, NEVER, 1);
	}
	assert_int_equal(adv_progress_sleep_until(&p, now), NEVER);
	sleeps(&p, now, NEVER, 2); /* a packet */
	assert_int_equal(adv_progress_sleep_until(&p, now), now + 10 * MS);
	sleeps(&p, now + MS, NEVER, 2); /* woken early */
	assert_int_equal(adv_progress_sleep_until(&p, now), now + 11 * MS);
	sleeps(&p, now, now + 5 * MS, 3);
	assert_int_equal(adv_progress_sleep_until(&p, now), now + 5 * MS);
}

static void test_more_to_receive(void **state)
{
	const struct adv_progress_plan plan = {.deadline = NEVER, .activity = 1, .more = true};
	struct adv_progress p;

	begin(&p);
	adv_progress_sleeps(&p, START, &plan);
	assert_int_equal(adv_progress_sleep_until(&p, START), 0);
	sleeps(&p, START, NEVER, 1);
	assert_int_equal(adv_progress_sleep_until(&p, START), START + 10 * MS);
}

static void test_delayed_acks(void **state)
{
	const struct adv_progress_rest delayed = {.deadline = NEVER, .acks_wait = true};
	struct adv_progress p;

	begin(&p);
	assert_int_equal(adv_progress_call_ends(&p, &delayed), 0);
	sleeps(&p, START, NEVER, 1);
	assert_int_equal(adv_progress_sleep_until(&p, START), START + MS);
	sleeps(&p, START, NEVER, 2);
	assert_int_equal(adv_progress_sleep_until(&p, START), START + 10 * MS);
}

/* Tests that a call kicks the thread, once, for a deadline that the thread's sleep would miss by
 * more than 50 us. */
static void test_deadline(void **state)
{
	struct adv_progress_rest rest = {.deadline = START + 10 * MS - 50 * US};
	struct adv_progress p;

	begin(&p);
	sleeps(&p, START, NEVER, 1);
	assert_int_equal(adv_progress_call_ends(&p, &rest), 0);
	rest.deadline--;
	assert_int_equal(adv_progress_call_ends(&p, &rest), KICK);
	rest.deadline = START;
	assert_int_equal(adv_progress_call_ends(&p, &rest), 0);
	assert_int_equal(adv_progress_woken(&p, START, BY_KICK, false), ADV_PROGRESS_ENTER);
	(void)takes(&p, START, BY_KICK, 0);
	sleeps(&p, START, NEVER, 1);
	assert_int_equal(adv_progress_call_ends(&p, &rest), KICK);
}

static void test_full_socket(void **state)
{
	struct adv_progress_rest rest = {.deadline = NEVER, .full = true};
	struct adv_progress p;

	begin(&p);
	assert_int_equal(adv_progress_call_ends(&p, &rest), 0); /* the thread waits for room */
	rest.full_unseen = true;
	assert_int_equal(adv_progress_call_ends(&p, &rest), KICK);
	begin_polled(&p);
	assert_int_equal(adv_progress_call_ends(&p, &rest), 0); /* the program tries again */
}

/* Tests that the thread sends packets that a call left unsent, unless the program polls. */
static void test_cut(void **state)
{
	const struct adv_progress_rest rest = {.deadline = NEVER, .cut_at = START};
	struct adv_progress p;

	begin(&p);
	assert_int_equal(adv_progress_call_ends(&p, &rest), KICK);
	assert_int_equal(adv_progress_call_ends(&p, &rest), 0);
	adv_progress_polled(&p, START);
	assert_int_equal(adv_progress_woken(&p, START, BY_KICK, false), ADV_PROGRESS_SLEEP_ON);
	assert_state(&p, LEFT);

	begin_polled(&p);
	adv_progress_polled(&p, START - 50 * US);
	assert_int_equal(adv_progress_call_ends(&p, &rest), 0);
	adv_progress_polled(&p, START - 51 * US);
	assert_int_equal(adv_progress_call_ends(&p, &rest), KICK);
}

/* Tests that a kick for unsent packets does not prevent a kick for a deadline. */
static void test_cut_and_deadline(void **state)
{
	const struct adv_progress_rest rest = {.deadline = START, .cut_at = START};
	struct adv_progress p;

	begin(&p);
	sleeps(&p, START, NEVER, 1);
	assert_int_equal(adv_progress_call_ends(&p, &rest), KICK);
	adv_progress_polled(&p, START);
	assert_int_equal(adv_progress_woken(&p, START, BY_KICK, false), ADV_PROGRESS_ENTER);
}

/* ---- the program polls ---- */

static void test_looks(void **state)
{
	uint64_t now = START, interval = 200 * US;
	struct adv_progress p;

	begin_polled(&p);
	while (interval < 3200 * US) {
		assert_int_equal(adv_progress_sleep_until(&p, now), now + interval);
		now += interval;
		interval *= 2;
		adv_progress_polled(&p, now);
		assert_int_equal(adv_progress_woken(&p, now, 0, true), ADV_PROGRESS_SLEEP_ON);
	}
	assert_int_equal(adv_progress_sleep_until(&p, now), now + 3200 * US);
	/* The thread wakes in the middle of a long call. */
	now += 3200 * US;
	assert_int_equal(adv_progress_woken(&p, now, 0, true), ADV_PROGRESS_TRY);
	adv_progress_missed(&p);
	assert_state(&p, POLLER);
	assert_int_equal(adv_progress_sleep_until(&p, now), now + 3200 * US);
	/* A notification is handled without a change of state. */
	adv_progress_polled(&p, now);
	assert_int_equal(adv_progress_woken(&p, now, BY_NOTICE, false), ADV_PROGRESS_ENTER);
	assert_int_equal(
		adv_progress_enters(&p, now, &(struct adv_progress_wakeup){.sources = BY_NOTICE}),
		0);
	assert_state(&p, POLLER);
}

/* Tests that the thread takes over when the program has stopped polling, and then stays longer if
 * packets waited. */
static void test_takes_over(void **state)
{
	uint64_t now = START + 200 * US;
	struct adv_progress p;

	begin_polled(&p);
	p.useless = 1;
	assert_int_equal(adv_progress_woken(&p, START, CLOCK_STOOD, false), ADV_PROGRESS_TRY);
	assert_int_equal(adv_progress_woken(&p, now, 0, false), ADV_PROGRESS_TRY);
	assert_int_equal(takes(&p, now, 0, 1), ARM);
	assert_state(&p, THREAD);
	assert_int_equal(p.useless, 0);
	assert_int_equal(p.useless_limit, 8);
	sleeps(&p, now, NEVER, 7);
	assert_int_equal(adv_progress_sleep_until(&p, now), now + 10 * MS);
}

static void test_limit(void **state)
{
	struct adv_progress p;

	for (unsigned limit = 8; limit <= 256; limit *= 2) {
		if (limit == 8)
			begin_polled(&p);
		assert_int_equal(takes(&p, START + MS, 0, 1), ARM);
		assert_int_equal(p.useless_limit, limit < 128 ? limit : 128);
		while (adv_progress_is_armed(&p))
			(void)takes(&p, START + MS, BY_PACKET, 0);
	}
	/* No packet waited: the limit stays. */
	assert_int_equal(takes(&p, START + MS, 0, 0), ARM);
	assert_int_equal(p.useless_limit, 128);
	/* The thread did not receive for a long time. */
	while (adv_progress_is_armed(&p))
		(void)takes(&p, START + MS, BY_PACKET, 0);
	for (unsigned i = 0; i < 4; i++)
		adv_progress_missed(&p);
	assert_int_equal(takes(&p, START + MS, 0, 1), ARM);
	assert_int_equal(p.useless_limit, 64);
	assert_int_equal(p.look_interval, 200 * US);
}

/* Tests a program that announces that it will sleep. */
static void test_arms(void **state)
{
	struct adv_progress p;

	begin_polled(&p);
	adv_progress_polled(&p, START);
	assert_int_equal(adv_progress_arms(&p), KICK);
	assert_state(&p, NOBODY);
	assert_int_equal(adv_progress_arms(&p), 0);
	assert_int_equal(adv_progress_woken(&p, START, BY_KICK, true), ADV_PROGRESS_ENTER);
	adv_progress_polled(&p, START); /* one more poll before it sleeps */
	assert_int_equal(takes(&p, START, BY_KICK, 0), ARM);
	assert_state(&p, THREAD);
}

static void test_hold(void **state)
{
	struct adv_progress p;

	begin(&p);
	assert_false(adv_progress_may_hold(&p));
	begin_polled(&p);
	assert_true(adv_progress_may_hold(&p));
	adv_progress_hold_ended(&p.hold, 51 * US);
	assert_false(adv_progress_may_hold(&p));
}

/* ---- the program waits ---- */

static void test_wait(void **state)
{
	struct adv_progress p;

	begin_waited(&p);
	assert_true(adv_progress_waiter_receives(&p));
	assert_false(adv_progress_may_hold(&p));
	assert_int_equal(adv_progress_wait_ends(&p, false), 0);
	assert_state(&p, BETWEEN);
	assert_false(adv_progress_may_hold(&p));
	assert_int_equal(adv_progress_arms(&p), 0); /* no kick: the next wait follows */
	assert_int_equal(adv_progress_waits(&p), 0);
	assert_int_equal(adv_progress_wait_receives(&p), 0);
	assert_state(&p, WAITER);
	/* No further wait follows. */
	assert_int_equal(adv_progress_wait_ends(&p, false), 0);
	assert_int_equal(adv_progress_woken(&p, START + MS, 0, false), ADV_PROGRESS_TRY);
	assert_int_equal(takes(&p, START + MS, 0, 0), ARM);
	assert_state(&p, THREAD);
}

/* Tests that a wait that ends before it receives leaves the sockets to the thread. */
static void test_wait_without_receiving(void **state)
{
	struct adv_progress p;

	begin(&p);
	assert_int_equal(adv_progress_waits(&p), 0);
	assert_state(&p, THREAD);
	assert_int_equal(adv_progress_wait_ends(&p, true), 0);
	assert_state(&p, THREAD);
	begin_polled(&p);
	(void)adv_progress_waits(&p);
	assert_int_equal(adv_progress_wait_ends(&p, true), KICK);
	assert_state(&p, NOBODY);
}

/* Tests that the thread sends packets that another call left unsent, before the waiting thread
 * receives. */
static void test_cut_before_receiving(void **state)
{
	const struct adv_progress_rest rest = {.deadline = NEVER, .cut_at = START};
	struct adv_progress p;

	begin(&p);
	(void)adv_progress_waits(&p);
	assert_int_equal(adv_progress_call_ends(&p, &rest), KICK);
	begin_polled(&p);
	adv_progress_polled(&p, START - MS);
	(void)adv_progress_waits(&p);
	assert_int_equal(adv_progress_call_ends(&p, &rest), KICK);
}

/* Tests that adv_progress_is_covered() agrees with adv_progress_call_ends(). */
static void test_covered(void **state)
{
	static const uint64_t deadlines[] = {0, START, START + 10 * MS - 50 * US, NEVER};
	struct adv_progress p;

	for (unsigned i = 0; i < sizeof(deadlines) / sizeof(deadlines[0]); i++) {
		for (unsigned acks_wait = 0; acks_wait < 2; acks_wait++) {
			const struct adv_progress_rest rest = {.deadline = deadlines[i],
							       .acks_wait = acks_wait};
			bool covered;

			begin(&p);
			sleeps(&p, START, NEVER, 1);
			covered = adv_progress_is_covered(&p, rest.deadline, rest.acks_wait);
			assert_int_equal(covered, deadlines[i] > START && !acks_wait);
			assert_true(!covered || adv_progress_call_ends(&p, &rest) == 0);
			assert_true(!covered || !p.acks_wait);
		}
	}
	begin_waited(&p);
	assert_false(adv_progress_is_covered(&p, NEVER, false));
}

/* Tests that a waiting program takes over from the thread in each state of the thread. */
static void test_wait_takes_over(void **state)
{
	static const unsigned left[] = {0, 1, 4};

	for (unsigned i = 0; i < sizeof(left) / sizeof(left[0]); i++) {
		struct adv_progress p;

		begin(&p);
		for (unsigned n = 0; n < left[i]; n++) {
			adv_progress_polled(&p, START);
			(void)adv_progress_woken(&p, START, BY_PACKET, true);
		}
		assert_int_equal(adv_progress_waits(&p), 0);
		assert_int_equal(adv_progress_wait_receives(&p), DISARM);
		/* The thread's sleep was planned before: no deadline ends it. */
		assert_state(&p, WAITER_ALONE);
		assert_int_equal(adv_progress_sleep_until(&p, START), NEVER);
		assert_int_equal(adv_progress_wait_ends(&p, false), KICK);
		assert_state(&p, BETWEEN);
	}
}

static void test_wait_after_kick(void **state)
{
	struct adv_progress_wakeup w = {.sources = BY_KICK};
	struct adv_progress p;

	begin_polled(&p);
	assert_int_equal(adv_progress_arms(&p), KICK);
	(void)adv_progress_waits(&p);
	assert_int_equal(adv_progress_wait_receives(&p), 0);
	assert_state(&p, WAITER);
	assert_int_equal(adv_progress_woken(&p, START, BY_KICK, false), ADV_PROGRESS_ENTER);
	assert_int_equal(adv_progress_enters(&p, START, &w), ADV_PROGRESS_WAKE_WAITER);
	assert_state(&p, WAITER);
}

/* Tests that the thread sleeps until a wait ends if it finds the same wait at two checks. */
static void test_long_wait(void **state)
{
	struct adv_progress p;

	begin_waited(&p);
	for (unsigned i = 0; i < 3; i++) {
		adv_progress_wait_woken(&p);
		assert_int_equal(adv_progress_woken(&p, START, 0, false), ADV_PROGRESS_SLEEP_ON);
		assert_state(&p, WAITER);
	}
	assert_int_equal(adv_progress_sleep_until(&p, START), START + 1600 * US);
	assert_int_equal(adv_progress_woken(&p, START, 0, false), ADV_PROGRESS_SLEEP_ON);
	assert_state(&p, WAITER_ALONE);
	assert_int_equal(adv_progress_sleep_until(&p, START), NEVER);
	assert_int_equal(adv_progress_wait_ends(&p, false), KICK);
	assert_state(&p, BETWEEN);
	/* The kick makes the thread's checks frequent again. */
	(void)adv_progress_woken(&p, START, BY_KICK, false);
	assert_int_equal(adv_progress_sleep_until(&p, START), START + 200 * US);
}

/* Tests the end of a wait while another thread still waits and does not receive. */
static void test_others_wait(void **state)
{
	struct adv_progress p;

	begin_waited(&p);
	assert_int_equal(adv_progress_wait_ends(&p, true), KICK);
	assert_state(&p, NOBODY);
	assert_int_equal(takes(&p, START, BY_KICK, 0), ARM);
	begin_waited(&p);
	(void)adv_progress_woken(&p, START, 0, false);
	assert_state(&p, WAITER_ALONE);
	assert_int_equal(adv_progress_wait_ends(&p, true), KICK);
	assert_state(&p, NOBODY);
}

static void test_wakes_waiter(void **state)
{
	struct adv_progress_rest rest = {.deadline = START + MS - 50 * US};
	struct adv_progress p;

	begin_waited(&p);
	adv_progress_wait_sleeps(&p, START + MS);
	assert_int_equal(adv_progress_call_ends(&p, &rest), 0);
	rest.deadline--;
	assert_int_equal(adv_progress_call_ends(&p, &rest), ADV_PROGRESS_WAKE_WAITER);
	rest = (struct adv_progress_rest){.deadline = NEVER, .full = true, .full_unseen = true};
	assert_int_equal(adv_progress_call_ends(&p, &rest), ADV_PROGRESS_WAKE_WAITER);
	rest = (struct adv_progress_rest){.deadline = NEVER, .cut_at = START};
	assert_int_equal(adv_progress_call_ends(&p, &rest), ADV_PROGRESS_WAKE_WAITER);
	/* The next wait uses its own deadline; the deadline of the last wait has no effect. */
	(void)adv_progress_wait_ends(&p, false);
	(void)adv_progress_wait_receives(&p);
	rest = (struct adv_progress_rest){.deadline = START};
	assert_int_equal(adv_progress_call_ends(&p, &rest), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_left_to_program),
		cmocka_unit_test(test_who_polls),
		cmocka_unit_test(test_found),
		cmocka_unit_test(test_trial),
		cmocka_unit_test(test_silent_program),
		cmocka_unit_test(test_useless),
		cmocka_unit_test(test_leaving),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_more_to_receive),
		cmocka_unit_test(test_delayed_acks),
		cmocka_unit_test(test_deadline),
		cmocka_unit_test(test_full_socket),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_cut_and_deadline),
		cmocka_unit_test(test_looks),
		cmocka_unit_test(test_takes_over),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_arms),
		cmocka_unit_test(test_asks_and_polls),
		cmocka_unit_test(test_hold),
		cmocka_unit_test(test_wait),
		cmocka_unit_test(test_wait_without_receiving),
		cmocka_unit_test(test_wait_takes_over),
		cmocka_unit_test(test_cut_before_receiving),
		cmocka_unit_test(test_covered),
		cmocka_unit_test(test_wait_after_kick),
		cmocka_unit_test(test_long_wait),
		cmocka_unit_test(test_others_wait),
		cmocka_unit_test(test_wakes_waiter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
