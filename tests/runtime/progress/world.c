/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define NEVER ADV_PROGRESS_NEVER

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void world_init(struct world *w)
{
	memset(w, 0, sizeof(*w));
	w->deadline = NEVER;
	w->armed = w->asleep = true;
	adv_progress_init(&w->p, NEVER);
	w->background = NEVER;
}

void world_add(struct world *w, world_step_fn *step)
{
	assert_true(w->threads < WORLD_THREADS);
	w->thread[w->threads++] = (struct world_thread){.step = step, .at = w->now};
}

/* ---- signals ---- */

static void wake_background(struct world *w, unsigned source)
{
	w->count.price += PRICE_SIGNAL;
	w->sources |= source;
	if (w->asleep)
		w->background = w->now + PRICE_WAKE_UP;
	w->asleep = false;
}

static struct world_thread *find_waiter(struct world *w)
{
	for (unsigned i = 0; i < w->threads; i++)
		if (w->thread[i].waits)
			return &w->thread[i];
	return NULL;
}

static void wake_waiter(struct world *w)
{
	struct world_thread *t = find_waiter(w);

	w->count.price += PRICE_SIGNAL;
	if (t)
		t->at = earlier(t->at, w->now + PRICE_WAKE_UP);
}

static void perform(struct world *w, unsigned actions)
{
	if (actions & (ADV_PROGRESS_ARM | ADV_PROGRESS_DISARM)) {
		assert_int_equal(w->armed, !(actions & ADV_PROGRESS_ARM));
		w->armed = actions & ADV_PROGRESS_ARM;
		w->ready = w->armed && w->arrivals && w->arrival[0] <= w->now;
		w->count.switches++;
		w->count.price += PRICE_EPOLL_CTL;
	}
	if (actions & ADV_PROGRESS_KICK)
		wake_background(w, ADV_PROGRESS_BY_KICK);
	if (actions & ADV_PROGRESS_WAKE_WAITER)
		wake_waiter(w);
	assert_int_equal(w->armed, adv_progress_is_armed(&w->p));
}

/* ---- packets ---- */

void world_send_back(struct world *w, uint64_t later)
{
	uint64_t at = w->now + later;
	unsigned i = w->arrivals++;

	assert_true(w->arrivals <= WORLD_PACKETS);
	for (; i > 0 && w->arrival[i - 1] > at; i--)
		w->arrival[i] = w->arrival[i - 1];
	w->arrival[i] = at;
}

/* Receives the packets in the socket, and runs the timer. */
static unsigned receive(struct world *w)
{
	unsigned n = 0;

	if (w->deadline <= w->now)
		w->deadline = NEVER;
	while (n < w->arrivals && w->arrival[n] <= w->now) {
		uint64_t lay = w->now - w->arrival[n++];

		w->count.lay += lay;
		if (lay > w->count.lay_longest)
			w->count.lay_longest = lay;
	}
	w->arrivals -= n;
	memmove(w->arrival, w->arrival + n, w->arrivals * sizeof(w->arrival[0]));
	w->count.packets += n;
	w->received += n;
	w->activity += n;
	return n;
}

/* Returns the time of the next arrival that wakes a sleeping thread. */
static uint64_t next_announcement(const struct world *w)
{
	for (unsigned i = 0; i < w->arrivals; i++)
		if (w->arrival[i] > w->announced)
			return w->arrival[i];
	return NEVER;
}

static void announce(struct world *w)
{
	w->announced = w->now;
	if (w->armed) {
		w->ready = true;
		if (w->asleep)
			wake_background(w, ADV_PROGRESS_BY_PACKET);
	} else if (find_waiter(w)) {
		wake_waiter(w);
	}
}

/* ---- the background thread ---- */

static void sleep_in_background(struct world *w)
{
	w->sources = 0;
	w->asleep = true;
	w->background = adv_progress_sleep_until(&w->p, w->now);
	if (w->background < w->now)
		w->background = w->now;
	if (w->armed && w->ready)
		wake_background(w, ADV_PROGRESS_BY_PACKET);
}

static void make_progress(struct world *w, struct adv_progress_wakeup *wakeup)
{
	struct adv_progress_plan plan = {.deadline = w->deadline};

	perform(w, adv_progress_enters(&w->p, w->now, wakeup));
	if (adv_progress_is_armed(&w->p)) {
		w->count.takes++;
		perform(w, adv_progress_received(&w->p, w->now, receive(w), wakeup));
	}
	plan.activity = w->activity;
	adv_progress_sleeps(&w->p, w->now, &plan);
}

static bool is_locked(const struct world *w)
{
	for (unsigned i = 0; i < w->threads; i++)
		if (w->thread[i].polls)
			return true;
	return false;
}

