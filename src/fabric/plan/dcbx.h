/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* DCBX of a plan: what its ports advertise, and how a real port differs from that. */
#ifndef ADV_FABRIC_PLAN_DCBX_H
#define ADV_FABRIC_PLAN_DCBX_H

#include "fabric/plan/dcb.h"
#include "nic/wire/dcbx.h"

/* Makes what a port with the settings of the plan advertises: PFC, ETS with one traffic class for
 * each priority, and the priority of each used DSCP and of RoCE v2 (UDP port 4791). The port is not
 * willing. The caller sets `mac`. */
void adv_plan_dcbx(const struct adv_plan_dcb *plan, struct adv_dcbx *d);

/* Takes a sentence with a difference. The text is valid during the call. */
typedef void adv_plan_differs_fn(void *user, const char *text);

/*
 * Compares what a port advertises with the settings of a plan, and calls fn for each difference and
 * what it causes. Traffic classes are compared by the priorities that they have. A port that
 * advertises no DSCP is not blamed for it: many switches leave it out. Returns the number of
 * differences.
 */
unsigned adv_plan_dcbx_compare(const struct adv_plan_dcb *plan, const struct adv_dcbx *port,
			       adv_plan_differs_fn *fn, void *user);

/*
 * Says what the two ends of a cable make of each other's settings: which end takes what from the
 * other (IEEE 802.1Q clause 38: PFC is symmetric, ETS asymmetric), and what differs for good. Calls
 * fn for each sentence. Returns how many sentences need a remedy.
 */
unsigned adv_plan_dcbx_cable(const struct adv_dcbx *one, const struct adv_dcbx *other,
			     adv_plan_differs_fn *fn, void *user);

#endif
