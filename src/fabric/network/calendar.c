/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "fabric/network/calendar.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS	  ADV_CALENDAR_BUCKETS
#define WORDS	  (BUCKETS / 64)
#define NO_NODE	  ADV_CALENDAR_NO_EVENT
#define NO_BUCKET UINT64_MAX

/* Width of a bucket: a power of two, ps. With WIDE_SOURCES sources of events or less it is the
 * widest; twice as many sources have half of it. So a bucket of a busy network has few events, and
 * many buckets have events of one time only. */
#define WIDEST_SHIFT	11
#define NARROWEST_SHIFT 8
#define WIDE_SOURCES	256

/* No bucket that begins more than AHEAD after the first near event is loaded in advance: events
 * that are added in between have to be inserted in their order. */
#define AHEAD 16384 /* ps */
/* So many events are sorted by insertion, more by merging. Many are in order already. */
#define FEW	  24
#define NODES_MIN 256

static inline bool comes_before(const struct adv_calendar_event *a,
				const struct adv_calendar_event *b)
{
	/* As one number of 128 bits: without branches, which nothing predicts. */
	return ((unsigned __int128)a->at << 64 | a->what) <
	       ((unsigned __int128)b->at << 64 | b->what);
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

static inline uint32_t near_left(const struct adv_calendar *c)
{
	return (uint32_t)(c->end - c->first);
}

static inline uint32_t near_room(const struct adv_calendar *c)
{
	return (uint32_t)(c->end - c->buffer);
}

/* ---- create and destroy ---- */

/* Makes room for `room` near events. */
static bool near_reserve(struct adv_calendar *c, uint32_t room)
{
	struct adv_calendar_event *buffer = calloc(room, sizeof(*buffer)), *first;

	if (!buffer)
		return false;
	first = buffer + room - near_left(c);
	if (near_left(c))
		memcpy(first, c->first, near_left(c) * sizeof(*buffer));
	free(c->buffer);
	c->buffer = buffer;
	c->first = first;
	c->end = buffer + room;
	if (!c->failed)
		c->few = c->end - c->soon;
	return true;
}

/* Adds nodes. The events of all nodes can become near ones at a time, and be sorted. */
static __attribute__((noinline)) bool grow_nodes(struct adv_calendar *c)
{
	uint32_t n = c->nodes ? 2 * c->nodes : NODES_MIN;
	struct adv_calendar_event *node;

	if (near_room(c) < 2 * n && !near_reserve(c, 2 * n))
		return false;
	node = realloc(c->node, (size_t)n * sizeof(*node));
	if (!node)
		return false;
	c->free_node = c->nodes ? c->nodes : 1;
	for (uint32_t i = c->free_node; i < n; i++)
		node[i].next = i + 1 < n ? i + 1 : NO_NODE;
	c->node = node;
	c->nodes = n;
	return true;
}

struct adv_calendar *adv_calendar_create(uint32_t sources, bool soon)
{
	struct adv_calendar *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->shift = WIDEST_SHIFT;
	while (sources > WIDE_SOURCES && c->shift > NARROWEST_SHIFT) {
		sources /= 2;
		c->shift--;
	}
	c->soon = soon ? ADV_CALENDAR_SOON + 1 : 1;
	c->next = c->far_next = NO_BUCKET;
	if (!grow_nodes(c)) {
		adv_calendar_destroy(c);
		return NULL;
	}
	return c;
}

void adv_calendar_destroy(struct adv_calendar *c)
{
	if (!c)
		return;
	free(c->buffer);
	free(c->node);
	adv_heap_free(&c->far);
	free(c);
}

uint64_t adv_calendar_count(const struct adv_calendar *c)
{
	return near_left(c) + c->in_ring + c->far.count;
}

/* ---- sort ---- */

/* Moves the event at index i to its place among those before it, which are in order. */
static inline void sort_in(struct adv_calendar_event *e, uint32_t i)
{
	struct adv_calendar_event event = e[i];

	for (; i > 0 && comes_before(&event, &e[i - 1]); i--)
		e[i] = e[i - 1];
	e[i] = event;
}

/* Sorts n events. `spare` has room for half as many. */
static void sort_events(struct adv_calendar_event *e, struct adv_calendar_event *spare, uint32_t n)
{
	uint32_t half = n / 2, i = 0, k = 0, other = half;

	if (n <= FEW) {
		for (i = 1; i < n; i++)
			sort_in(e, i);
		return;
	}
	sort_events(e, spare, half);
	sort_events(e + half, spare, n - half);
	if (comes_before(&e[half - 1], &e[half]))
		return;
	memcpy(spare, e, half * sizeof(*e));
	while (i < half && other < n) {
		bool later = comes_before(&e[other], &spare[i]);

		e[k++] = later ? e[other] : spare[i];
		other += later;
		i += !later;
	}
	memcpy(&e[k], &spare[i], (half - i) * sizeof(*e));
}

/* ---- the near events ---- */

static bool near_add(struct adv_calendar *c, uint64_t at, uint32_t what)
{
	struct adv_calendar_event event = {.at = at, .what = what}, *p;

	if (c->first == c->buffer && !near_reserve(c, 2 * near_room(c)))
		return false;
	for (p = c->first; p < c->end && comes_before(p, &event); p++)
		p[-1] = *p;
	p[-1] = event;
	c->first--;
	return true;
}

/* ---- the ring ---- */

/* Returns the index of the first word of `filled` with events, from word `from` on, around the
 * ring. The ring is not empty. */
static uint32_t next_word(const struct adv_calendar *c, uint32_t from)
{
	uint32_t i = from;
	uint64_t used;

	for (; i % 8; i++)
		if (c->used[i])
			return i;
	for (;; i += 8) {
		i %= WORDS;
		memcpy(&used, &c->used[i], 8);
		if (used)
			break;
	}
	while (!c->used[i])
		i++;
	return i;
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

/* Copies the events of a list, in order, to the end of the buffer, and frees its nodes. Returns the
 * first of them. The list begins with the event that was added last; it is mostly the last one in
 * order, too. */
static inline struct adv_calendar_event *copy_list(struct adv_calendar *c, uint32_t list)
{
	struct adv_calendar_event *first = c->end - 1;
	struct adv_calendar_event *nodes = c->node, *node = &nodes[list];
	bool in_order = true;

	*first = *node;
	while (node->next != NO_NODE) {
		node = &nodes[node->next];
		first--;
		*first = *node;
		in_order &= comes_before(first, first + 1);
	}
	node->next = c->free_node;
	c->free_node = list;
	c->in_ring -= (uint64_t)(c->end - first);
	if (!in_order)
		sort_events(first, c->buffer, (uint32_t)(c->end - first));
	return first;
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

/* Moves the events before bucket cursor + BUCKETS from the heap to the ring. */
static __attribute__((noinline)) bool bring_near(struct adv_calendar *c)
{
	while (c->far_next - c->cursor < BUCKETS && c->far_next != NO_BUCKET) {
		const struct adv_calendar_event *first = adv_heap_first(&c->far, &far_kind);

		if (c->free_node == NO_NODE && !grow_nodes(c))
			return false;
		adv_calendar_add_to_ring(c, first->at, first->what);
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
	if (bucket - c->cursor >= BUCKETS)
		return far_add(c, at, what);
	return (c->free_node != NO_NODE || grow_nodes(c)) && adv_calendar_add_to_ring(c, at, what);
}

/* Lets all further calls of adv_calendar_peek() call adv_calendar_load(), which returns false. */
static bool fail_calendar(struct adv_calendar *c)
{
	c->failed = true;
	c->few = NULL;
	return false;
}

/* Moves the first of the later events to the ring, which is empty. False: there is none, or it is
 * later than the bucket of `until`, or there is no memory. */
static bool bring_first(struct adv_calendar *c, uint64_t until)
{
	if (c->far_next == NO_BUCKET || c->far_next > bucket_of(c, until))
		return false;
	c->cursor = c->far_next - 1;
	return bring_near(c) || fail_calendar(c);
}

/* Moves the events of bucket c->next, which becomes the cursor's, to the near ones. These are
 * `left`, at most ADV_CALENDAR_SOON. False: no memory. */
static inline bool load_bucket(struct adv_calendar *c, uint32_t left)
{
	uint32_t b = (uint32_t)c->next & (BUCKETS - 1);
	struct adv_calendar_event before[ADV_CALENDAR_SOON];

	if (left)
		memcpy(before, c->end - ADV_CALENDAR_SOON, sizeof(before));
	c->first = copy_list(c, c->head[b]);
	if (left)
		memcpy(c->first - ADV_CALENDAR_SOON, before, sizeof(before));
	c->first -= left;
	c->head[b] = NO_NODE;
	c->filled[b / 64] &= ~(1ull << (b % 64));
	c->used[b / 64] = c->filled[b / 64] != 0;
	c->cursor = c->next;
	c->next = next_bucket(c);
	return c->far_next - c->cursor >= BUCKETS || bring_near(c) || fail_calendar(c);
}

/* Loads buckets until c->soon events are near. False: no memory. */
static __attribute__((noinline)) bool load_soon(struct adv_calendar *c)
{
	uint64_t last = bucket_of(c, c->first->at + AHEAD);

	while (c->next <= last && c->first > c->few)
		if (!load_bucket(c, near_left(c)))
			return false;
	return true;
}

bool adv_calendar_load(struct adv_calendar *c, uint64_t until)
{
	if (c->failed)
		return false;
	if (c->first == c->end) {
		if (c->next == NO_BUCKET && !bring_first(c, until))
			return false;
		if (c->next > bucket_of(c, until) || !load_bucket(c, 0))
			return false;
	}
	return c->first <= c->few || load_soon(c);
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
		return c->first->at;
	if (c->next != NO_BUCKET)
		return first_in_ring(c);
	return far ? far->at : ADV_CALENDAR_NEVER;
}

bool adv_calendar_failed(const struct adv_calendar *c)
{
	return c->failed;
}
