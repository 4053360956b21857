/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/cm/timer.h"

#include <errno.h>

static bool timer_before(const void *a, const void *b)
{
	return (*(struct adv_cm_timer *const *)a)->when < (*(struct adv_cm_timer *const *)b)->when;
}

static void timer_moved(void *element, uint32_t position)
{
	(*(struct adv_cm_timer **)element)->position = position;
}

static const struct adv_heap_kind timer_kind = {sizeof(struct adv_cm_timer *), timer_before,
						timer_moved};

int adv_cm_timers_reserve(struct adv_heap *h)
{
	return adv_heap_reserve_one(h, timer_kind.size) ? 0 : ENOMEM;
}

void adv_cm_timers_release(struct adv_heap *h)
{
	adv_heap_release_one(h);
}

void adv_cm_timer_set(struct adv_heap *h, struct adv_cm_timer *t, uint64_t when)
{
	t->when = when;
	if (when == ADV_CM_NEVER) {
		if (t->position)
			adv_heap_remove(h, &timer_kind, t->position);
	} else if (t->position) {
		adv_heap_update(h, &timer_kind, t->position);
	} else {
		adv_heap_add(h, &timer_kind, &t);
	}
}

struct adv_cm_timer *adv_cm_timers_first(const struct adv_heap *h)
{
	struct adv_cm_timer *const *first = adv_heap_first(h, &timer_kind);

	return first ? *first : NULL;
}
