/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Replays histories of real programs in virtual time, and tests which thread receives. Each history
 * prints a line with the costs of the policy, so that a change of src/runtime/progress/progress.c
 * can be judged without a quiet machine.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "world.h"

#define POLL	     (400)	 /* ns; ibv_poll_cq() without a completion */
#define PEER_POLLS   (3 * US)	 /* round trip to a peer that polls */
#define LOOK_LONGEST (3200 * US) /* of progress.c */
#define LEFT_LONGEST (1 * MS)	 /* of progress.c */

static unsigned rounds; /* exchanges with the peer, or repetitions of the program */

static void begin(struct world *w, world_step_fn *step, unsigned threads)
{
	rounds = 0;
	world_init(w);
	for (unsigned i = 0; i < threads; i++)
		world_add(w, step);
}

/* Runs for two seconds. Returns the counts and rounds of the last one. */
static struct world_counts run(struct world *w, const char *name, unsigned *rounds_run)
{
	unsigned before;

	world_run(w, 1 * S);
	world_settled(w);
	before = rounds;
	world_run(w, 2 * S);
	*rounds_run = rounds - before;
	world_print(w, name, *rounds_run);
	return world_since(w);
}

/* ---- ib_send_lat: polls for the peer's message, then posts its own ---- */

static uint64_t send_lat(struct world *w, unsigned thread)
{
	struct world_thread *t = &w->thread[thread];

	t->polls = true;
	if (t->stage == 0 || world_poll(w) > 0) {
		t->stage = 1;
		world_post(w);
		world_send_back(w, PEER_POLLS);
		rounds++;
	}
	return w->now + POLL;
}

static void test_send_lat(void **state)
{
	struct world_counts c;
	struct world w;
	unsigned n;

	begin(&w, send_lat, 1);
	c = run(&w, "ib_send_lat", &n);
	/* The thread does not receive: it checks every 3.2 ms whether the program still polls. */
	assert_int_equal(adv_progress_state(&w.p), ADV_PROGRESS_POLLER);
	assert_int_equal(c.by_packet + c.by_kick + c.takes + c.switches, 0);
	assert_in_range(c.by_time, 1, 1 * S / LOOK_LONGEST + 1);
	assert_in_range(c.lay_longest, 0, POLL);
	/* The thread stopped receiving before it cost much. */
	assert_in_range(w.settled.by_packet, 1, 10);
}

/* ---- ib_write_lat: spins on memory for the peer's WRITE, posts, polls for its completion ---- */

enum { SPIN, POST, COMPLETE };

/* The peer's background thread receives this program's WRITE and sends the ACK; then the peer's
 * program responds. */
#define PEER_WAKES (25 * US)
#define ANSWERS	   (1500)

static uint64_t write_lat(struct world *w, unsigned thread)
{
	struct world_thread *t = &w->thread[thread];

	t->polls = t->stage == COMPLETE;
	switch (t->stage) {
	case SPIN:
		/* Each round has two packets, the ACK and the WRITE: now the WRITE is in memory. */
		if (w->received >= 2 * rounds)
			t->stage = POST;
		break;
	case POST:
		world_post(w);
		world_send_back(w, PEER_WAKES);
		world_send_back(w, PEER_WAKES + ANSWERS);
		rounds++;
		t->stage = COMPLETE;
		break;
	case COMPLETE:
		(void)world_poll(w);
		if (w->received >= 2 * rounds - 1)
			t->stage = SPIN;
		break;
	}
	return w->now + POLL;
}

static void test_write_lat(void **state)
{
	struct world_counts c;
	struct world w;
	unsigned n;

	begin(&w, write_lat, 1);
	c = run(&w, "ib_write_lat", &n);
	/* The thread receives the peer's WRITE in each round, after one wake-up. */
	assert_true(adv_progress_is_armed(&w.p));
	assert_int_equal(c.switches, 0);
	assert_in_range(n, 1 * S / (60 * US), 1 * S / (45 * US));
	assert_in_range(c.by_packet, n - 1, n + 1);
	assert_in_range(c.takes, n - 1, n + 1);
	assert_in_range(c.lay_longest, PRICE_WAKE_UP - ANSWERS, PRICE_WAKE_UP);
}

