/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The events of a simulation: a calendar queue. Time is in picoseconds, since one byte at 400 Gb/s
 * takes exactly 20; 64 bits hold 213 days. Events of one time are dequeued in the order of their
 * `what`, whenever they were added. So the order of a host's or switch's events does not depend on
 * the others: parts of a network have the same order when each has a calendar of its own.
 *
 * Events of the next 8.4 to 67 us are in a ring of buckets, each a list; later events are in a
 * heap. Adding and dequeuing are O(1) for the events of a network and O(log n) for late timers. An
 * event cannot be removed: its owner checks whether the event still applies when it is due. The
 * next few events are in a sorted array, so that the caller can prefetch their data.
 */
#ifndef ADV_FABRIC_NETWORK_CALENDAR_H
#define ADV_FABRIC_NETWORK_CALENDAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/heap.h"

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
	uint32_t next; /* for the calendar: the next event of a list; or ADV_CALENDAR_NO_EVENT */
};

#define ADV_CALENDAR_BUCKETS  32768u
#define ADV_CALENDAR_NO_EVENT 0u
#define ADV_CALENDAR_SOON     4u

/* Only calendar.c and the functions below access the members. */
struct adv_calendar {
	/* The near events: those of the bucket `cursor` and before, in order. Bucket 0 begins at
	 * time 0. */
	struct adv_calendar_event *first;
	struct adv_calendar_event *few; /* if `first` is after it, more have to be loaded */
	struct adv_calendar_event *end; /* of the events, and of their buffer */
	struct adv_calendar_event *buffer;
	uint64_t cursor;
	uint8_t shift; /* the width of a bucket is 2^shift ps */
	uint8_t soon;  /* so many near events are enough */
	bool failed;

	/* Buckets cursor + 1 .. cursor + ADV_CALENDAR_BUCKETS - 1, by their number modulo
	 * ADV_CALENDAR_BUCKETS. */
	uint32_t free_node;
	uint32_t nodes;
	struct adv_calendar_event *node; /* the first one is not used */
	uint64_t in_ring;		 /* events */
	uint64_t next; /* the first bucket with events; UINT64_MAX: there is none */

	uint64_t far_next;   /* bucket of the first event of `far`; UINT64_MAX: there is none */
	struct adv_heap far; /* later events */

	uint8_t used[ADV_CALENDAR_BUCKETS / 64];    /* by word of `filled`: 1 if it is not 0 */
	uint64_t filled[ADV_CALENDAR_BUCKETS / 64]; /* a bit for each bucket */
	uint32_t head[ADV_CALENDAR_BUCKETS];	    /* its last added event */
};

/* Creates a calendar at time 0. `sources`: how many can add events at the same time, the more
 * exactly the faster. `soon`: adv_calendar_soon() returns several events. NULL: no memory. */
struct adv_calendar *adv_calendar_create(uint32_t sources, bool soon);
void adv_calendar_destroy(struct adv_calendar *c);

/* As adv_calendar_add(), if the event belongs into the ring, and a node is free. Otherwise returns
 * false and does nothing. */
static inline bool adv_calendar_add_to_ring(struct adv_calendar *c, uint64_t at, uint32_t what)
{
	uint64_t bucket = at >> c->shift;
	uint32_t b = (uint32_t)bucket & (ADV_CALENDAR_BUCKETS - 1), i = c->free_node;
	struct adv_calendar_event *node;

	if (bucket - c->cursor - 1 >= ADV_CALENDAR_BUCKETS - 1 || i == ADV_CALENDAR_NO_EVENT)
		return false;
	node = &c->node[i];
	c->free_node = node->next;
	*node = (struct adv_calendar_event){at, what, c->head[b]};
	c->head[b] = i;
	c->filled[b / 64] |= 1ull << (b % 64);
	c->used[b / 64] = 1;
	c->in_ring++;
	if (bucket < c->next)
		c->next = bucket;
	return true;
}

/* Adds an event. `at` must not be before the time of the last dequeued event. If a call of
 * adv_calendar_take() found no event, `at` must not be before its `until` either. False: no
 * memory. The calendar is then unchanged, and the run has to end. */
bool adv_calendar_add(struct adv_calendar *c, uint64_t at, uint32_t what);

/* As adv_calendar_peek(), if few events are near. Only adv_calendar_peek() calls it. */
bool adv_calendar_load(struct adv_calendar *c, uint64_t until);

/* Returns the event that adv_calendar_take() would dequeue, or NULL. It is valid until the next
 * call. */
static inline const struct adv_calendar_event *adv_calendar_peek(struct adv_calendar *c,
								 uint64_t until)
{
	if (c->first > c->few && !adv_calendar_load(c, until))
		return NULL;
	return c->first->at > until ? NULL : c->first;
}

/* Dequeues the next event. It is valid until the next call of another function than
 * adv_calendar_soon(). NULL: none is due at `until` or before, or adv_calendar_failed(). */
static inline const struct adv_calendar_event *adv_calendar_take(struct adv_calendar *c,
								 uint64_t until)
{
	const struct adv_calendar_event *event = adv_calendar_peek(c, until);

	if (event)
		c->first++;
	return event;
}

/* Returns the next events, in order, so that the caller can prefetch their data. If the calendar
 * was created with `soon`, and after adv_calendar_take(): at least ADV_CALENDAR_SOON events, or all
 * of the next 16 ns if these are fewer. Otherwise maybe fewer, or none. Later calls of
 * adv_calendar_add() may add events between them. The array is valid until the next call. */
static inline const struct adv_calendar_event *adv_calendar_soon(const struct adv_calendar *c,
								 uint32_t *count)
{
	*count = (uint32_t)(c->end - c->first);
	return c->first;
}

/* Returns the time of the next event. ADV_CALENDAR_NEVER: there is none. */
uint64_t adv_calendar_next(const struct adv_calendar *c);

/* True if adv_calendar_take() failed for lack of memory. No further event is dequeued. */
bool adv_calendar_failed(const struct adv_calendar *c);

/* Returns the number of events. */
uint64_t adv_calendar_count(const struct adv_calendar *c);

#endif
