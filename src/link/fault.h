/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef ADV_LINK_FAULT_H
#define ADV_LINK_FAULT_H

#include "link/fault_decide.h"
#include "link/link.h"

/*
 * A link that disturbs, as the plan says, what passes through another one, `inner`, which is its
 * own from then on: destroy() destroys both. clock: nanoseconds that do not go back, the same
 * as the engine's. plan (copied) must have its seed. NULL: ENOMEM, and inner is still the caller's.
 *
 * Packets that are kept are copies. They go on when receive(), send() or flush() is called at
 * link->deadline or later. What is corrupted on its way out and is to be noticed leaves with a
 * wrong ICRC; on its way in it is counted as if it had come so.
 */
struct adv_link *adv_fault_create(struct adv_link *inner, uint64_t (*clock)(void),
				  const struct adv_fault_plan *plan);

/* Another plan from now on; what is kept still goes on in its time. Under the link's lock. */
void adv_fault_set_plan(struct adv_link *link, const struct adv_fault_plan *plan);

/* What was done to packets since the plan began. Under the link's lock. */
const struct adv_fault_counters *adv_fault_counters(const struct adv_link *link);

#endif
