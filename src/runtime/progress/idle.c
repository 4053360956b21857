/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Plans the looks for packets of a program that polls in vain. A look at a socket is a system call
 * of some 0.3 us. A program that polls several transports in one loop would pay that for each
 * message of the others.
 *
 * Soon after traffic, each poll looks. After that, the time to the next look is a fraction of the
 * quiet time: a packet that arrives after a pause waits for that fraction of the pause at most, and
 * never for longer than longest_ns. A program that polls seldom, because it does other work or
 * waits for its processor between two polls, would look in each of them. It looks after some polls,
 * at the latest after a multiple of that time.
 *
 * The polls between two looks measure the time in ticks, which cost less than the clock. How many
 * ticks a ns has is measured anew in each quiet time. A thread that is preempted between the
 * readings of the two makes them fewer: it looks too early, never too late.
 */
#include "runtime/progress/idle.h"

#include "base/number.h"

void adv_idle_begin(struct adv_idle *idle, const struct adv_lock *lock,
		    const struct adv_progress *progress, uint64_t now, uint64_t until,
		    unsigned activity)
{
	adv_idle_store(&idle->uses, adv_lock_uses(lock));
	atomic_store_explicit(&idle->state, adv_progress_state(progress), memory_order_relaxed);
	adv_idle_store(&idle->gap, 0);
	idle->until = until;
	if (idle->activity == activity && idle->heard_ns)
		return;
	idle->activity = activity;
	idle->heard_ns = now;
	idle->heard = adv_ticks(); /* later than `now` */
	idle->rate_ns = 0;
}

/* Compares ticks and ns since the last traffic. */
static void measure_rate(struct adv_idle *idle, uint32_t ticks, uint64_t quiet_ns)
{
	if (quiet_ns <= ADV_IDLE_MEASURE_NS) {
		idle->rate_ticks = ticks - idle->heard;
		idle->rate_ns = (uint32_t)quiet_ns;
	}
}

void adv_idle_plan(struct adv_idle *idle, uint32_t ticks, uint64_t now, uint64_t longest_ns)
{
	uint64_t quiet_ns = now - idle->heard_ns, gap_ns;

	if (quiet_ns < ADV_IDLE_HOT_NS)
		return;
	measure_rate(idle, ticks, quiet_ns);
	if (!idle->rate_ns) { /* the program was away: begin anew */
		idle->heard_ns = now;
		idle->heard = adv_ticks(); /* later than `now` */
		return;
	}
	gap_ns = adv_number_min(quiet_ns / ADV_IDLE_PART, longest_ns);
	/* Also the looks of a program that polls seldom are ahead of the first timer. */
	gap_ns = adv_number_min(gap_ns,
				idle->until > now ? (idle->until - now) / ADV_IDLE_SPARSE : 0);
	adv_idle_store(&idle->looked, ticks);
	adv_idle_store(&idle->polled, ticks);
	adv_idle_store(&idle->polls, 0);
	adv_idle_store(&idle->gap, (uint32_t)(gap_ns * idle->rate_ticks / idle->rate_ns));
}

uint64_t adv_idle_last_poll(const struct adv_idle *idle, uint32_t ticks, uint64_t now,
			    uint64_t looked_at)
{
	uint64_t since;

	if (!adv_idle_load(&idle->gap) || !idle->rate_ticks ||
	    now - looked_at > ADV_IDLE_MEASURE_NS)
		return looked_at;
	since = (uint64_t)(ticks - adv_idle_load(&idle->polled)) * idle->rate_ns / idle->rate_ticks;
	return now - since > looked_at ? now - since : looked_at;
}
