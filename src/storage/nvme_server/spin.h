/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Adaptive polling: how long a thread polls before it sleeps. A sleep costs both ends some 50 us.
 * If one end sleeps between two bursts, its wake-up makes the other end wait so long that it
 * sleeps, too, and the next burst is late again. So a thread that would have found work within
 * ADV_NVME_SPIN_LONGEST polls for longer before its next sleep; one that would not polls for
 * shorter. No clock: times come in.
 */
#ifndef ADV_STORAGE_NVME_SERVER_SPIN_H
#define ADV_STORAGE_NVME_SERVER_SPIN_H

#include <stdbool.h>
#include <stdint.h>

#define ADV_NVME_SPIN_FIRST   50000u  /* ns; the shortest, too */
#define ADV_NVME_SPIN_LONGEST 500000u /* ns */

struct adv_nvme_spin {
	uint64_t ns; /* a thread without work polls so long */
};

static inline void adv_nvme_spin_init(struct adv_nvme_spin *s)
{
	s->ns = ADV_NVME_SPIN_FIRST;
}

/* True if a thread that has had no work for `idle` ns polls on. */
static inline bool adv_nvme_spin_lasts(const struct adv_nvme_spin *s, uint64_t idle)
{
	return idle <= s->ns;
}

/* Learns from a sleep that has ended. idle: ns from the last work to the end of the sleep. */
static inline void adv_nvme_spin_slept(struct adv_nvme_spin *s, uint64_t idle)
{
	s->ns = idle <= ADV_NVME_SPIN_LONGEST ? s->ns * 2 : s->ns / 2;
	if (s->ns < ADV_NVME_SPIN_FIRST)
		s->ns = ADV_NVME_SPIN_FIRST;
	if (s->ns > ADV_NVME_SPIN_LONGEST)
		s->ns = ADV_NVME_SPIN_LONGEST;
}

#endif
