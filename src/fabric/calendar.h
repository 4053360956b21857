/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The events of a simulation: a calendar queue. Time is in picoseconds, since one byte at 400 Gb/s
 * takes exactly 20; 64 bits hold 213 days. Events of one time are dequeued in the order of their
 * `what`, whenever they were added. So the order of a host's or switch's events does not depend on
 * the others: parts of a network have the same order when each has a calendar of its own.
 *
 * Events of the next 4.2 to 67 us are in a ring of buckets, each a list; later events are in a
 * heap. Adding and dequeuing are O(1) for the events of a network and O(log n) for late timers. An
 * event cannot be removed: its owner checks whether the event still applies when it is due. The
 * next few events are in a sorted array, so that the caller can prefetch their data.
 */
#ifndef ADV_FABRIC_CALENDAR_H
#define ADV_FABRIC_CALENDAR_H

#include <stdbool.h>
#include <stdint.h>

#define ADV_PS_PER_NS 1000ull
#define ADV_PS_PER_US 1000000ull
#define ADV_PS_PER_MS 1000000000ull
#define ADV_PS_PER_S  1000000000000ull

/* The time "never". The transport's ADV_NEVER has the same meaning. */
#define ADV_CALENDAR_NEVER UINT64_MAX

/* 16 bytes: four to a cache line. */
struct adv_calendar_event {
	uint64_t at;   /* ps */
	uint32_t what; /* kind and index of the event, chosen by the caller */
};

struct adv_calendar;

/* Creates a calendar at time 0. `sources`: how many can add events at the same time, the more
 * exactly the faster. NULL: no memory. */
struct adv_calendar *adv_calendar_create(uint32_t sources);
void adv_calendar_destroy(struct adv_calendar *c);

/* Adds an event. `at` must not be before the time of the last dequeued event. If a call of
 * adv_calendar_take() found no event, `at` must not be before its `until` either. False: no
 * memory. The calendar is then unchanged, and the run has to end. */
bool adv_calendar_add(struct adv_calendar *c, uint64_t at, uint32_t what);

/* Dequeues the next event. False: none is due at `until` or before, or adv_calendar_failed(). */
bool adv_calendar_take(struct adv_calendar *c, uint64_t until, struct adv_calendar_event *event);

/* Returns the event that adv_calendar_take() would dequeue, or NULL. It is valid until the next
 * call. */
const struct adv_calendar_event *adv_calendar_peek(struct adv_calendar *c, uint64_t until);

/* Returns the time of the next event. ADV_CALENDAR_NEVER: there is none. */
uint64_t adv_calendar_next(const struct adv_calendar *c);

/* True if adv_calendar_take() failed for lack of memory. No further event is dequeued. */
bool adv_calendar_failed(const struct adv_calendar *c);

/* Returns the next events, in order, for prefetching their data: after adv_calendar_take() at least
 * four, or all of the next 16 ns if these are fewer. NULL: there are none. Later calls of
 * adv_calendar_add() may add events between them. The array is valid until the next call. */
const struct adv_calendar_event *adv_calendar_soon(const struct adv_calendar *c, uint32_t *count);

/* Returns the number of events. */
uint64_t adv_calendar_count(const struct adv_calendar *c);

#endif
