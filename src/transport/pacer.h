/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sending no faster than a rate, without a timer a packet: packets go as long as the time has come
 * at which all before them would have left at the rate. Who is late makes up for it, by a burst at
 * most; who has to wait is told when it is worth coming again.
 *
 * Rates are in kb/s (10^3 bits), at least 1; times in ns.
 */
#ifndef ADV_TRANSPORT_PACER_H
#define ADV_TRANSPORT_PACER_H

#include <stdbool.h>
#include <stdint.h>

/* All zero: nothing was sent yet. */
struct adv_pacer {
	uint64_t due;  /* when the next packet may go */
	uint64_t rest; /* of a division: what is due beyond, less than a ns */
};

static inline bool adv_pacer_open(const struct adv_pacer *p, uint64_t now)
{
	return p->due <= now;
}

/* ns that so many bytes take. */
uint64_t adv_pacer_ns(uint64_t bytes, uint64_t kbps);

/* A packet of so many bytes has gone. `burst`: bytes by which lost time is made up for at most. */
void adv_pacer_charge(struct adv_pacer *p, uint64_t bytes, uint64_t kbps, uint64_t burst,
		      uint64_t now);

/* The rate is another from `at` on: what is still to be waited for is as many bytes as before. */
void adv_pacer_change(struct adv_pacer *p, uint64_t old_kbps, uint64_t kbps, uint64_t at);

/* Bytes beyond the next packet that may go now, where it is open. */
uint64_t adv_pacer_credit(const struct adv_pacer *p, uint64_t kbps, uint64_t burst, uint64_t now);

/* When to come again, where it is not open: when half a burst can go at once, but no more than
 * 100 us after the next packet could. */
uint64_t adv_pacer_wake(const struct adv_pacer *p, uint64_t kbps, uint64_t burst);

#endif
