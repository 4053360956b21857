/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The polls of a program, for progress.h: inline, as polls that find nothing are its most frequent
 * calls. The caller holds the device's lock. */
#ifndef ADV_RUNTIME_PROGRESS_POLL_H
#define ADV_RUNTIME_PROGRESS_POLL_H

#include "runtime/progress/state.h"

/* Records a poll of a polling loop at `now`. */
static inline void adv_progress_polled(struct adv_progress *p, uint64_t now)
{
	atomic_store_explicit(&p->last_poll, now, memory_order_relaxed);
}

/* Returns the time of the last poll that was recorded. */
static inline uint64_t adv_progress_last_poll(const struct adv_progress *p)
{
	return atomic_load_explicit(&p->last_poll, memory_order_relaxed);
}

/* Handles a late poll: a polling loop polls at `now`, long after its last poll at `last`. */
void adv_progress_paused(struct adv_progress *p, uint64_t last, uint64_t now);
/* Records that other processes need the processor: the program does not spin for some time. */
void adv_progress_assume_crowded(struct adv_progress *p, uint64_t now);
/* Records that the late poll at `now` found packets. */
void adv_progress_found_after_pause(struct adv_progress *p, uint64_t now);

/* As adv_progress_polled(), for a poll at whose end adv_progress_poll_ends() is called. */
static inline void adv_progress_poll_begins(struct adv_progress *p, uint64_t now)
{
	uint64_t last = adv_progress_last_poll(p);

	adv_progress_polled(p, now);
	if (now - last > ADV_PROGRESS_PAUSE && p->vain > ADV_PROGRESS_SPINS)
		adv_progress_paused(p, last, now);
}

/* True if a polling loop is assumed to share its processor with others at `now`. */
static inline bool adv_progress_is_crowded(const struct adv_progress *p, uint64_t now)
{
	return now < p->crowded_till;
}

/* True if a polling loop should sleep between its polls at `now`. */
static inline bool adv_progress_may_nap(const struct adv_progress *p, uint64_t now)
{
	return adv_progress_is_crowded(p, now) && adv_progress_nap_permitted(&p->nap);
}

/* Ends a poll that received `packets` packets. True if the program should call
 * adv_progress_backs_off() and sleep before it polls again. */
static inline bool adv_progress_poll_ends(struct adv_progress *p, uint64_t now, unsigned packets)
{
	if (packets) {
		if (p->paused_at == now)
			adv_progress_found_after_pause(p, now);
		adv_progress_reset_vain(p);
		if (adv_progress_nap_heeds(&p->nap, packets))
			adv_progress_nap_polled(&p->nap, packets);
		return false;
	}
	if (p->vain++ == 0) {
		p->vain_since = now;
		if (adv_progress_nap_heeds(&p->nap, 0))
			adv_progress_nap_polled(&p->nap, 0);
	}
	return adv_progress_may_nap(p, now) && p->vain > ADV_PROGRESS_SPINS;
}

/* Records that a polling loop found completions, so that it did not receive packets. */
static inline void adv_progress_found(struct adv_progress *p)
{
	atomic_store_explicit(&p->found, true, memory_order_relaxed);
}

/* Records that a call sent packets at `now`. */
static inline void adv_progress_posted(struct adv_progress *p, uint64_t now)
{
	p->looped = false;
	p->vain = 0;
	if (atomic_load_explicit(&p->found, memory_order_relaxed)) {
		atomic_store_explicit(&p->found, false, memory_order_relaxed);
		adv_progress_polled(p, now);
	}
	atomic_store_explicit(&p->last_post, now, memory_order_relaxed);
}

#endif
