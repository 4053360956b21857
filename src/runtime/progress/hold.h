/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Learns whether a program may hold small requests, so that one system call sends several. The
 * caller holds the device's lock. */
#ifndef ADV_RUNTIME_PROGRESS_HOLD_H
#define ADV_RUNTIME_PROGRESS_HOLD_H

#include <stdbool.h>
#include <stdint.h>

#define ADV_PROGRESS_HOLD_COST 64 /* lowest value of `cost` */

struct adv_progress_hold {
	unsigned off;	      /* number of next small requests that are sent at once */
	unsigned cost;	      /* next value of `off` if a request is held too long */
	unsigned short_holds; /* consecutive holds that were not too long */
};

/* True if the next small request may be held. Counts that request. */
static inline bool adv_progress_hold_permits(struct adv_progress_hold *h)
{
	if (!h->off)
		return true;
	h->off--;
	return false;
}

/* Records that held requests are sent, after a hold of `ns`. */
void adv_progress_hold_ended(struct adv_progress_hold *h, uint64_t ns);

#endif
