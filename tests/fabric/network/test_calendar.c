/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/rng.h"
#include "fabric/network/calendar.h"

enum { EVENTS = 20000 };

struct expected {
	uint64_t at;
	uint32_t what;
};

static int by_time(const void *a, const void *b)
{
	const struct expected *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->what < y->what ? -1 : x->what > y->what;
}

/* Draws the distance of an event: 0, in the same bucket, within the ring, or far beyond it. */
static uint64_t ahead(struct adv_rng *rng)
{
	static const uint64_t range[] = {1, 500, 5000, 10000000, 100000000, 5000000000};

	return adv_rng_below(rng, range[adv_rng_below(rng, 6)]);
}

/* Dequeues an event, which is due at `until` or before. */
static struct adv_calendar_event take(struct adv_calendar *c, uint64_t until)
{
	const struct adv_calendar_event *event = adv_calendar_take(c, until);

	assert_non_null(event);
	return *event;
}

static void test_all_in_order(void **state)
{
	struct adv_calendar *c = adv_calendar_create(1, false);
	struct expected *e = calloc(EVENTS, sizeof(*e));
	struct adv_calendar_event got;
	struct adv_rng rng;

	assert_true(c && e);
	adv_rng_seed(&rng, 1);
	for (uint32_t i = 0; i < EVENTS; i++) {
		e[i] = (struct expected){ahead(&rng), i};
		assert_true(adv_calendar_add(c, e[i].at, i));
	}
	qsort(e, EVENTS, sizeof(*e), by_time);
	assert_int_equal(adv_calendar_count(c), EVENTS);
	for (uint32_t i = 0; i < EVENTS; i++) {
		got = take(c, ADV_CALENDAR_NEVER);
		assert_int_equal(got.at, e[i].at);
		assert_int_equal(got.what, e[i].what);
	}
	assert_null(adv_calendar_take(c, ADV_CALENDAR_NEVER));
	assert_int_equal(adv_calendar_count(c), 0);
	free(e);
	adv_calendar_destroy(c);
}

/* If events are added while others are dequeued, time never decreases, events of the same time keep
 * their order, and no event is lost. */
static void test_while_taking(void **state)
{
	struct adv_calendar *c = adv_calendar_create(1, false);
	struct adv_calendar_event got;
	uint64_t now = 0, taken = 0, sum = 0, wanted = 0;
	uint32_t last = 0, added;
	struct adv_rng rng;

	assert_non_null(c);
	adv_rng_seed(&rng, 2);
	for (added = 1; added <= 500; added++)
		assert_true(adv_calendar_add(c, ahead(&rng), added));
	while (adv_calendar_count(c)) {
		got = take(c, ADV_CALENDAR_NEVER);
		assert_true(got.at >= now);
		if (got.at == now && taken)
			assert_true(got.what > last);
		now = got.at;
		last = got.what;
		sum += got.what;
		taken++;
		for (unsigned n = (unsigned)adv_rng_below(&rng, 3); n && added < 200000; n--)
			assert_true(adv_calendar_add(c, now + ahead(&rng), added++));
	}
	for (uint32_t i = 1; i < added; i++)
		wanted += i;
	assert_int_equal(taken, added - 1);
	assert_int_equal(sum, wanted);
	adv_calendar_destroy(c);
}

/* Events 2 ns from each other, in different buckets: four of them are seen ahead, and one that is
 * added before them is dequeued first. Nothing is seen beyond the next 16 ns. */
static void test_soon_in_other_buckets(void **state)
{
	struct adv_calendar *c = adv_calendar_create(1, true);
	struct adv_calendar_event got;
	uint32_t count;

	assert_non_null(c);
	for (uint32_t i = 1; i <= 10; i++)
		assert_true(adv_calendar_add(c, 2000 * i, i));
	assert_true(adv_calendar_add(c, 1000000, 11));
	for (uint32_t i = 1; i <= 10; i++) {
		got = take(c, ADV_CALENDAR_NEVER);
		assert_int_equal(got.what, i);
		adv_calendar_soon(c, &count);
		assert_int_equal(count, i < 7 ? 4 : 10 - i);
		assert_true(adv_calendar_add(c, got.at + 1, 100));
		got = take(c, ADV_CALENDAR_NEVER);
		assert_int_equal(got.what, 100);
	}
	assert_null(adv_calendar_take(c, 999999));
	assert_int_equal(adv_calendar_next(c) / 512, 1000000 / 512);
	assert_true(adv_calendar_add(c, 999999, 12));
	got = take(c, ADV_CALENDAR_NEVER);
	assert_int_equal(got.what, 12);
	got = take(c, ADV_CALENDAR_NEVER);
	assert_int_equal(got.what, 11);
	adv_calendar_destroy(c);
}

