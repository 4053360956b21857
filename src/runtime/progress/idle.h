/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Remembers that a poll has found nothing and has left nothing to be done. Until the device's lock
 * is acquired for something else, the next empty poll need not find that out again. In a quiet
 * time, such polls need not even look for packets: between two looks they read memory only, without
 * the lock.
 *
 * The caller holds the lock, except for functions that are marked UNLOCKED. The members that those
 * read are atomic.
 */
#ifndef ADV_RUNTIME_PROGRESS_IDLE_H
#define ADV_RUNTIME_PROGRESS_IDLE_H

#include "base/ticks.h"
#include "runtime/progress/lock.h"
#include "runtime/progress/poll.h"

#define ADV_IDLE_HOT_NS	    8000       /* without traffic for so long, a time is quiet */
#define ADV_IDLE_PART	    32	       /* two looks are this part of the quiet time apart ... */
#define ADV_IDLE_POLLS	    32	       /* ... and so many polls, ... */
#define ADV_IDLE_SPARSE	    4	       /* ... or so many times that time */
#define ADV_IDLE_MEASURE_NS 100000000u /* longest time in which ticks are compared with ns */

struct adv_idle {
	atomic_uint uses; /* adv_lock.uses since the poll that found nothing */
	_Atomic enum adv_progress_state state;
	atomic_uint looked; /* ticks of the last look for packets */
	atomic_uint gap;    /* ticks until the next look; 0: each poll looks */
	atomic_uint polls;  /* since the last look */
	atomic_uint polled; /* ticks of the last poll without a look */

	uint64_t until;	     /* time of the first timer, ns */
	unsigned activity;   /* counter of packets at the last look */
	uint64_t heard_ns;   /* time at which the last traffic was noticed ... */
	uint32_t heard;	     /* ... and its ticks */
	uint32_t rate_ticks; /* so many ticks ... */
	uint32_t rate_ns;    /* ... have so many ns; 0: not known */
};

static inline uint32_t adv_idle_load(const atomic_uint *a)
{
	return atomic_load_explicit(a, memory_order_relaxed);
}

static inline void adv_idle_store(atomic_uint *a, uint32_t value)
{
	atomic_store_explicit(a, value, memory_order_relaxed);
}

/* Notes a poll that has found nothing, at `now`. until: time at which there is something to do.
 * activity: a counter of the packets in both directions. */
void adv_idle_begin(struct adv_idle *idle, const struct adv_lock *lock,
		    const struct adv_progress *progress, uint64_t now, uint64_t until,
		    unsigned activity);

/* True if nothing but empty polls has used the device since adv_idle_begin(). The background thread
 * changes the state without the lock. */
static inline bool adv_idle_lasts(const struct adv_idle *idle, const struct adv_lock *lock,
				  const struct adv_progress *progress)
{
	return adv_lock_uses(lock) == adv_idle_load(&idle->uses) + 1 &&
	       adv_progress_state(progress) ==
		       atomic_load_explicit(&idle->state, memory_order_relaxed);
}

/*
 * Plans the next look for packets after one at `now`, whose poll began at `ticks`. longest_ns: time
 * between two looks of a program that spins, at most. The looks come closer together if a timer is
 * due.
 */
void adv_idle_plan(struct adv_idle *idle, uint32_t ticks, uint64_t now, uint64_t longest_ns);

/* Returns the time of the last poll, which may have been one without a look, for a poll that began
 * at `ticks` and `now`. looked_at: time of the last look. */
uint64_t adv_idle_last_poll(const struct adv_idle *idle, uint32_t ticks, uint64_t now,
			    uint64_t looked_at);

/* True if a poll of a CQ would find nothing: nothing has used the device since the CQ was found
 * empty, at adv_lock.uses == empty_at, and no look for packets is due. Then records the poll.
 * UNLOCKED */
static inline bool adv_idle_is_quiet(struct adv_idle *idle, const struct adv_lock *lock,
				     const struct adv_progress *progress, uint32_t empty_at)
{
	uint32_t uses = adv_lock_uses(lock), ticks, gap, polls;

	if (uses != empty_at || uses != adv_idle_load(&idle->uses) ||
	    adv_progress_state(progress) !=
		    atomic_load_explicit(&idle->state, memory_order_relaxed))
		return false;
	ticks = adv_ticks();
	gap = ticks - adv_idle_load(&idle->looked);
	polls = adv_idle_load(&idle->polls) + 1;
	if (gap >= adv_idle_load(&idle->gap) &&
	    (polls >= ADV_IDLE_POLLS || gap >= ADV_IDLE_SPARSE * adv_idle_load(&idle->gap)))
		return false;
	adv_idle_store(&idle->polls, polls);
	adv_idle_store(&idle->polled, ticks);
	return true;
}

#endif
