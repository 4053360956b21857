/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is to happen when, in virtual time: a calendar queue. Time is in picoseconds, as one byte at
 * 400 Gb/s takes 20 of them exactly; 64 bits of it are 213 days. Events of one time come in the
 * order in which they were added, so that a run depends on nothing but its input.
 *
 * The next 16.8 us are a ring of buckets, each a list; what is later waits in a heap. Adding and
 * taking are O(1) for what a network does, and O(log n) for timers far away. An event cannot be
 * taken back: who sets one looks, when it comes, whether it still means anything.
 */
#ifndef ADV_FABRIC_CALENDAR_H
#define ADV_FABRIC_CALENDAR_H

#include <stdbool.h>
#include <stdint.h>

#define ADV_PS_PER_NS 1000ull
#define ADV_PS_PER_US 1000000ull
#define ADV_PS_PER_MS 1000000000ull
#define ADV_PS_PER_S  1000000000000ull

/* No time at all; as the transport's ADV_NEVER. */
#define ADV_CALENDAR_NEVER UINT64_MAX

/* 16 bytes: four to a cache line. */
struct adv_calendar_event {
	uint64_t at;	/* ps */
	uint32_t order; /* of those at one time; free running */
	uint32_t what;	/* the caller's */
};

struct adv_calendar;

/* NULL: ENOMEM. Its time is 0. */
struct adv_calendar *adv_calendar_create(void);
void adv_calendar_destroy(struct adv_calendar *c);

/* Adds an event; `at` is not before the event that was taken last, nor before the `until` up to
 * which none was left. False: no memory; the calendar is then as it was, and the run that needed
 * the event cannot go on. */
bool adv_calendar_add(struct adv_calendar *c, uint64_t at, uint32_t what);

/* Takes the next event; false: there is none at `until` or before, or adv_calendar_failed(). */
bool adv_calendar_take(struct adv_calendar *c, uint64_t until, struct adv_calendar_event *event);

/* There was no memory to take an event: the run cannot go on, nothing is taken any more. */
bool adv_calendar_failed(const struct adv_calendar *c);

/*
 * Those that come next, in order, for fetching what they are about into the cache: of the next half
 * nanosecond or less, maybe none (NULL); others that are added may come between. Good until the
 * next call.
 */
const struct adv_calendar_event *adv_calendar_soon(const struct adv_calendar *c, uint32_t *count);

/* How many wait. */
uint64_t adv_calendar_count(const struct adv_calendar *c);

#endif