/* adv_calendar_soon() returns the next events in order. */
static void test_soon(void **state)
{
	struct adv_calendar *c = adv_calendar_create(1, true);
	const struct adv_calendar_event *soon;
	struct adv_calendar_event got, wanted[64];
	uint32_t count, seen = 0;
	struct adv_rng rng;

	assert_non_null(c);
	adv_calendar_soon(c, &count);
	assert_int_equal(count, 0);
	adv_rng_seed(&rng, 3);
	for (uint32_t i = 0; i < 2000; i++)
		assert_true(adv_calendar_add(c, adv_rng_below(&rng, 100000), i));
	while (adv_calendar_take(c, ADV_CALENDAR_NEVER)) {
		soon = adv_calendar_soon(c, &count);
		assert_true(count < 64);
		seen += count;
		for (uint32_t i = 0; i < count; i++)
			wanted[i] = soon[i];
		for (uint32_t i = 0; i < count; i++) {
			got = take(c, ADV_CALENDAR_NEVER);
			assert_int_equal(got.at, wanted[i].at);
			assert_int_equal(got.what, wanted[i].what);
		}
	}
	assert_true(seen > 1000); /* all except the first of ten events in each bucket */
	adv_calendar_destroy(c);
}

/* Events of one time are in the order of `what`, also those that are added while others of that
 * time are dequeued. adv_calendar_peek() shows each of them before. */
static void test_same_time(void **state)
{
	static const uint32_t order[] = {3, 4, 5, 6, 7, 9};
	static const uint64_t at[] = {100, 1000000, 900000000};

	for (unsigned k = 0; k < 3; k++) {
		struct adv_calendar *c = adv_calendar_create(1, false);
		const struct adv_calendar_event *next;
		struct adv_calendar_event got;

		assert_non_null(c);
		for (unsigned i = 0; i < 6; i++)
			if (order[5 - i] != 4 && order[5 - i] != 7)
				assert_true(adv_calendar_add(c, at[k], order[5 - i]));
		assert_null(adv_calendar_peek(c, at[k] - 1));
		for (unsigned i = 0; i < 6; i++) {
			next = adv_calendar_peek(c, at[k]);
			assert_non_null(next);
			assert_int_equal(next->what, order[i]);
			got = take(c, at[k]);
			assert_int_equal(got.what, order[i]);
			if (i == 0) {
				assert_true(adv_calendar_add(c, at[k], 7));
				assert_true(adv_calendar_add(c, at[k], 4));
			}
		}
		assert_null(adv_calendar_peek(c, ADV_CALENDAR_NEVER));
		adv_calendar_destroy(c);
	}
}

/* No event after `until` is dequeued. Events that are added between such calls are in order. */
static void test_until(void **state)
{
	struct adv_calendar *c = adv_calendar_create(1, false);
	struct adv_calendar_event got;

	assert_non_null(c);
	assert_true(adv_calendar_add(c, 1000, 1));
	assert_true(adv_calendar_add(c, 1001, 2));
	assert_true(adv_calendar_add(c, 900000000, 3));
	assert_null(adv_calendar_take(c, 999));
	got = take(c, 1000);
	assert_int_equal(got.what, 1);
	assert_null(adv_calendar_take(c, 1000));
	assert_true(adv_calendar_add(c, 1000, 4));
	got = take(c, 1000);
	assert_int_equal(got.what, 4);
	got = take(c, 2000);
	assert_int_equal(got.what, 2);
	assert_null(adv_calendar_take(c, 800000000));
	assert_true(adv_calendar_add(c, 800000001, 5));
	got = take(c, ADV_CALENDAR_NEVER - 1);
	assert_int_equal(got.what, 5);
	got = take(c, 900000000);
	assert_int_equal(got.what, 3);
	adv_calendar_destroy(c);
}

/* The time of the next event is known to 512 ps, near and far. */
static void test_next(void **state)
{
	static const uint64_t at[] = {0, 700, 100000, 20000000, 5000000000ull};
	struct adv_calendar *c = adv_calendar_create(1, false);
	struct adv_calendar_event got;

	assert_non_null(c);
	assert_true(adv_calendar_next(c) == ADV_CALENDAR_NEVER);
	for (uint32_t i = 0; i < 5; i++)
		assert_true(adv_calendar_add(c, at[4 - i], i));
	for (uint32_t i = 0; i < 5; i++) {
		assert_in_range(adv_calendar_next(c), at[i] < 511 ? 0 : at[i] - 511, at[i]);
		got = take(c, ADV_CALENDAR_NEVER);
		assert_true(got.at == at[i]);
	}
	assert_true(adv_calendar_next(c) == ADV_CALENDAR_NEVER);
	adv_calendar_destroy(c);
}

/* ---- compared with a list ---- */

#define LIST_MAX 2000

/* All events of a calendar, in no order. */
struct list {
	struct adv_calendar *calendar;
	struct expected event[LIST_MAX];
	uint32_t count;
	uint64_t now; /* no event is added before */
};

/* Begins with an empty calendar. The values below KINDS select all widths of buckets, with and
 * without events that are seen ahead. */