static void run_background(struct world *w)
{
	struct adv_progress_wakeup wakeup = {.sources = w->sources};

	if (w->sources & ADV_PROGRESS_BY_PACKET)
		w->count.by_packet++;
	else if (w->sources)
		w->count.by_kick++;
	else
		w->count.by_time++;
	w->count.price += PRICE_LOOK;
	if (w->sources & ADV_PROGRESS_BY_PACKET)
		w->ready = false;
	switch (adv_progress_woken(&w->p, w->now, w->sources, is_locked(w))) {
	case ADV_PROGRESS_SLEEP_ON:
		break;
	case ADV_PROGRESS_TRY:
		if (is_locked(w)) {
			adv_progress_missed(&w->p);
			break;
		}
		/* fall through */
	case ADV_PROGRESS_ENTER:
		make_progress(w, &wakeup);
	}
	sleep_in_background(w);
}

/* ---- calls of the program ---- */

static void end_call(struct world *w, bool posted)
{
	struct adv_progress_rest rest = {.deadline = w->deadline};

	if (adv_progress_on_trial(&w->p))
		adv_progress_judge(&w->p, w->now, posted);
	if (posted)
		adv_progress_posted(&w->p, w->now);
	if (adv_progress_heeds_calls(&w->p))
		perform(w, adv_progress_call_ends(&w->p, &rest));
}

unsigned world_poll(struct world *w)
{
	unsigned n;

	adv_progress_polled(&w->p, w->now);
	n = receive(w);
	end_call(w, false);
	return n;
}

void world_poll_found(struct world *w)
{
	adv_progress_found(&w->p);
	end_call(w, false);
}

void world_post(struct world *w)
{
	w->activity++;
	end_call(w, true);
}

void world_request_event(struct world *w)
{
	perform(w, adv_progress_arms(&w->p));
	end_call(w, false);
}

/* Receives for a waiting thread, which sleeps if no packet is available. */
static uint64_t receive_or_sleep(struct world *w, struct world_thread *t)
{
	perform(w, adv_progress_wait_receives(&w->p));
	if (receive(w)) {
		t->waits = false;
		perform(w, adv_progress_wait_ends(&w->p, false));
		return w->now;
	}
	adv_progress_wait_sleeps(&w->p, w->deadline);
	return w->deadline;
}

uint64_t world_wait(struct world *w, unsigned thread)
{
	struct world_thread *t = &w->thread[thread];

	assert_false(t->waits);
	t->waits = true;
	perform(w, adv_progress_waits(&w->p));
	return receive_or_sleep(w, t);
}

static void run_program(struct world *w, unsigned i)
{
	struct world_thread *t = &w->thread[i];

	if (!t->waits) {
		t->at = t->step(w, i);
		return;
	}
	w->count.waiter++;
	w->count.price += PRICE_LOOK;
	adv_progress_wait_woken(&w->p);
	t->at = receive_or_sleep(w, t);
}

/* ---- time ---- */

void world_run(struct world *w, uint64_t until)
{
	for (;;) {
		uint64_t next = earlier(w->background, next_announcement(w));
		unsigned first = WORLD_THREADS;

		for (unsigned i = 0; i < w->threads; i++) {
			if (w->thread[i].at < next) {
				next = w->thread[i].at;
				first = i;
			}
		}
		if (next > until)
			break;
		w->now = next > w->now ? next : w->now;
		if (first < WORLD_THREADS)
			run_program(w, first);
		else if (next == w->background)
			run_background(w);
		else
			announce(w);
	}
	w->now = until;
}

void world_settled(struct world *w)
{
	w->settled = w->count;
	w->count.lay_longest = 0;
}

struct world_counts world_since(const struct world *w)
{
	const struct world_counts *a = &w->settled, *b = &w->count;

	return (struct world_counts){
		.by_packet = b->by_packet - a->by_packet,
		.by_kick = b->by_kick - a->by_kick,
		.by_time = b->by_time - a->by_time,
		.waiter = b->waiter - a->waiter,
		.takes = b->takes - a->takes,
		.switches = b->switches - a->switches,
		.packets = b->packets - a->packets,
		.lay = b->lay - a->lay,
		.lay_longest = b->lay_longest,
		.price = b->price - a->price,
	};
}

void world_print(const struct world *w, const char *name, unsigned rounds)
{
	struct world_counts c = world_since(w);

	print_message("%-28s %7u rounds; thread woken by packet %6u kick %5u time %5u; waiter %6u; "
		      "switches %4u; lay %6.1f us, at most %7.1f; price %5.1f us a packet\n",
		      name, rounds, c.by_packet, c.by_kick, c.by_time, c.waiter, c.switches,
		      c.packets ? (double)c.lay / 1e3 / c.packets : 0.0,
		      (double)c.lay_longest / 1e3,
		      c.packets ? (double)c.price / 1e3 / c.packets : 0.0);
}
