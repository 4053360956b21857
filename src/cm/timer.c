/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "cm/timer.h"

int adv_cm_timers_reserve(struct adv_cm_timers *h)
{
	if (h->reserved + 1 >= h->allocated) {
		uint32_t n = h->allocated ? 2 * h->allocated : 16;
		struct adv_cm_timer **slot = realloc(h->slot, n * sizeof(struct adv_cm_timer *));

		if (!slot)
			return ENOMEM;
		h->slot = slot;
		h->allocated = n;
	}
	h->reserved++;
	return 0;
}

void adv_cm_timers_release(struct adv_cm_timers *h)
{
	assert(h->reserved > h->count);
	if (--h->reserved > 0)
		return;
	free(h->slot);
	h->slot = NULL;
	h->allocated = 0;
}

static void put_in_heap(struct adv_cm_timers *h, uint32_t i, struct adv_cm_timer *t)
{
	h->slot[i] = t;
	t->position = i;
}

static void sift_up(struct adv_cm_timers *h, struct adv_cm_timer *t)
{
	uint32_t i = t->position;

	for (; i > 1 && h->slot[i / 2]->when > t->when; i /= 2)
		put_in_heap(h, i, h->slot[i / 2]);
	put_in_heap(h, i, t);
}

static void sift_down(struct adv_cm_timers *h, struct adv_cm_timer *t)
{
	uint32_t i = t->position;

	while (2 * i <= h->count) {
		uint32_t child = 2 * i;

		if (child < h->count && h->slot[child + 1]->when < h->slot[child]->when)
			child++;
		if (h->slot[child]->when >= t->when)
			break;
		put_in_heap(h, i, h->slot[child]);
		i = child;
	}
	put_in_heap(h, i, t);
}

static void stop_timer(struct adv_cm_timers *h, struct adv_cm_timer *t)
{
	struct adv_cm_timer *last = h->slot[h->count--];
	uint32_t i = t->position;

	t->position = 0;
	if (last == t)
		return;
	put_in_heap(h, i, last);
	sift_up(h, last);
	sift_down(h, last);
}

void adv_cm_timer_set(struct adv_cm_timers *h, struct adv_cm_timer *t, uint64_t when)
{
	t->when = when;
	if (when == ADV_CM_NEVER) {
		if (t->position)
			stop_timer(h, t);
		return;
	}
	if (!t->position) {
		assert(h->count < h->reserved);
		put_in_heap(h, ++h->count, t);
	}
	sift_up(h, t);
	sift_down(h, t);
}

struct adv_cm_timer *adv_cm_timers_first(const struct adv_cm_timers *h)
{
	return h->count ? h->slot[1] : NULL;
}
