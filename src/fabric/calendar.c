/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "fabric/calendar.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"

#define BUCKETS	  32768u
#define WORDS	  (BUCKETS / 64)
#define NO_NODE	  UINT32_MAX
#define NO_BUCKET UINT64_MAX

/* Width of a bucket: a power of two, ps. With WIDE_SOURCES sources of events or less it is the
 * widest; twice as many sources have half of it. So a bucket of a busy network has few events. */
#define WIDEST_SHIFT	11
#define NARROWEST_SHIFT 7
#define WIDE_SOURCES	1024

/* The near events are at least SOON, unless the next bucket with events begins more than AHEAD
 * after the first of them: events that are added in between have to be inserted in their order. */
#define SOON 5
/* So many events are sorted by insertion, more by merging. */
#define FEW   8
#define AHEAD 16384 /* ps */

struct node {
	uint64_t at;
	uint32_t what;
	uint32_t next;
};

struct adv_calendar {
	/* The near events: those of the bucket `cursor` and before, in order. The first `taken` of
	 * them were dequeued. Bucket 0 begins at time 0. */
	struct adv_calendar_event *near;
	uint32_t taken;
	uint32_t near_count;
	uint32_t near_room;
	bool failed;
	uint8_t shift; /* the width of a bucket is 2^shift ps */
	uint64_t cursor;

	/* Buckets cursor + 1 .. cursor + BUCKETS - 1, by their number modulo BUCKETS. */
	uint64_t next; /* the first bucket with events; NO_BUCKET: there is none */
	uint64_t in_ring;
	struct node *node;
	uint32_t nodes;
	uint32_t free_node;

	uint64_t far_next;   /* bucket of the first event of `far`; NO_BUCKET: there is none */
	struct adv_heap far; /* later events */

	uint64_t summary[WORDS / 64]; /* a bit for each word of `filled` */
	uint64_t filled[WORDS];	      /* a bit for each bucket */
	uint32_t head[BUCKETS];
};

static inline bool comes_before(const struct adv_calendar_event *a,
				const struct adv_calendar_event *b)
{
	/* Without branches, which nothing predicts. */
	return (a->at < b->at) | ((a->at == b->at) & (a->what < b->what));
}

static bool event_before(const void *a, const void *b)
{
	return comes_before(a, b);
}

static const struct adv_heap_kind far_kind = {sizeof(struct adv_calendar_event), event_before,
					      NULL};

/* Returns the number of the bucket of a time. */
static inline uint64_t bucket_of(const struct adv_calendar *c, uint64_t at)
{
	return at >> c->shift;
}

struct adv_calendar *adv_calendar_create(uint32_t sources)
{
	struct adv_calendar *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	memset(c->head, 0xff, sizeof(c->head));
	c->shift = WIDEST_SHIFT;
	while (sources > WIDE_SOURCES && c->shift > NARROWEST_SHIFT) {
		sources /= 2;
		c->shift--;
	}
	c->free_node = NO_NODE;
	c->next = c->far_next = NO_BUCKET;
	return c;
}

void adv_calendar_destroy(struct adv_calendar *c)
{
	if (!c)
		return;
	free(c->near);
	free(c->node);
	adv_heap_free(&c->far);
	free(c);
}

static inline uint32_t near_left(const struct adv_calendar *c)
{
	return c->near_count - c->taken;
}

uint64_t adv_calendar_count(const struct adv_calendar *c)
{
	return near_left(c) + c->in_ring + c->far.count;
}

/* ---- the near events ---- */

/* Makes room for `more` events behind the near ones. */
static __attribute__((noinline)) bool near_grow(struct adv_calendar *c, uint32_t more)
{
	uint32_t left = near_left(c), room = c->near_room ? c->near_room : 256;
	struct adv_calendar_event *near;

	if (left)
		memmove(c->near, &c->near[c->taken], left * sizeof(*near));
	c->taken = 0;
	c->near_count = left;
	while (room < 2 * (left + more)) /* so that moving them stays rare */
		room *= 2;
	if (room == c->near_room)
		return true;
	near = realloc(c->near, room * sizeof(*near));
	if (!near)
		return false;
	c->near = near;
	c->near_room = room;
	return true;
}

static inline bool near_reserve(struct adv_calendar *c, uint32_t more)
{
	if (c->taken == c->near_count)
		c->taken = c->near_count = 0;
	return c->near_count + more <= c->near_room || near_grow(c, more);
}

/* Moves the event at index i to its place among those before it, which are in order. */
static inline void sort_in(struct adv_calendar_event *e, uint32_t i)
{
	struct adv_calendar_event event = e[i];

	for (; i > 0 && comes_before(&event, &e[i - 1]); i--)
		e[i] = e[i - 1];
	e[i] = event;
}

