/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Decides whether the background thread spins before it sleeps. The caller holds the device's lock;
 * times are in ns of one monotonic clock. */
#ifndef ADV_RUNTIME_PROGRESS_SPIN_H
#define ADV_RUNTIME_PROGRESS_SPIN_H

#include <stdbool.h>
#include <stdint.h>

/* Short sleeps of the background thread in a row, until it spins before it sleeps: first value */
#define ADV_PROGRESS_SPIN_SIGNS 8

struct adv_progress_spin {
	uint64_t slept_at;     /* time when the thread last went to sleep */
	uint64_t since;	       /* time when the spin began */
	uint64_t look;	       /* time of its last look for packets */
	uint64_t until;	       /* time when it ends if no packet arrives */
	unsigned short_sleeps; /* consecutive short sleeps that ended with a packet */
	unsigned signs;	       /* value of short_sleeps from which on the thread spins */
	unsigned vain;	       /* consecutive spins in vain */
	bool active;	       /* the thread spins before it sleeps */
	bool found;	       /* a packet arrived during this spin */
};

/* Records that a packet woke the thread at `now`, while the sockets were armed. */
void adv_progress_spin_slept(struct adv_progress_spin *s, uint64_t now);

/* True if the thread should spin. */
bool adv_progress_spin_begins(struct adv_progress_spin *s, uint64_t now);
/* Records a look of the spin at `now`, which found `packets` packets. alone: the program has made
 * no call since. True if another look should follow. */
bool adv_progress_spin_goes_on(struct adv_progress_spin *s, uint64_t now, unsigned packets,
			       bool alone);

#endif
