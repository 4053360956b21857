/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Virtual time that follows a clock. A factor of 1/100 makes virtual time a hundred times slower
 * than the clock, so that a cable of 100 Gb/s carries 1 Gb/s, and its delay takes 100 times as
 * long. It reads no clock: the caller passes the time in nanoseconds.
 *
 * If the simulation cannot keep up, virtual time falls behind. Behind by more than the patience,
 * it does not catch up: what it missed is given up and counted, because frames that catch up would
 * be faster than their cables.
 */
#ifndef ADV_FABRIC_NETWORK_PACE_H
#define ADV_FABRIC_NETWORK_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct adv_pace {
	uint32_t numerator; /* virtual time is the clock's time * numerator / denominator */
	uint32_t denominator;
	uint64_t patience;	/* ns of the clock */
	uint64_t clock_start;	/* ns */
	uint64_t virtual_start; /* ps */
	uint64_t slips;		/* number of times that virtual time gave up what it missed */
	uint64_t slipped;	/* the sum of that, ns of the clock */
	uint64_t worst;		/* largest lag seen, ns of the clock */
};

/* Initializes *p: virtual time `now` ps is the clock's time `clock` ns. Neither number of the
 * factor is 0. */
void adv_pace_start(struct adv_pace *p, uint32_t numerator, uint32_t denominator, uint64_t patience,
		    uint64_t clock, uint64_t now);

/* Returns the virtual time, ps, at the clock's time `clock`, which is not before the start. */
uint64_t adv_pace_virtual(const struct adv_pace *p, uint64_t clock);

/* Returns the clock's time, ns, at which virtual time reaches `at` ps; UINT64_MAX for
 * ADV_CALENDAR_NEVER. */
uint64_t adv_pace_clock(const struct adv_pace *p, uint64_t at);

/* Says that the simulation has reached virtual time `now` at the clock's time `clock`. Returns true
 * if it was behind by more than the patience: virtual time goes on from `now`. */
bool adv_pace_reached(struct adv_pace *p, uint64_t now, uint64_t clock);

#endif
