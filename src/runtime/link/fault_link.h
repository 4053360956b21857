/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A link that wraps another link and applies a fault plan to the packets that pass. */
#ifndef ADV_RUNTIME_LINK_FAULT_LINK_H
#define ADV_RUNTIME_LINK_FAULT_LINK_H

#include "nic/fault/flow.h"
#include "runtime/link/link.h"

/*
 * Wraps `inner`, which the wrapper owns from now on. destroy() sends the kept outgoing packets, and
 * destroys both links. clock: monotonic nanoseconds, the clock of the engine. plan (copied) must
 * have a seed. Returns NULL for ENOMEM; inner then still belongs to the caller. The owner may wrap
 * a link at any time, even if the link is full.
 *
 * The wrapper keeps copies of packets. They continue when receive(), send() or flush() is called at
 * link->deadline or later. If the receiver can detect a corruption, an outgoing packet is sent with
 * a wrong ICRC, and an incoming packet is counted as an ICRC error.
 */
struct adv_link *adv_fault_link_create(struct adv_link *inner, uint64_t (*clock)(void),
				       const struct adv_fault_plan *plan);

/*
 * Decides like adv_fault_decide(), with the whole packet available. An outgoing packet is in `out`,
 * an incoming packet in `in`; the other pointer is NULL. user: the value given to
 * adv_fault_link_create_with().
 */
typedef bool adv_fault_link_decide_fn(void *user, uint64_t now, const struct adv_fault_packet *p,
				      const struct adv_tx_packet *out,
				      const struct adv_rx_packet *in, struct adv_fault_verdict *v);

/* As adv_fault_link_create(), but fn decides instead of a plan. */
struct adv_link *adv_fault_link_create_with(struct adv_link *inner, uint64_t (*clock)(void),
					    adv_fault_link_decide_fn *fn, void *user);

/*
 * Ends the faults. Kept packets continue at once: outgoing ones through the inner link as far as it
 * has room, incoming ones to fn. Frees the wrapper and returns the inner link to the caller.
 */
struct adv_link *adv_fault_link_unwrap(struct adv_link *link, adv_link_rx_fn *fn, void *user);

/* Replaces the inner link by a link that wraps it, or by the link that it wraps. The wrapper owns
 * the new inner link from now on, and the old one no longer. */
void adv_fault_link_set_inner(struct adv_link *link, struct adv_link *inner);

/* Sends kept outgoing packets now, as far as the inner link has room. */
void adv_fault_link_send_kept(struct adv_link *link);

/*
 * As adv_fault_link_create(), with the plan of the environment, which it logs (info). Returns inner
 * itself if there is no plan. Returns NULL with errno EINVAL if the plan is not valid, or ENOMEM;
 * `why` then explains it in one line.
 */
struct adv_link *adv_fault_link_from_environment(struct adv_link *inner, uint64_t (*clock)(void),
						 char *why, size_t why_len);

/* ---- The caller holds the link's lock for the functions below. ---- */

/* Replaces the plan. Packets that are already kept continue at their time. */
void adv_fault_link_set_plan(struct adv_link *link, const struct adv_fault_plan *plan);

/* As adv_fault_port_blinked(). */
bool adv_fault_link_port_blinked(struct adv_link *link, uint64_t now);

/* As adv_fault_raise_events(). Call it after you have examined the port and the device: it moves
 * link->deadline past `now`. */
void adv_fault_link_raise_events(struct adv_link *link, uint64_t now, adv_fault_raise_fn *raise,
				 void *user);

/* Returns the plan in force with its counters. They belong to the link. */
const struct adv_fault_state *adv_fault_link_state(const struct adv_link *link);

/* As adv_fault_flow_decide(), by the plan in force. */
enum adv_fault_flow_verdict adv_fault_link_decide_flow(struct adv_link *link,
						       struct adv_fault_flow *flow, uint64_t now,
						       const struct adv_fault_packet *p, bool crc);

/* As adv_fault_decide_work(), at the current time. */
uint32_t adv_fault_link_decide_work(struct adv_link *link, const struct adv_fault_work *work);

#endif
