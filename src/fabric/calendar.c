/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "fabric/calendar.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"

#define WIDTH_SHIFT 9 /* a bucket is 512 ps */
#define BUCKETS	    32768u
#define WORDS	    (BUCKETS / 64)
#define NO_NODE	    UINT32_MAX

struct node {
	uint64_t at;
	uint32_t what;
	uint32_t next;
};

struct adv_calendar {
	uint64_t cursor; /* number of the bucket from which events are dequeued; bucket 0 begins at
			    time 0 */
	uint64_t count;
	bool failed;

	/* The events of the cursor's bucket, in order. The first `taken` of them were dequeued. */
	struct adv_calendar_event *now;
	uint32_t taken;
	uint32_t now_count;
	uint32_t now_room;

	/* Buckets cursor + 1 .. cursor + BUCKETS - 1, by their number modulo BUCKETS. */
	uint64_t in_ring;
	uint64_t summary[WORDS / 64]; /* a bit for each word of `filled` */
	uint64_t filled[WORDS];	      /* a bit for each bucket */
	uint32_t head[BUCKETS];

	struct node *node;
	uint32_t nodes;
	uint32_t free_node;

	struct adv_heap far; /* later events */
};

static inline bool comes_before(const struct adv_calendar_event *a,
				const struct adv_calendar_event *b)
{
	return a->at < b->at || (a->at == b->at && a->what < b->what);
}

static bool event_before(const void *a, const void *b)
{
	return comes_before(a, b);
}

static const struct adv_heap_kind far_kind = {sizeof(struct adv_calendar_event), event_before,
					      NULL};

struct adv_calendar *adv_calendar_create(void)
{
	struct adv_calendar *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	memset(c->head, 0xff, sizeof(c->head));
	c->free_node = NO_NODE;
	return c;
}

void adv_calendar_destroy(struct adv_calendar *c)
{
	if (!c)
		return;
	free(c->now);
	free(c->node);
	adv_heap_free(&c->far);
	free(c);
}

uint64_t adv_calendar_count(const struct adv_calendar *c)
{
	return c->count;
}

/* ---- the bucket at the cursor ---- */

static bool now_reserve(struct adv_calendar *c, uint32_t count)
{
	uint32_t room = c->now_room ? c->now_room : 64;
	struct adv_calendar_event *now;

	if (count <= c->now_room)
		return true;
	while (room < count)
		room *= 2;
	now = realloc(c->now, room * sizeof(*now));
	if (!now)
		return false;
	c->now = now;
	c->now_room = room;
	return true;
}

static bool now_add(struct adv_calendar *c, const struct adv_calendar_event *event)
{
	uint32_t i;

	if (c->taken == c->now_count)
		c->taken = c->now_count = 0;
	if (!now_reserve(c, c->now_count + 1))
		return false;
	for (i = c->now_count++; i > c->taken && comes_before(event, &c->now[i - 1]); i--)
		c->now[i] = c->now[i - 1];
	c->now[i] = *event;
	return true;
}

/* ---- the ring ---- */

static bool grow_nodes(struct adv_calendar *c)
{
	uint32_t n = c->nodes ? 2 * c->nodes : 1024;
	struct node *node = realloc(c->node, (size_t)n * sizeof(*node));

	if (!node)
		return false;
	for (uint32_t i = c->nodes; i < n; i++)
		node[i].next = i + 1 < n ? i + 1 : NO_NODE;
	c->free_node = c->nodes;
	c->node = node;
	c->nodes = n;
	return true;
}

static bool ring_add(struct adv_calendar *c, const struct adv_calendar_event *event)
{
	uint32_t b = (uint32_t)(event->at >> WIDTH_SHIFT) & (BUCKETS - 1);
	uint32_t i;

	if (c->free_node == NO_NODE && !grow_nodes(c))
		return false;
	i = c->free_node;
	c->free_node = c->node[i].next;
	c->node[i] = (struct node){event->at, event->what, c->head[b]};
	c->head[b] = i;
	c->filled[b / 64] |= 1ull << (b % 64);
	c->summary[b / 64 / 64] |= 1ull << (b / 64 % 64);
	c->in_ring++;
	return true;
}

/* Returns the first set bit of `bits` at `from` or after it; `count`: there is none. */
static uint32_t first_bit(const uint64_t *bits, uint32_t count, uint32_t from)
{
	uint32_t w = from / 64;
	uint64_t word;

	if (from >= count)
		return count;
	word = bits[w] & (~0ull << (from % 64));
	while (!word) {
		if (++w >= count / 64)
			return count;
		word = bits[w];
	}
	return w * 64 + (uint32_t)__builtin_ctzll(word);
}

/* Returns the first bucket with events at index `from` of the ring or after it; BUCKETS: none. */
static uint32_t first_bucket(const struct adv_calendar *c, uint32_t from)
{
	uint32_t w;
	uint64_t word;

	if (from >= BUCKETS)
		return BUCKETS;
	word = c->filled[from / 64] & (~0ull << (from % 64));
	if (word)
		return from / 64 * 64 + (uint32_t)__builtin_ctzll(word);
	w = first_bit(c->summary, WORDS, from / 64 + 1);
	return w == WORDS ? BUCKETS : w * 64 + (uint32_t)__builtin_ctzll(c->filled[w]);
}

