/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Decides whether the background thread spins before it sleeps. */
#include "runtime/progress/spin.h"

#define US	       1000ull
#define SPIN_WORTH     (70 * US)   /* a longer sleep shows that a spin would have been in vain */
#define SPIN_LONGEST   (30 * US)   /* time without a packet after which the thread sleeps */
#define SPIN_TOTAL     (1000 * US) /* the thread must read notices and kicks */
#define SPIN_VAIN      4	   /* spins in vain, until the thread does not spin */
#define SPIN_SIGNS_MAX (1u << 14)

/*
 * The passive end of ib_write_bw makes no call while its peer writes: all packets are left to the
 * thread. If the thread sleeps after each burst of packets, the peer waits for a wake-up with each
 * of its windows: 5 to 40 us, which is often longer than the burst takes.
 *
 * The sign of such a program are ADV_PROGRESS_SPIN_SIGNS sleeps in a row that a packet ends within
 * SPIN_WORTH. From then on the thread looks for packets for SPIN_LONGEST before it sleeps. A spin
 * is in vain if no packet arrives during it. After SPIN_VAIN of them in a row the thread needs
 * twice as many signs as before. The thread does not spin while the program makes calls, because it
 * would only keep the program from running, nor while the processor is crowded.
 */
void adv_progress_spin_slept(struct adv_progress_spin *s, uint64_t now)
{
	s->short_sleeps = now - s->slept_at <= SPIN_WORTH ? s->short_sleeps + 1 : 0;
	if (s->short_sleeps < s->signs || s->active)
		return;
	s->vain = 0;
	s->active = true;
}

static void count_vain_spin(struct adv_progress_spin *s)
{
	if (++s->vain < SPIN_VAIN)
		return;
	s->active = false;
	s->short_sleeps = 0;
	if (s->signs < SPIN_SIGNS_MAX)
		s->signs *= 2;
}

static void count_good_spin(struct adv_progress_spin *s)
{
	s->vain = 0;
	if (s->signs > ADV_PROGRESS_SPIN_SIGNS)
		s->signs--;
}

bool adv_progress_spin_begins(struct adv_progress_spin *s, uint64_t now)
{
	if (!s->active)
		return false;
	s->since = s->look = now;
	s->until = now + SPIN_LONGEST;
	s->found = false;
	return true;
}

bool adv_progress_spin_goes_on(struct adv_progress_spin *s, uint64_t now, unsigned packets,
			       bool alone)
{
	s->look = now;
	if (packets) {
		s->found = true;
		s->until = now + SPIN_LONGEST;
	}
	if (now < s->until && now - s->since < SPIN_TOTAL && alone)
		return true;
	if (s->found)
		count_good_spin(s);
	else if (now >= s->until)
		count_vain_spin(s);
	return false;
}