/* ---- riostream: spins on memory for the peer's bytes; riowrite() polls once and posts ---- */

static uint64_t riostream(struct world *w, unsigned thread)
{
	struct world_thread *t = &w->thread[thread];

	t->polls = false;
	if (t->stage == SPIN) {
		if (w->received >= rounds)
			t->stage = POST;
	} else {
		(void)world_poll(w);
		world_post(w);
		world_send_back(w, PEER_WAKES);
		rounds++;
		t->stage = SPIN;
	}
	return w->now + POLL;
}

static void test_riostream(void **state)
{
	struct world_counts c;
	struct world w;
	unsigned n;

	begin(&w, riostream, 1);
	c = run(&w, "riostream", &n);
	/* One poll before each post is no loop: the thread receives the peer's WRITE in each round,
	 * after one wake-up. */
	assert_true(adv_progress_is_armed(&w.p));
	assert_int_equal(c.switches, 0);
	assert_in_range(c.by_packet, n - 1, n + 1);
	assert_in_range(c.lay_longest, PRICE_WAKE_UP - POLL, PRICE_WAKE_UP);
	/* The program posts soon after each WRITE: its posts should linger. */
	assert_true(adv_progress_lingers(&w.p));
}

/* ---- a program that computes between polls, in bursts ---- */

#define COMPUTES (10 * MS)
#define BURST	 (1 * MS)
#define INTERVAL (100 * US)

static uint64_t compute(struct world *w, unsigned thread)
{
	struct world_thread *t = &w->thread[thread];

	if (!t->polls) {
		t->until = w->now + BURST;
		rounds++;
	}
	t->polls = w->now < t->until;
	if (!t->polls)
		return w->now + COMPUTES;
	(void)world_poll(w);
	return w->now + POLL;
}

/* Models the program's peer, which sends all the time, as a thread of the world. */
static uint64_t supply(struct world *w, unsigned thread)
{
	world_send_back(w, 0);
	return w->now + INTERVAL;
}

static void test_compute(void **state)
{
	struct world_counts c;
	struct world w;
	unsigned n;

	begin(&w, compute, 1);
	world_add(&w, supply);
	c = run(&w, "polls 1 ms, computes 10 ms", &n);
	assert_in_range(c.packets, 1 * S / INTERVAL - 1, 1 * S / INTERVAL + 1);
	assert_true(adv_progress_is_armed(&w.p));
	assert_in_range(c.lay_longest, PRICE_WAKE_UP, LEFT_LONGEST + PRICE_WAKE_UP);
	assert_in_range(c.lay / c.packets, 10 * US, PRICE_WAKE_UP);
}

/* ---- a polling program on a busy machine: half of the time another one has the processor ---- */

#define TIME_SLICE (3 * MS)

static uint64_t poll_by_slices(struct world *w, unsigned thread)
{
	bool runs = w->now / TIME_SLICE % 2 == 0;

	w->thread[thread].polls = runs;
	rounds += runs && world_poll(w) > 0;
	return runs ? w->now + POLL : (w->now / TIME_SLICE + 1) * TIME_SLICE;
}

static void test_time_slices(void **state)
{
	struct world_counts c;
	struct world w;
	unsigned n;

	begin(&w, poll_by_slices, 1);
	world_add(&w, supply);
	c = run(&w, "polls every other 3 ms", &n);
	/* The thread receives while the program does not run, as soon as it has noticed that. */
	assert_true(adv_progress_is_armed(&w.p));
	assert_in_range(c.takes, 4 * S / INTERVAL / 10, 6 * S / INTERVAL / 10);
	assert_in_range(c.lay_longest, PRICE_WAKE_UP, LEFT_LONGEST + PRICE_WAKE_UP);
}

/* ---- a blocking program: requests an event, waits, polls until nothing is left ---- */