/* Returns the number of buckets from the cursor to the next bucket with events. The ring must not
 * be empty. */
static uint32_t buckets_to_next(const struct adv_calendar *c)
{
	uint32_t at = (uint32_t)c->cursor & (BUCKETS - 1);
	uint32_t b = first_bucket(c, at + 1);

	if (b == BUCKETS)
		b = first_bucket(c, 0);
	return (b - at) & (BUCKETS - 1);
}

/* Moves the events of the cursor's bucket to `now`, in order. */
static bool load_bucket(struct adv_calendar *c)
{
	uint32_t b = (uint32_t)c->cursor & (BUCKETS - 1);
	uint32_t n = 0;

	for (uint32_t i = c->head[b]; i != NO_NODE; i = c->node[i].next)
		n++;
	if (!now_reserve(c, n))
		return false;
	c->taken = 0;
	c->now_count = n;
	c->in_ring -= n;
	/* The list has the newest event first. `now` is filled from its end, since events are often
	 * added in order. */
	while (c->head[b] != NO_NODE) {
		uint32_t i = c->head[b];

		c->now[--n] = (struct adv_calendar_event){c->node[i].at, c->node[i].what};
		c->head[b] = c->node[i].next;
		c->node[i].next = c->free_node;
		c->free_node = i;
	}
	for (uint32_t i = 1; i < c->now_count; i++) {
		struct adv_calendar_event e = c->now[i];
		uint32_t k = i;

		for (; k > 0 && comes_before(&e, &c->now[k - 1]); k--)
			c->now[k] = c->now[k - 1];
		c->now[k] = e;
	}
	c->filled[b / 64] &= ~(1ull << (b % 64));
	if (!c->filled[b / 64])
		c->summary[b / 64 / 64] &= ~(1ull << (b / 64 % 64));
	return true;
}

/* ---- the heap of later events ---- */

static bool far_add(struct adv_calendar *c, const struct adv_calendar_event *event)
{
	if (!adv_heap_reserve(&c->far, sizeof(*event), c->far.count + 1))
		return false;
	adv_heap_add(&c->far, &far_kind, event);
	return true;
}

static bool place_event(struct adv_calendar *c, const struct adv_calendar_event *event)
{
	uint64_t bucket = event->at >> WIDTH_SHIFT;

	if (bucket == c->cursor)
		return now_add(c, event);
	assert(bucket > c->cursor);
	return bucket - c->cursor < BUCKETS ? ring_add(c, event) : far_add(c, event);
}

/* Moves events of the next BUCKETS buckets from the heap to the ring or to `now`. */
static bool bring_near(struct adv_calendar *c)
{
	const struct adv_calendar_event *first;

	while ((first = adv_heap_first(&c->far, &far_kind)) &&
	       (first->at >> WIDTH_SHIFT) - c->cursor < BUCKETS) {
		if (!place_event(c, first))
			return false;
		adv_heap_remove(&c->far, &far_kind, 1);
	}
	return true;
}

/* ---- add and dequeue ---- */

bool adv_calendar_add(struct adv_calendar *c, uint64_t at, uint32_t what)
{
	struct adv_calendar_event event = {.at = at, .what = what};

	if (!place_event(c, &event))
		return false;
	c->count++;
	return true;
}

/* Moves the cursor to the next bucket with events. False: there is none, or it begins after
 * `until`. */
static bool advance_cursor(struct adv_calendar *c, uint64_t until)
{
	const struct adv_calendar_event *far = adv_heap_first(&c->far, &far_kind);
	uint64_t next;

	if (c->in_ring)
		next = c->cursor + buckets_to_next(c);
	else if (far)
		next = far->at >> WIDTH_SHIFT;
	else
		return false;
	if (next > until >> WIDTH_SHIFT)
		return false;
	c->cursor = next;
	c->failed = !load_bucket(c) || !bring_near(c);
	return !c->failed;
}

const struct adv_calendar_event *adv_calendar_peek(struct adv_calendar *c, uint64_t until)
{
	if (c->failed || (c->taken == c->now_count && !advance_cursor(c, until)))
		return NULL;
	return c->now[c->taken].at > until ? NULL : &c->now[c->taken];
}

bool adv_calendar_take(struct adv_calendar *c, uint64_t until, struct adv_calendar_event *event)
{
	const struct adv_calendar_event *next = adv_calendar_peek(c, until);

	if (!next)
		return false;
	*event = *next;
	c->taken++;
	c->count--;
	return true;
}

uint64_t adv_calendar_next(const struct adv_calendar *c)
{
	const struct adv_calendar_event *far = adv_heap_first(&c->far, &far_kind);

	if (c->taken < c->now_count)
		return c->now[c->taken].at;
	if (c->in_ring)
		return (c->cursor + buckets_to_next(c)) << WIDTH_SHIFT;
	return far ? far->at : ADV_CALENDAR_NEVER;
}

bool adv_calendar_failed(const struct adv_calendar *c)
{
	return c->failed;
}

const struct adv_calendar_event *adv_calendar_soon(const struct adv_calendar *c, uint32_t *count)
{
	*count = c->now_count - c->taken;
	return *count ? &c->now[c->taken] : NULL;
}
