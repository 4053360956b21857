/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Deadlines in a binary heap. A timer that is moved later or cancelled stays where it stands
 * and is put right when its old time comes: acknowledgements move retransmission timers all
 * the time, and that costs one store.
 */
#include <stdlib.h>

#include "transport/internal.h"

#define HEAP_MIN 16u

/* heap->room is how many timers were reserved; the allocation follows it in powers of two. */
static uint32_t allocation(uint32_t room)
{
	uint32_t n = HEAP_MIN;

	while (n < room + 1) /* slot[0] is not used */
		n *= 2;
	return n;
}

static void place(struct adv_timer_heap *h, uint32_t i, struct adv_timer *t)
{
	h->slot[i] = t;
	t->position = i;
}

static void sift_up(struct adv_timer_heap *h, struct adv_timer *t)
{
	uint32_t i = t->position;

	while (i > 1 && h->slot[i / 2]->in_heap > t->in_heap) {
		place(h, i, h->slot[i / 2]);
		i /= 2;
	}
	place(h, i, t);
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
		place(h, i, h->slot[child]);
		i = child;
	}
	place(h, i, t);
}

static void take_out(struct adv_timer_heap *h, struct adv_timer *t)
{
	struct adv_timer *last = h->slot[h->count];
	uint32_t i = t->position;

	assert(h->slot[i] == t);
	h->count--;
	t->position = 0;
	if (last == t)
		return;
	place(h, i, last);
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

int adv_timers_reserve(struct adv_engine *e)
{
	struct adv_timer_heap *h = &e->timers;
	uint32_t n = allocation(h->room + 1);

	if (!h->slot || n != allocation(h->room)) {
		struct adv_timer **slot = realloc(h->slot, n * sizeof(struct adv_timer *));

		if (!slot)
			return ENOMEM;
		h->slot = slot;
	}
	h->room++;
	return 0;
}

void adv_timers_release(struct adv_engine *e)
{
	struct adv_timer_heap *h = &e->timers;

	assert(h->room > h->count);
	if (--h->room > 0)
		return;
	free(h->slot);
	h->slot = NULL;
}

void adv_timer_set(struct adv_engine *e, struct adv_timer *t, uint64_t when)
{
	struct adv_timer_heap *h = &e->timers;

	t->when = when;
	if (when == ADV_NEVER)
		return;
	if (!t->position) {
		assert(h->count < h->room);
		t->in_heap = when;
		place(h, ++h->count, t);
		sift_up(h, t);
	} else if (when < t->in_heap) {
		t->in_heap = when;
		sift_up(h, t);
	}
}

void adv_timer_cancel(struct adv_engine *e, struct adv_timer *t)
{
	t->when = ADV_NEVER;
}

void adv_timer_remove(struct adv_engine *e, struct adv_timer *t)
{
	t->when = ADV_NEVER;
	if (t->position)
		take_out(&e->timers, t);
}

uint64_t adv_engine_firm_deadline(const struct adv_engine *e)
{
	return e->timers.count ? e->timers.slot[1]->in_heap : ADV_NEVER;
}

uint64_t adv_engine_deadline(const struct adv_engine *e)
{
	uint64_t firm = adv_engine_firm_deadline(e), ack;

	if (!adv_engine_acks_wait(e))
		return firm;
	ack = adv_ack_deadline(e);
	return ack < firm ? ack : firm;
}

bool adv_engine_acks_wait(const struct adv_engine *e)
{
	return !adv_list_empty(&e->delayed);
}

void adv_engine_expire(struct adv_engine *e, uint64_t now)
{
	struct adv_timer_heap *h = &e->timers;

	adv_ack_expire(e, now);
	while (h->count && h->slot[1]->in_heap <= now) {
		struct adv_timer *t = h->slot[1];

		if (t->when > now && t->when != ADV_NEVER) {
			t->in_heap = t->when;
			sift_down(h, t);
			continue;
		}
		take_out(h, t);
		if (t->when == ADV_NEVER)
			continue;
		t->when = ADV_NEVER;
		t->fire(e, t, now);
	}
}
