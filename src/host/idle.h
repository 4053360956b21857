/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Remembers that a poll has found nothing and has left nothing to be done. Until the device's lock
 * is acquired for something else, the next empty poll need not find that out again. The caller
 * holds the lock.
 */
#ifndef ADV_HOST_IDLE_H
#define ADV_HOST_IDLE_H

#include "host/lock.h"
#include "host/progress.h"

struct adv_idle {
	uint32_t next; /* adv_lock.uses during the next poll, if no other call comes in between */
	enum adv_progress_state state;
	uint64_t until; /* time of the first timer */
};

/* Notes a poll that has found nothing. until: time at which there is something to do. */
static inline void adv_idle_begin(struct adv_idle *idle, const struct adv_lock *lock,
				  const struct adv_progress *progress, uint64_t until)
{
	*idle = (struct adv_idle){lock->uses + 1, adv_progress_state(progress), until};
}

/* True if nothing but empty polls has used the device since adv_idle_begin(). The background thread
 * changes the state without the lock. */
static inline bool adv_idle_lasts(const struct adv_idle *idle, const struct adv_lock *lock,
				  const struct adv_progress *progress)
{
	return lock->uses == idle->next && adv_progress_state(progress) == idle->state;
}

/* Notes one more such poll. */
static inline void adv_idle_continues(struct adv_idle *idle)
{
	idle->next++;
}

#endif
