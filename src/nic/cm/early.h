/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Holds requests that arrive before a listener exists. A program that connects twice, like
 * perftest, may send its second request before the peer listens again; with hardware the peer
 * listens in time. So the CM holds such a request for some time before it refuses it. The time is
 * longer if a listener at this port was closed recently, because perftest's client fails if its
 * second request is rejected.
 */
#ifndef ADV_NIC_CM_EARLY_H
#define ADV_NIC_CM_EARLY_H

#include "nic/cm/state.h"

struct adv_cm_early {
	struct adv_list link; /* node in cm->early, which is ordered by `until` */
	uint64_t since;
	uint64_t until;
	struct adv_rx_meta meta;
	struct adv_cm_packet packet;
};

/*
 * Holds a REQ or SIDR_REQ with a header of annex A11. Counts and discards a duplicate of a held
 * request. Returns false if the caller has to refuse the request.
 */
bool adv_cm_early_hold(struct adv_cm *cm, uint64_t now, const struct adv_rx_meta *meta,
		       const struct adv_cm_packet *packet);
/* Removes and returns a held request for which a listener exists now. The caller frees it. NULL:
 * none. */
struct adv_cm_early *adv_cm_early_take_listened(struct adv_cm *cm);
/* Removes and returns a held request whose time is over. The caller frees it. NULL: none. */
struct adv_cm_early *adv_cm_early_take_due(struct adv_cm *cm, uint64_t now);
uint64_t adv_cm_early_deadline(const struct adv_cm *cm);
void adv_cm_early_forget_all(struct adv_cm *cm);

#endif
