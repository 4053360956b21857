/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Timers in a heap. Room for each timer is reserved in advance, so that setting a timer never
 * fails. */
#ifndef ADV_NIC_CM_TIMER_H
#define ADV_NIC_CM_TIMER_H

#include <stdint.h>

#include "base/heap.h"

#define ADV_CM_NEVER UINT64_MAX

struct adv_cm_timer {
	uint64_t when;
	uint32_t position; /* in the heap, from 1; 0: not running */
};

/* Reserves room for one more timer. Returns 0 or ENOMEM. */
int adv_cm_timers_reserve(struct adv_heap *h);
/* Releases the reservation of one timer. The last release frees the memory. */
void adv_cm_timers_release(struct adv_heap *h);

/* Starts or moves the timer; ADV_CM_NEVER stops it. */
void adv_cm_timer_set(struct adv_heap *h, struct adv_cm_timer *t, uint64_t when);

/* Returns the earliest timer, which keeps running; NULL: none runs. */
struct adv_cm_timer *adv_cm_timers_first(const struct adv_heap *h);

#endif