#define KINDS 12
static void create(struct list *l, unsigned kind)
{
	*l = (struct list){.calendar = adv_calendar_create(64u << kind / 2, kind % 2)};
	assert_non_null(l->calendar);
}

static void add(struct list *l, uint64_t at, uint32_t what)
{
	if (l->count == LIST_MAX)
		return;
	l->event[l->count++] = (struct expected){at, what};
	assert_true(adv_calendar_add_to_ring(l->calendar, at, what) ||
		    adv_calendar_add(l->calendar, at, what));
}

/* Dequeues an event, and checks that it is the first one of the list. False: none is due. */
static bool take_first(struct list *l, uint64_t until)
{
	const struct adv_calendar_event *got = adv_calendar_peek(l->calendar, until);
	uint32_t first = 0;

	assert_int_equal(adv_calendar_count(l->calendar), l->count);
	for (uint32_t i = 1; i < l->count; i++)
		if (by_time(&l->event[i], &l->event[first]) < 0)
			first = i;
	if (!l->count || l->event[first].at > until) {
		assert_null(got);
		assert_null(adv_calendar_take(l->calendar, until));
		l->now = until;
		return false;
	}
	assert_non_null(got);
	assert_ptr_equal(adv_calendar_take(l->calendar, until), got);
	assert_int_equal(got->at, l->event[first].at);
	assert_int_equal(got->what, l->event[first].what);
	l->now = got->at;
	l->event[first] = l->event[--l->count];
	return true;
}

/* Dequeues all events. */
static void finish(struct list *l)
{
	while (take_first(l, ADV_CALENDAR_NEVER))
		;
	assert_int_equal(l->count, 0);
	adv_calendar_destroy(l->calendar);
}

/* Adds events of one time, or of a few: ascending, descending or in any order, as the ports of a
 * network do that all begin at once. Each has another `what`, also than those before. */
static void add_many(struct list *l, struct adv_rng *rng, uint32_t *what)
{
	static const uint32_t some[] = {1, 2, 10, 30, 100, 400};
	uint32_t n = some[adv_rng_below(rng, 6)], order = (uint32_t)adv_rng_below(rng, 3);
	uint64_t at = l->now + ahead(rng), spread = adv_rng_below(rng, 2) ? 1 : 600;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t k = order == 0	  ? i
			     : order == 1 ? n - 1 - i
					  : (uint32_t)(i * 7919ull % 1009);

		add(l, at + adv_rng_below(rng, spread), *what + k);
	}
	*what += 1009;
}

/* Adds and dequeues events at random. */
static void test_as_a_list(void **state)
{
	static struct list l;
	struct adv_rng rng;
	uint32_t what = 0;

	adv_rng_seed(&rng, 4);
	for (unsigned kind = 0; kind < KINDS; kind++) {
		create(&l, kind);
		for (uint32_t i = 0; i < 300; i++) {
			uint64_t until = l.now + ahead(&rng);

			add_many(&l, &rng, &what);
			for (uint64_t n = adv_rng_below(&rng, 100); n && take_first(&l, until); n--)
				if (adv_rng_below(&rng, 4) == 0)
					add(&l, l.now + ahead(&rng), what++);
		}
		finish(&l);
	}
}

/* Events at the end of the ring and behind it: a bucket is 2^8 to 2^11 ps wide. */
static void test_end_of_the_ring(void **state)
{
	static struct list l;

	for (unsigned kind = 0; kind < KINDS; kind++)
		for (unsigned shift = 7; shift < 13; shift++)
			for (uint64_t now = 0; now < 500; now += 77) {
				create(&l, kind);
				add(&l, 3000000 + (now << shift), 0);
				assert_true(take_first(&l, ADV_CALENDAR_NEVER));
				add(&l, l.now + (1u << shift), 0);
				for (uint32_t i = 0; i < 6; i++)
					add(&l, l.now + ((ADV_CALENDAR_BUCKETS - 3 + i) << shift),
					    i);
				finish(&l);
			}
}

/* Many events are added to the near ones: before, between and behind them. */
static void test_many_near(void **state)
{
	static struct list l;

	for (unsigned kind = 0; kind < KINDS; kind++) {
		create(&l, kind);
		for (uint32_t i = 0; i < 10; i++)
			add(&l, 5000000 + i, 0);
		assert_true(take_first(&l, ADV_CALENDAR_NEVER));
		for (uint32_t i = 1; i <= 400; i++) {
			add(&l, 5000009, i);
			add(&l, 5000004, 1000 - i);
			add(&l, 5000000, i);
		}
		finish(&l);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_in_order),
		cmocka_unit_test(test_while_taking),
		cmocka_unit_test(test_soon),
		cmocka_unit_test(test_until),
		cmocka_unit_test(test_next),
		cmocka_unit_test(test_same_time),
		cmocka_unit_test(test_soon_in_other_buckets),
		cmocka_unit_test(test_as_a_list),
		cmocka_unit_test(test_many_near),
		cmocka_unit_test(test_end_of_the_ring),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
