/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Computes the rate of each traffic class of a link with enhanced transmission selection (ETS)
 * and strict priority. A pure function on the caller's structures. */
#ifndef ADV_FABRIC_PLAN_ETS_H
#define ADV_FABRIC_PLAN_ETS_H

#include <stdbool.h>
#include <stdint.h>

#define ADV_PLAN_CLASSES 8

/* A traffic class. Its number is its index in the array; 7 is the highest. */
struct adv_plan_class {
	bool used;
	bool strict;
	uint64_t share;	 /* if not strict: 1 / ADV_RATIO_ONE; the sum of all is 1 */
	uint64_t demand; /* bit/s */
};

struct adv_plan_ets {
	uint64_t got[ADV_PLAN_CLASSES];	       /* rate of the class, bit/s, rounded down */
	uint64_t guaranteed[ADV_PLAN_CLASSES]; /* rate if all other ETS classes demand the full
						  link, bit/s */
	uint64_t quantum[ADV_PLAN_CLASSES]; /* bytes per round of deficit round robin: proportional
					       to the shares, at least a frame */
	uint64_t strict_rate;		    /* rate of the strict classes, bit/s */
	uint64_t unused;		    /* rate that no class uses, bit/s */
};

/*
 * IEEE 802.1Q 37.3 (802.1Qaz). Strict classes are served first, from the highest number down, each
 * up to its demand. ETS classes divide the rest by their shares. The unused rate of a class is
 * divided among the other classes, again by their shares (water filling: each class gets share x a
 * common level, or its demand if that is lower). Quanta are those of deficit round robin (Shreedhar
 * and Varghese, SIGCOMM 1995). Each is at least max_frame bytes, so the choice of the next packet
 * costs O(1).
 *
 * Speed is at most 100 Tb/s, a frame at most 65,600 bytes. Returns NULL, or one line with the error
 * (no class; shares that are not 100% together; a share of 0); *out is then unspecified.
 */
const char *adv_plan_ets(const struct adv_plan_class classes[ADV_PLAN_CLASSES], uint64_t speed,
			 uint64_t max_frame, struct adv_plan_ets *out);

#endif