static uint64_t blocking(struct world *w, unsigned thread)
{
	struct world_thread *t = &w->thread[thread];

	if (t->stage == 0) {
		world_post(w);
		world_send_back(w, t->until);
		rounds++;
	}
	t->stage = 0;
	(void)world_poll(w);
	world_request_event(w);
	(void)world_poll(w);
	return world_wait(w, thread);
}

static void test_blocking(void **state)
{
	static const struct {
		const char *name;
		uint64_t later;
		unsigned kicks; /* kicks of the thread in 100 rounds */
	} intervals[] = {
		{"blocking, 15 us", 15 * US, 0},
		{"blocking, 100 us", 100 * US, 0},
		{"blocking, 10 ms", 10 * MS, 100},
	};

	for (unsigned i = 0; i < sizeof(intervals) / sizeof(intervals[0]); i++) {
		struct world_counts c;
		struct world w;
		unsigned n;

		begin(&w, blocking, 1);
		w.thread[0].until = intervals[i].later;
		c = run(&w, intervals[i].name, &n);
		/* Each packet wakes the waiting thread. The background thread receives none. */
		assert_in_range(c.packets, 1 * S / (intervals[i].later + 50 * US), UINT32_MAX);
		assert_in_range(c.waiter, c.packets, c.packets * 3);
		assert_int_equal(c.takes, 0);
		assert_int_equal(c.by_packet, 0);
		assert_in_range(c.by_kick, 0, n * intervals[i].kicks / 100 + 1);
		assert_in_range(c.lay_longest, PRICE_WAKE_UP, PRICE_WAKE_UP);
	}
}

/* ---- a program that requests events and sleeps in poll(2) ---- */

static uint64_t sleep_outside(struct world *w, unsigned thread)
{
	struct world_thread *t = &w->thread[thread];

	/* The background thread signals the channel's descriptor, and then the program wakes. */
	if (t->stage < w->received + 1) {
		t->stage = w->received + 1;
		world_poll_found(w);
		world_request_event(w);
		(void)world_poll(w);
		world_post(w);
		world_send_back(w, 50 * US);
		rounds++;
	}
	return w->now + PRICE_WAKE_UP;
}

static void test_sleeps_outside(void **state)
{
	struct world_counts c;
	struct world w;
	unsigned n;

	begin(&w, sleep_outside, 1);
	c = run(&w, "events by poll(2)", &n);
	assert_int_equal(adv_progress_state(&w.p), ADV_PROGRESS_THREAD);
	assert_int_equal(c.switches, 0);
	assert_in_range(c.takes, c.packets, c.packets + 200);
	assert_in_range(c.lay_longest, PRICE_WAKE_UP, PRICE_WAKE_UP);
}

/* ---- a server that has requested an event, and polls as long as it is busy ---- */

#define CLIENT_POSTS (30 * US) /* from a response to the client's next request */
#define SERVES	     (6 * US)  /* from a poll to the next one, with the work between them */
#define REQUESTS     16	       /* under way */

static uint64_t busy_server(struct world *w, unsigned thread)
{
	struct world_thread *t = &w->thread[thread];

	t->polls = true;
	if (rounds == 0) {
		world_request_event(w);
		for (; rounds < REQUESTS; rounds++)
			world_send_back(w, CLIENT_POSTS + rounds * 2 * US);
	}
	if (w->received > t->stage)
		world_poll_found(w); /* the background thread has received */
	else
		(void)world_poll(w);
	if (w->received > t->stage)
		world_post(w);
	for (; t->stage < w->received; t->stage++, rounds++)
		world_send_back(w, CLIENT_POSTS + rounds % REQUESTS * US);
	return w->now + SERVES;
}

static void test_busy_server(void **state)
{
	struct world_counts c;
	struct world w;
	unsigned n;

	begin(&w, busy_server, 1);
	c = run(&w, "polls after an event", &n);
	assert_int_equal(adv_progress_state(&w.p), ADV_PROGRESS_POLLER);
	assert_int_equal(c.by_packet + c.by_kick + c.takes + c.switches, 0);
	assert_in_range(c.lay_longest, 0, SERVES);
	assert_in_range(w.settled.by_packet, 1, 200);
}

