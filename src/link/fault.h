/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef ADV_LINK_FAULT_H
#define ADV_LINK_FAULT_H

#include "link/fault_decide.h"
#include "link/link.h"

/*
 * A link that disturbs, as the plan says, what passes through another one, `inner`, which is its
 * own from then on: destroy() sends what is kept on its way out, and destroys both. clock:
 * nanoseconds that do not go back, the same as the engine's. plan (copied) must have its seed.
 * NULL: ENOMEM, and inner is still the caller's. The owner may wrap a link at any time, also one
 * that is full.
 *
 * Packets that are kept are copies. They go on when receive(), send() or flush() is called at
 * link->deadline or later. What is corrupted on its way out and is to be noticed leaves with a
 * wrong ICRC; on its way in it is counted as if it had come so.
 */
struct adv_link *adv_fault_create(struct adv_link *inner, uint64_t (*clock)(void),
				  const struct adv_fault_plan *plan);

/*
 * Decides as adv_fault_decide(), of a packet that is at hand in whole: `out` or `in`, the other is
 * NULL. user: the caller's own.
 */
typedef bool adv_fault_ask_fn(void *user, uint64_t now, const struct adv_fault_packet *p,
			      const struct adv_tx_packet *out, const struct adv_rx_packet *in,
			      struct adv_fault_verdict *v);

/* As adv_fault_create(), without a plan of its own: fn is asked about each packet. */
struct adv_link *adv_fault_create_asking(struct adv_link *inner, uint64_t (*clock)(void),
					 adv_fault_ask_fn *fn, void *user);

/*
 * The end of the faults: what is kept goes on at once, out through the inner link as far as that
 * has room, in to fn. Frees the wrapper and returns the inner link, the caller's again.
 */
struct adv_link *adv_fault_end(struct adv_link *link, adv_link_rx_fn *fn, void *user);

/* What is kept on its way out leaves now, as far as the inner link has room. */
void adv_fault_send_kept(struct adv_link *link);

/* Where the plan is; see docs/faults.md. */
#define ADV_FAULT_VARIABLE "ADVERB_FAULT"

/*
 * The plan of the environment; where it has no seed, one that is chosen at random for the process:
 * all who follow the plan throw the same dice. 0; ENOENT: there is none; EINVAL: it cannot be read,
 * and *why is a line for a person.
 */
int adv_fault_environment(struct adv_fault_plan *plan, char *why, size_t why_len);

/*
 * As adv_fault_create(), with the plan of the environment, which the log tells (info). Returns
 * inner itself where there is no plan, and NULL with errno EINVAL where there is one that cannot be
 * read, or ENOMEM: *why is then a line for a person.
 */
struct adv_link *adv_fault_from_environment(struct adv_link *inner, uint64_t (*clock)(void),
					    char *why, size_t why_len);

/* Another plan from now on; what is kept still goes on in its time. Under the link's lock. */
void adv_fault_set_plan(struct adv_link *link, const struct adv_fault_plan *plan);

/* As adv_fault_port_blinked(). Under the link's lock. */
bool adv_fault_has_blinked(struct adv_link *link, uint64_t now);

/* Has the events told that are due by `now`, as adv_fault_events(). Under the link's lock, after
 * the owner has looked at the port and the device. */
void adv_fault_tell_events(struct adv_link *link, uint64_t now, adv_fault_tell_fn *tell,
			   void *user);

/* The plan in force, and what was done since it began. The link's; under its lock. */
const struct adv_fault_state *adv_fault_state_of(const struct adv_link *link);

/* Asks about a work request as adv_fault_decide_work(), now. Under the link's lock. */
uint32_t adv_fault_of_work(struct adv_link *link, const struct adv_fault_work *work);

#endif
