/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Paces packets to a rate without a timer for each packet. A packet may be sent once all packets
 * before it would have left at the rate. A late sender makes up for lost time, by at most one
 * burst. adv_pacer_wake() returns when an early sender should try again.
 *
 * Rates are in kb/s (10^3 bits), at least 1; times in ns.
 */
#ifndef ADV_TRANSPORT_PACER_H
#define ADV_TRANSPORT_PACER_H

#include <stdbool.h>
#include <stdint.h>

/* All zero: nothing was sent. */
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

/* Accounts for a sent packet of `bytes`. `burst`: the most bytes by which a late sender makes up
 * for lost time. */
void adv_pacer_charge(struct adv_pacer *p, uint64_t bytes, uint64_t kbps, uint64_t burst,
		      uint64_t now);

/* The rate changes at `at`. The bytes that are still to be waited for stay the same. */
void adv_pacer_change(struct adv_pacer *p, uint64_t old_kbps, uint64_t kbps, uint64_t at);

/* If the pacer is open: returns the bytes that may be sent now in addition to the next packet. */
uint64_t adv_pacer_credit(const struct adv_pacer *p, uint64_t kbps, uint64_t burst, uint64_t now);

/* If the pacer is not open: returns the time to try again. Half a burst can be sent then, but it is
 * at most 100 us after the next packet may be sent. */
uint64_t adv_pacer_wake(const struct adv_pacer *p, uint64_t kbps, uint64_t burst);

#endif
