/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A timer that is cancelled or moved to a later time keeps its place in the heap until its old
 * time. Then its place is corrected. Acknowledgements move retransmission timers very often; so
 * each move costs only one store.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "transport/timer.h"

#define HEAP_MIN 16u

/* Returns the number of slots to allocate for `room` reserved timers, a power of two. */
static uint32_t slots_for(uint32_t room)
{
	uint32_t n = HEAP_MIN;

	while (n < room + 1) /* slot[0] is not used */
		n *= 2;
	return n;
}

/* Publishes the earliest key after the heap has changed. */
static void publish_earliest(struct adv_timer_heap *h)
{
	*h->earliest = h->count ? h->slot[1]->in_heap : ADV_NEVER;
}

static void place_in_heap(struct adv_timer_heap *h, uint32_t i, struct adv_timer *t)
{
	h->slot[i] = t;
	t->position = i;
}

static void sift_up(struct adv_timer_heap *h, struct adv_timer *t)
{
	uint32_t i = t->position;

	while (i > 1 && h->slot[i / 2]->in_heap > t->in_heap) {
		place_in_heap(h, i, h->slot[i / 2]);
		i /= 2;
	}
	place_in_heap(h, i, t);
}

static void sift_down(struct adv_timer_heap *h, struct adv_timer *t)
{
	uint32_t i = t->position;

	while (2 * i <= h->count) {
		uint32_t child = 2 * i;

		if (child < h->count && h->slot[child + 1]->in_heap < h->slot[child]->in_heap)
			child++;
		if (h->slot[child]->in_heap >= t->in_heap)
			break;
		place_in_heap(h, i, h->slot[child]);
		i = child;
	}
	place_in_heap(h, i, t);
}

static void remove_from_heap(struct adv_timer_heap *h, struct adv_timer *t)
{
	struct adv_timer *last = h->slot[h->count];
	uint32_t i = t->position;

	assert(h->slot[i] == t);
	h->count--;
	t->position = 0;
	if (last == t)
		return;
	place_in_heap(h, i, last);
	sift_up(h, last);
	sift_down(h, last);
}

void adv_timer_init(struct adv_timer *t, adv_timer_fn *fire)
{
	t->fire = fire;
	t->when = ADV_NEVER;
	t->in_heap = ADV_NEVER;
	t->position = 0;
}

int adv_timers_reserve(struct adv_timer_heap *h)
{
	uint32_t n = slots_for(h->room + 1);

	if (!h->slot || n != slots_for(h->room)) {
		struct adv_timer **slot = realloc(h->slot, n * sizeof(struct adv_timer *));

		if (!slot)
			return ENOMEM;
		h->slot = slot;
	}
	h->room++;
	return 0;
}

void adv_timers_release(struct adv_timer_heap *h)
{
	assert(h->room > h->count);
	if (--h->room == 0)
		adv_timers_free(h);
}

void adv_timers_free(struct adv_timer_heap *h)
{
	free(h->slot);
	h->slot = NULL;
}

void adv_timer_set(struct adv_timer_heap *h, struct adv_timer *t, uint64_t when)
{
	t->when = when;
	if (when == ADV_NEVER)
		return;
	if (!t->position) {
		assert(h->count < h->room);
		t->in_heap = when;
		place_in_heap(h, ++h->count, t);
	} else if (when < t->in_heap) {
		t->in_heap = when;
	} else {
		return;
	}
	sift_up(h, t);
	publish_earliest(h);
}

void adv_timer_remove(struct adv_timer_heap *h, struct adv_timer *t)
{
	t->when = ADV_NEVER;
	if (!t->position)
		return;
	remove_from_heap(h, t);
	publish_earliest(h);
}

void adv_timers_expire(struct adv_timer_heap *h, struct adv_engine *e, uint64_t now)
{
	while (h->count && h->slot[1]->in_heap <= now) {
		struct adv_timer *t = h->slot[1];

		if (t->when > now && t->when != ADV_NEVER) {
			t->in_heap = t->when;
			sift_down(h, t);
			continue;
		}
		remove_from_heap(h, t);
		if (t->when == ADV_NEVER)
			continue;
		t->when = ADV_NEVER;
		t->fire(e, t, now);
	}
	publish_earliest(h);
}
