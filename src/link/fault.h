/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef ADV_LINK_FAULT_H
#define ADV_LINK_FAULT_H

#include "link/fault_decide.h"
#include "link/link.h"

/*
 * A link that disturbs, as the plan says, what passes through another one, `inner`, which is its
 * own from then on: destroy() sends what is kept on its way out, and destroys both. clock:
 * nanoseconds that do not go back, the same as the engine's. plan (copied) must have its seed.
 * NULL: ENOMEM, and inner is still the caller's.
 *
 * Packets that are kept are copies. They go on when receive(), send() or flush() is called at
 * link->deadline or later. What is corrupted on its way out and is to be noticed leaves with a
 * wrong ICRC; on its way in it is counted as if it had come so.
 */
struct adv_link *adv_fault_create(struct adv_link *inner, uint64_t (*clock)(void),
				  const struct adv_fault_plan *plan);

/* Where the plan is; see docs/faults.md. */
#define ADV_FAULT_VARIABLE "ADVERB_FAULT"

/*
 * As adv_fault_create(), with the plan of the environment; the seed, where it has none, is random,
 * and the log tells it (info). Returns inner itself where there is no plan, and NULL with errno
 * EINVAL where there is one that cannot be read, or ENOMEM: *why is then a line for a person.
 */
struct adv_link *adv_fault_from_environment(struct adv_link *inner, uint64_t (*clock)(void),
					    char *why, size_t why_len);

/* Another plan from now on; what is kept still goes on in its time. Under the link's lock. */
void adv_fault_set_plan(struct adv_link *link, const struct adv_fault_plan *plan);

/* What was done to packets since the plan began. Under the link's lock. */
const struct adv_fault_counters *adv_fault_counters(const struct adv_link *link);

#endif
