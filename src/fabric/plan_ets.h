/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What each traffic class gets of a link under enhanced transmission selection (ETS) and strict
 * priority. A pure function on the caller's structures.
 */
#ifndef ADV_FABRIC_PLAN_ETS_H
#define ADV_FABRIC_PLAN_ETS_H

#include <stdbool.h>
#include <stdint.h>

#define ADV_PLAN_CLASSES 8

/* A traffic class; its number is its place in the array, and 7 is the highest. */
struct adv_plan_class {
	bool used;
	bool strict;
	uint64_t share;	 /* of ADV_RATIO_ONE, where not strict; those are 1 together */
	uint64_t demand; /* bit/s */
};

struct adv_plan_ets {
	uint64_t got[ADV_PLAN_CLASSES];	       /* bit/s, rounded down */
	uint64_t guaranteed[ADV_PLAN_CLASSES]; /* bit/s: what it gets however much the other ETS
						* classes want, strict ones as they are */
	uint64_t quantum[ADV_PLAN_CLASSES];    /* bytes a round of deficit round robin: in
						* proportion to the shares, one frame at least */
	uint64_t strict_rate;		       /* bit/s that strict classes take */
	uint64_t unused;		       /* bit/s that nobody wants */
};

/*
 * IEEE 802.1Q 37.3 (802.1Qaz): strict classes first, from the highest number down, each as much as
 * it wants; ETS classes have the rest by their shares, and what one does not want goes to those
 * that want more, by their shares again (water filling: each of them gets share x the same level,
 * or all that it wants). Quanta: deficit round robin (Shreedhar and Varghese, SIGCOMM 1995), of
 * which a round with at least one frame of max_frame bytes a class is O(1) a packet.
 *
 * Speed up to 100 Tb/s, frames up to 65,600 bytes. Returns NULL, or one line that says what is
 * wrong (no class; shares that are not 100% together; a share of 0); *out is then unspecified.
 */
const char *adv_plan_ets(const struct adv_plan_class classes[ADV_PLAN_CLASSES], uint64_t speed,
			 uint64_t max_frame, struct adv_plan_ets *out);

#endif
