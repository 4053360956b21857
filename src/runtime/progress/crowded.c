/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds out whether a polling program shares its processor with others. */
#include "runtime/progress/poll.h"

#define US		1000ull
#define MS		(1000 * US)

#define LONG_SPIN	(100 * US) /* shortest spin that can show a crowded processor */
#define LONG_POLL	(20 * US)  /* ns between two polls of a program that does not spin */
#define CROWDED_FIRST	(100 * MS)
#define CROWDED_LONGEST (1600 * MS)

/*
 * Spinning is right while a processor is free. On a crowded processor it has two disadvantages:
 * - It keeps the peer from running, which may need the same processor to respond.
 * - It uses up the program's share of the processor, so that the program does not run when a packet
 *   arrives. A sleeping thread, in contrast, is scheduled soon after a packet has woken it.
 *
 * After a loop has polled without a packet for LONG_SPIN, two signs show a crowded processor:
 * - The next poll comes later than ADV_PROGRESS_PREEMPTED after the last one.
 * - The next poll comes a little late and finds packets: the sender ran in between.
 *
 * A program that polls a few times between computations shows neither sign.
 *
 * For CROWDED_FIRST the loop then sleeps instead of spinning. After that it spins again as a test.
 * If the signs are still there, it sleeps for twice as long.
 */
void adv_progress_assume_crowded(struct adv_progress *p, uint64_t now)
{
	if (now - p->crowded_till > p->crowded_for)
		p->crowded_for = CROWDED_FIRST;
	else if (p->crowded_for < CROWDED_LONGEST)
		p->crowded_for *= 2;
	p->crowded_till = now + p->crowded_for;
}

void adv_progress_paused(struct adv_progress *p, uint64_t last, uint64_t now)
{
	/* If `found` is set, the program has polled after `last`. The background thread may have
	 * recorded that poll. */
	bool loop_paused =
		last && last <= now && !atomic_load_explicit(&p->found, memory_order_relaxed);
	uint64_t spin = last - p->vain_since;
	/* Some polls between computations are no spin, however long they take together. */
	bool long_spin = spin >= LONG_SPIN && spin < p->vain * LONG_POLL;

	adv_progress_reset_vain(p); /* a new polling loop begins */
	p->vain_since = now;
	if (!loop_paused || !long_spin)
		return;
	p->paused_at = now;
	if (now - last > ADV_PROGRESS_PREEMPTED)
		adv_progress_assume_crowded(p, now);
}

void adv_progress_found_after_pause(struct adv_progress *p, uint64_t now)
{
	if (now >= p->crowded_till)
		adv_progress_assume_crowded(p, now);
}