/* Sorts a few events, which are mostly in the reverse order. */
static void sort_few(struct adv_calendar_event *e, uint32_t n)
{
	for (uint32_t i = 0; i < n / 2; i++) {
		struct adv_calendar_event first = e[i];

		e[i] = e[n - 1 - i];
		e[n - 1 - i] = first;
	}
	for (uint32_t i = 1; i < n; i++)
		sort_in(e, i);
}

/* Sorts n events. `spare` has room for as many if they are more than FEW. */
static void sort_many(struct adv_calendar_event *e, struct adv_calendar_event *spare, uint32_t n)
{
	uint32_t half = n / 2, i = 0, k = 0, other = half;

	if (n <= FEW) {
		sort_few(e, n);
		return;
	}
	sort_many(e, spare, half);
	sort_many(e + half, spare, n - half);
	memcpy(spare, e, half * sizeof(*e));
	while (i < half && other < n) {
		bool later = comes_before(&e[other], &spare[i]);

		e[k++] = later ? e[other] : spare[i];
		other += later;
		i += !later;
	}
	memcpy(&e[k], &spare[i], (half - i) * sizeof(*e));
}

static __attribute__((noinline)) bool near_add(struct adv_calendar *c, uint64_t at, uint32_t what)
{
	if (!near_reserve(c, 1))
		return false;
	c->near[c->near_count++] = (struct adv_calendar_event){at, what};
	sort_in(&c->near[c->taken], near_left(c) - 1);
	return true;
}

/* ---- the ring ---- */

static __attribute__((noinline)) bool grow_nodes(struct adv_calendar *c)
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

static inline bool ring_add(struct adv_calendar *c, uint64_t at, uint32_t what)
{
	uint64_t bucket = bucket_of(c, at);
	uint32_t b = (uint32_t)bucket & (BUCKETS - 1), i;

	if (c->free_node == NO_NODE && !grow_nodes(c))
		return false;
	i = c->free_node;
	c->free_node = c->node[i].next;
	c->node[i] = (struct node){at, what, c->head[b]};
	c->head[b] = i;
	c->filled[b / 64] |= 1ull << (b % 64);
	c->summary[b / 64 / 64] |= 1ull << (b / 64 % 64);
	c->in_ring++;
	if (bucket < c->next)
		c->next = bucket;
	return true;
}

/* Returns the index of the first word of `filled` with events, from word `from` on, around the
 * ring. The ring is not empty. */
static uint32_t next_word(const struct adv_calendar *c, uint32_t from)
{
	uint32_t s = from / 64;
	uint64_t word = c->summary[s] & (~0ull << (from % 64));

	while (!word) {
		s = (s + 1) % (WORDS / 64);
		word = c->summary[s];
	}
	return s * 64 + (uint32_t)__builtin_ctzll(word);
}

/* Returns the first bucket with events after the cursor, or NO_BUCKET. */
static inline uint64_t next_bucket(const struct adv_calendar *c)
{
	uint32_t from = (uint32_t)(c->cursor + 1) & (BUCKETS - 1), w = from / 64, b;
	uint64_t word = c->filled[w] & (~0ull << (from % 64));

	if (!word) {
		if (!c->in_ring)
			return NO_BUCKET;
		w = next_word(c, (w + 1) % WORDS);
		word = c->filled[w];
	}
	b = w * 64 + (uint32_t)__builtin_ctzll(word);
	return c->cursor + 1 + ((b - from) & (BUCKETS - 1));
}

/* Appends the events of a list to the near ones, with the last one first, and frees its nodes.
 * Returns their number; 0: no memory. */
static inline uint32_t near_append(struct adv_calendar *c, uint32_t list)
{
	uint32_t n = 0, last = list;

	for (uint32_t i = list; i != NO_NODE; i = c->node[i].next, n++) {
		if (!near_reserve(c, 1)) {
			c->near_count -= n;
			return 0;
		}
		c->near[c->near_count++] =
			(struct adv_calendar_event){c->node[i].at, c->node[i].what};
		last = i;
	}
	c->node[last].next = c->free_node;
	c->free_node = list;
	c->in_ring -= n;
	return n;
}

static __attribute__((noinline)) bool near_sort_many(struct adv_calendar *c, uint32_t n)
{
	if (n > FEW && !near_reserve(c, n))
		return false;
	sort_many(&c->near[c->near_count - n], &c->near[c->near_count], n);
	return true;
}

/* Moves the events of bucket c->next, which becomes the cursor's, to the near ones. False: no
 * memory. */
static inline bool load_bucket(struct adv_calendar *c)
{
	uint32_t b = (uint32_t)c->next & (BUCKETS - 1), n = near_append(c, c->head[b]);

	if (n != 1 && (n == 0 || !near_sort_many(c, n)))
		return false;
	c->head[b] = NO_NODE;
	c->filled[b / 64] &= ~(1ull << (b % 64));
	if (!c->filled[b / 64])
		c->summary[b / 64 / 64] &= ~(1ull << (b / 64 % 64));
	c->cursor = c->next;
	c->next = next_bucket(c);
	return true;
}

