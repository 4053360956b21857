/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A timer that is cancelled or moved to a later time keeps its place in the heap until its old
 * time. Then its place is corrected. Acknowledgements move retransmission timers very often; so
 * each move costs only one store.
 */
#include "nic/engine/timer.h"

#include <errno.h>

static bool timer_before(const void *a, const void *b)
{
	return (*(struct adv_timer *const *)a)->in_heap < (*(struct adv_timer *const *)b)->in_heap;
}

static void timer_moved(void *element, uint32_t position)
{
	(*(struct adv_timer **)element)->position = position;
}

static const struct adv_heap_kind timer_kind = {sizeof(struct adv_timer *), timer_before,
						timer_moved};

/* Publishes the earliest key after the heap has changed. */
static void publish_earliest(struct adv_timer_heap *h)
{
	*h->earliest = h->heap.count ? adv_timer_at(h, 1)->in_heap : ADV_NEVER;
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
	return adv_heap_reserve_one(&h->heap, timer_kind.size) ? 0 : ENOMEM;
}

void adv_timers_release(struct adv_timer_heap *h)
{
	adv_heap_release_one(&h->heap);
}

void adv_timer_advance(struct adv_timer_heap *h, struct adv_timer *t, uint64_t when)
{
	t->in_heap = when;
	if (t->position)
		adv_heap_update_earlier(&h->heap, &timer_kind, t->position);
	else
		adv_heap_add(&h->heap, &timer_kind, &t);
	publish_earliest(h);
}

void adv_timer_remove(struct adv_timer_heap *h, struct adv_timer *t)
{
	t->when = ADV_NEVER;
	if (!t->position)
		return;
	adv_heap_remove(&h->heap, &timer_kind, t->position);
	t->in_heap = ADV_NEVER;
	publish_earliest(h);
}

void adv_timers_expire(struct adv_timer_heap *h, struct adv_engine *e, uint64_t now)
{
	while (h->heap.count && adv_timer_at(h, 1)->in_heap <= now) {
		struct adv_timer *t = adv_timer_at(h, 1);

		if (t->when > now && t->when != ADV_NEVER) {
			t->in_heap = t->when;
			adv_heap_update(&h->heap, &timer_kind, 1);
			continue;
		}
		adv_heap_remove(&h->heap, &timer_kind, 1);
		t->in_heap = ADV_NEVER;
		if (t->when == ADV_NEVER)
			continue;
		t->when = ADV_NEVER;
		t->fire(e, t, now);
	}
	publish_earliest(h);
}
