/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Learns whether a polling program on a crowded processor may sleep until a packet arrives. The
 * caller holds the device's lock.
 */
#ifndef ADV_RUNTIME_PROGRESS_NAP_H
#define ADV_RUNTIME_PROGRESS_NAP_H

#include <stdbool.h>
#include <stdint.h>

#define ADV_PROGRESS_NAP_PRICE	   1	   /* packets; lowest value of `price` */
#define ADV_PROGRESS_NAP_BUDGET_NS 1000000 /* lowest value of budget_ns */

struct adv_progress_nap {
	unsigned due;	    /* packets that have to arrive before the program may sleep */
	unsigned price;	    /* next value of `due` if sleeps are in vain */
	uint64_t slept_ns;  /* the last sleep; 0: the poll after it has shown what it was worth */
	uint64_t vain_ns;   /* sleeps since a packet last ended one */
	uint64_t budget_ns; /* value of vain_ns at which the program loses the right to sleep */
};

#define ADV_PROGRESS_NAP_START                                                                     \
	{                                                                                          \
		.due = ADV_PROGRESS_NAP_PRICE, .price = ADV_PROGRESS_NAP_PRICE,                    \
		.budget_ns = ADV_PROGRESS_NAP_BUDGET_NS                                            \
	}

/* True if the program may sleep. */
static inline bool adv_progress_nap_permitted(const struct adv_progress_nap *n)
{
	return n->due == 0;
}

/* True if adv_progress_nap_polled() has to be called for a poll with this number of packets. */
static inline bool adv_progress_nap_heeds(const struct adv_progress_nap *n, unsigned packets)
{
	return n->slept_ns || (packets && n->due);
}

/* Records a sleep of slept_ns, which is not 0. A poll follows. */
static inline void adv_progress_nap_slept(struct adv_progress_nap *n, uint64_t slept_ns)
{
	n->slept_ns = slept_ns;
}

/* Records a poll that received `packets` packets: it judges the sleep before it. */
void adv_progress_nap_polled(struct adv_progress_nap *n, unsigned packets);

#endif