/* ---- the heap of later events ---- */

static void far_note_next(struct adv_calendar *c)
{
	const struct adv_calendar_event *first = adv_heap_first(&c->far, &far_kind);

	c->far_next = first ? bucket_of(c, first->at) : NO_BUCKET;
}

static __attribute__((noinline)) bool far_add(struct adv_calendar *c, uint64_t at, uint32_t what)
{
	struct adv_calendar_event event = {.at = at, .what = what};

	if (!adv_heap_reserve(&c->far, sizeof(event), c->far.count + 1))
		return false;
	adv_heap_add(&c->far, &far_kind, &event);
	far_note_next(c);
	return true;
}

/* Moves the events before bucket cursor + BUCKETS from the heap to the ring, or to the near ones.
 */
static __attribute__((noinline)) bool bring_near(struct adv_calendar *c)
{
	while (c->far_next - c->cursor < BUCKETS && c->far_next != NO_BUCKET) {
		struct adv_calendar_event first =
			*(struct adv_calendar_event *)adv_heap_first(&c->far, &far_kind);

		if (!adv_calendar_add(c, first.at, first.what))
			return false;
		adv_heap_remove(&c->far, &far_kind, 1);
		far_note_next(c);
	}
	return true;
}

/* ---- add and dequeue ---- */

bool adv_calendar_add(struct adv_calendar *c, uint64_t at, uint32_t what)
{
	uint64_t bucket = bucket_of(c, at);

	if (bucket <= c->cursor)
		return near_add(c, at, what);
	return bucket - c->cursor < BUCKETS ? ring_add(c, at, what) : far_add(c, at, what);
}

/* Loads the next bucket. False: no memory. */
static inline bool advance(struct adv_calendar *c)
{
	c->failed = !load_bucket(c) || (c->far_next - c->cursor < BUCKETS && !bring_near(c));
	return !c->failed;
}

/* Loads the first bucket of all. False: there is none, or it begins after `until`, or there is no
 * memory. */
static __attribute__((noinline)) bool advance_to_first(struct adv_calendar *c, uint64_t until)
{
	uint64_t next = c->next < c->far_next ? c->next : c->far_next;

	if (next == NO_BUCKET || next > bucket_of(c, until))
		return false;
	if (c->next != NO_BUCKET)
		return advance(c);
	c->cursor = next;
	c->failed = !bring_near(c);
	return !c->failed;
}

/* Loads buckets until SOON events are near. False: not even one is. */
static bool advance_to_soon(struct adv_calendar *c, uint64_t until)
{
	uint64_t end;

	if (c->taken == c->near_count && !advance_to_first(c, until))
		return false;
	end = bucket_of(c, c->near[c->taken].at + AHEAD);
	while (c->next <= end && near_left(c) < SOON)
		if (!advance(c))
			return false;
	return true;
}

static inline const struct adv_calendar_event *peek(struct adv_calendar *c, uint64_t until)
{
	if (c->failed || (near_left(c) < SOON && !advance_to_soon(c, until)))
		return NULL;
	return c->near[c->taken].at > until ? NULL : &c->near[c->taken];
}

const struct adv_calendar_event *adv_calendar_peek(struct adv_calendar *c, uint64_t until)
{
	return peek(c, until);
}

bool adv_calendar_take(struct adv_calendar *c, uint64_t until, struct adv_calendar_event *event)
{
	const struct adv_calendar_event *next = peek(c, until);

	if (!next)
		return false;
	*event = *next;
	c->taken++;
	return true;
}

/* Returns the time of the first event of the ring, which is not empty. */
static uint64_t first_in_ring(const struct adv_calendar *c)
{
	uint64_t first = ADV_CALENDAR_NEVER;

	for (uint32_t i = c->head[c->next & (BUCKETS - 1)]; i != NO_NODE; i = c->node[i].next)
		if (c->node[i].at < first)
			first = c->node[i].at;
	return first;
}

uint64_t adv_calendar_next(const struct adv_calendar *c)
{
	const struct adv_calendar_event *far = adv_heap_first(&c->far, &far_kind);

	if (near_left(c))
		return c->near[c->taken].at;
	if (c->next != NO_BUCKET)
		return first_in_ring(c);
	return far ? far->at : ADV_CALENDAR_NEVER;
}

bool adv_calendar_failed(const struct adv_calendar *c)
{
	return c->failed;
}

const struct adv_calendar_event *adv_calendar_soon(const struct adv_calendar *c, uint32_t *count)
{
	*count = near_left(c);
	return *count ? &c->near[c->taken] : NULL;
}
