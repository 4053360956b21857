/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Requests that came before anybody listens. Programs that meet twice, as perftest does, connect
 * again while the other end is on its way to listen again; with hardware that end is the quicker
 * one. So these wait a moment before they are refused, and longer where somebody has listened there
 * just before: perftest's client does not survive a reject of its second connect.
 */
#ifndef ADV_CM_EARLY_H
#define ADV_CM_EARLY_H

#include "cm/state.h"

struct adv_cm_early {
	struct adv_list link; /* of cm->early, the oldest first */
	uint64_t since;
	uint64_t until;
	struct adv_rx_meta meta;
	struct adv_cm_packet packet;
};

/*
 * Holds a REQ or SIDR_REQ, which has a header of annex A11, for a moment. A duplicate of a held
 * request is counted and done with. Returns false if the caller is to refuse it.
 */
bool adv_cm_early_hold(struct adv_cm *cm, uint64_t now, const struct adv_rx_meta *meta,
		       const struct adv_cm_packet *packet);
/* Removes and returns a held request for which a listener exists now: the caller's. NULL: none. */
struct adv_cm_early *adv_cm_early_take_listened(struct adv_cm *cm);
/* Removes and returns a request that was held long enough: the caller's. NULL: none. */
struct adv_cm_early *adv_cm_early_take_due(struct adv_cm *cm, uint64_t now);
uint64_t adv_cm_early_deadline(const struct adv_cm *cm);
void adv_cm_early_forget_all(struct adv_cm *cm);

#endif