/* ---- four threads poll ---- */

static uint64_t one_of_four(struct world *w, unsigned thread)
{
	w->thread[thread].polls = true;
	if (world_poll(w) > 0 || w->arrivals == 0) {
		world_post(w);
		world_send_back(w, PEER_POLLS);
		rounds++;
	}
	return w->now + 4 * POLL + thread;
}

static void test_four_threads(void **state)
{
	struct world_counts c;
	struct world w;
	unsigned n;

	begin(&w, one_of_four, 4);
	c = run(&w, "four threads poll", &n);
	assert_int_equal(adv_progress_state(&w.p), ADV_PROGRESS_POLLER);
	assert_int_equal(c.by_packet + c.by_kick + c.takes + c.switches, 0);
	assert_in_range(c.by_time, 1, 1 * S / LOOK_LONGEST + 1);
	assert_in_range(c.lay_longest, 0, 4 * POLL);
}

/* ---- a program that stops polling ---- */

static uint64_t polls_for_a_while(struct world *w, unsigned thread)
{
	struct world_thread *t = &w->thread[thread];

	t->polls = w->now < t->until;
	if (!t->polls)
		return ADV_PROGRESS_NEVER;
	(void)world_poll(w);
	if (!w->arrivals)
		world_send_back(w, PEER_POLLS);
	return w->now + POLL;
}

static void test_stops_polling(void **state)
{
	struct world w;

	begin(&w, polls_for_a_while, 1);
	w.thread[0].until = 500 * MS;
	world_run(&w, 500 * MS);
	assert_int_equal(adv_progress_state(&w.p), ADV_PROGRESS_POLLER);
	world_settled(&w);
	world_send_back(&w, 10 * US);
	world_run(&w, 510 * MS);
	assert_int_equal(adv_progress_state(&w.p), ADV_PROGRESS_THREAD);
	assert_int_equal(w.arrivals, 0);
	assert_in_range(w.count.lay_longest, PRICE_WAKE_UP, LOOK_LONGEST);
	/* After this time, the next packet wakes the thread. */
	world_settled(&w);
	world_send_back(&w, 10 * US);
	world_run(&w, 520 * MS);
	assert_int_equal(w.count.lay_longest, PRICE_WAKE_UP);
	world_print(&w, "stops polling", 1);
}

/* Models a program that stops polling and waits for one event. */
static uint64_t polls_then_waits(struct world *w, unsigned thread)
{
	struct world_thread *t = &w->thread[thread];

	if (w->now < t->until)
		return polls_for_a_while(w, thread);
	t->polls = false;
	switch (t->stage++) {
	case 0: /* the last packet arrives */
		return w->now + 2 * PEER_POLLS;
	case 1:
		(void)world_poll(w);
		world_request_event(w);
		return world_wait(w, thread);
	default:
		return ADV_PROGRESS_NEVER;
	}
}

static void test_polls_then_waits(void **state)
{
	struct world w;

	begin(&w, polls_then_waits, 1);
	w.thread[0].until = 500 * MS;
	world_run(&w, 501 * MS);
	assert_true(adv_progress_waiter_receives(&w.p));
	world_settled(&w);
	world_send_back(&w, 100 * MS);
	world_run(&w, 700 * MS);
	/* The waiting thread has received the packet, and the background thread took over
	 * afterwards. */
	assert_int_equal(w.count.lay_longest, PRICE_WAKE_UP);
	assert_int_equal(adv_progress_state(&w.p), ADV_PROGRESS_THREAD);
	world_print(&w, "polls, then waits", 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_send_lat),	 cmocka_unit_test(test_write_lat),
		cmocka_unit_test(test_riostream),	 cmocka_unit_test(test_compute),
		cmocka_unit_test(test_time_slices),	 cmocka_unit_test(test_blocking),
		cmocka_unit_test(test_sleeps_outside),	 cmocka_unit_test(test_four_threads),
		cmocka_unit_test(test_busy_server),	 cmocka_unit_test(test_stops_polling),
		cmocka_unit_test(test_polls_then_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
