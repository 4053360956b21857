/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Timers of one engine, in a heap. Room for each timer is reserved in advance, so that setting a
 * timer never fails. The earliest key in the heap, a time before which no timer fires, is
 * published in *earliest.
 */
#ifndef ADV_NIC_ENGINE_TIMER_H
#define ADV_NIC_ENGINE_TIMER_H

#include <stdint.h>

#include "base/heap.h"
#include "nic/engine/engine.h"

struct adv_timer;
typedef void adv_timer_fn(struct adv_engine *e, struct adv_timer *t, uint64_t now);

struct adv_timer {
	adv_timer_fn *fire;
	uint64_t when;	   /* ADV_NEVER: not set */
	uint64_t in_heap;  /* key in the heap: at most `when`; ADV_NEVER: not in the heap */
	uint32_t position; /* index in the heap; 0: the timer is not in the heap */
};

struct adv_timer_heap {
	struct adv_heap heap; /* of pointers to timers */
	uint64_t *earliest;   /* adv_engine_front.timers */
};

void adv_timer_init(struct adv_timer *t, adv_timer_fn *fire);

/* Reserves room for one timer. Each timer that may be set needs one reservation. Returns 0 or
 * ENOMEM. */
int adv_timers_reserve(struct adv_timer_heap *h);
/* Releases one reservation. The last release frees the memory. */
void adv_timers_release(struct adv_timer_heap *h);

/* For adv_timer_set(): changes the key in the heap to an earlier time. */
void adv_timer_advance(struct adv_timer_heap *h, struct adv_timer *t, uint64_t when);

/* Sets or moves the timer. A move to a later time only stores the time; the heap is corrected when
 * the earlier time is reached. */
static inline void adv_timer_set(struct adv_timer_heap *h, struct adv_timer *t, uint64_t when)
{
	t->when = when;
	if (when < t->in_heap)
		adv_timer_advance(h, t, when);
}

/* Removes the timer from the heap. Call it before the timer's object is freed. */
void adv_timer_remove(struct adv_timer_heap *h, struct adv_timer *t);

/* Cancels the timer, so that it does not fire. It stays in the heap until the time of its key. */
static inline void adv_timer_cancel(struct adv_timer *t)
{
	t->when = ADV_NEVER;
}

/* Returns the timer at a position of the heap, from 1. */
static inline struct adv_timer *adv_timer_at(const struct adv_timer_heap *h, uint32_t position)
{
	assert(position <= h->heap.count);
	return ((struct adv_timer **)(void *)h->heap.slot)[position];
}

/* Calls the functions of all due timers. These functions may set timers. */
void adv_timers_expire(struct adv_timer_heap *h, struct adv_engine *e, uint64_t now);

#endif
