/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Paces packets to a rate without a timer for each packet. A packet may be sent at the time at
 * which a link of this rate would have sent all packets before it. A late sender may catch up by at
 * most one burst. For an early sender, adv_pacer_wake() returns the time to try again.
 *
 * Rates are in kb/s (10^3 bits), at least 1; times in ns.
 */
#ifndef ADV_NIC_CONGESTION_PACER_H
#define ADV_NIC_CONGESTION_PACER_H

#include <stdbool.h>
#include <stdint.h>

/* State of a pacer. All zero: nothing was sent. */
struct adv_pacer {
	uint64_t due;  /* time at which the next packet may be sent */
	uint64_t rest; /* remainder of a division: less than a ns after `due` */
};

static inline bool adv_pacer_open(const struct adv_pacer *p, uint64_t now)
{
	return p->due <= now;
}

/* Returns the time that `bytes` take at `kbps`, ns. */
uint64_t adv_pacer_ns(uint64_t bytes, uint64_t kbps);

/* Counts a sent packet of `bytes`. `burst`: most bytes by which a late sender may catch up. */
void adv_pacer_charge(struct adv_pacer *p, uint64_t bytes, uint64_t kbps, uint64_t burst,
		      uint64_t now);

/* Changes the rate at time `at`. The wait until `due` keeps its number of bytes at the new rate. */
void adv_pacer_change(struct adv_pacer *p, uint64_t old_kbps, uint64_t kbps, uint64_t at);

/* Returns the bytes that may be sent now in addition to the next packet. The pacer must be open. */
uint64_t adv_pacer_credit(const struct adv_pacer *p, uint64_t kbps, uint64_t burst, uint64_t now);

/* Returns the time to try again. The pacer must not be open. At that time half a burst can be sent;
 * but it is at most 100 us after `due`. */
uint64_t adv_pacer_wake(const struct adv_pacer *p, uint64_t kbps, uint64_t burst);

#endif
