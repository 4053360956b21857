/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who owns which slot. The records are in the ledger that keeper and worker share; every function
 * leaves them so that a new worker can go on from any point.
 */
#ifndef ADV_DAEMON_SLOTS_H
#define ADV_DAEMON_SLOTS_H

#include "daemon/estate.h"

/*
 * Chooses a free slot: of those whose last owner was the same user the one free the longest, where
 * that is long enough (ADV_REST_MS); else one never used before, or l->sockets, the next to be
 * made, as long as there are fewer than `most` and the user has had fewer than `limit`; else the
 * former after all. So there are few sockets where programs come one after the other, and a user
 * never gets one that another user may still hold. 0: none is to be had. `now`: of
 * adv_clock_ms().
 */
unsigned adv_slots_choose(const struct adv_ledger *l, uid_t uid, unsigned limit, unsigned most,
			  uint64_t now);

/* Hands out a slot that adv_slots_choose() has chosen: its socket made where there is none yet,
 * drained, with a new token. Returns its receive buffer in bytes, or 0 where no socket or no random
 * token could be had (logged). */
uint32_t adv_slots_take(struct adv_daemon *d, unsigned slot, pid_t pid, uid_t uid,
			const char *comm);

/* Takes it back, with its blocks: its groups are left, its socket is emptied. */
void adv_slots_release(struct adv_daemon *d, unsigned slot);

/* adv_group_steer() with what is in use and the addresses that are published: 0, or errno, which is
 * logged. */
int adv_slots_steer(const struct adv_daemon *d);

/* The slot's process sends to this machine from this UDP port: that is published for all its QP
 * numbers. */
void adv_slots_sender(struct adv_daemon *d, unsigned slot, uint16_t port);

/* Chooses a free block as a slot is, but for the rest. -1: none is to be had. */
int adv_blocks_choose(const struct adv_ledger *l, uid_t uid, unsigned limit);

/* Lets a slot that is in use have the block until it is taken back. 0 or errno. */
int adv_blocks_take(struct adv_daemon *d, unsigned block, unsigned slot);

/* How many the slot has; 0: all slots together. */
unsigned adv_blocks_used(const struct adv_ledger *l, unsigned slot);

/*
 * For a worker that begins: what there is to forget follows from the tables, which are shared. The
 * times in *d are those of another worker at some moment in the past, as fork(2) copied them.
 */
void adv_slots_resume_senders(struct adv_daemon *d);

/* Ends, where it is time (d->senders_at), what the table says of slots that were given up: from
 * where they sent. */
void adv_slots_forget_senders(struct adv_daemon *d, uint64_t now);

/* True where `slot` is in use and the token is its own; takes the same time for all wrong ones. */
bool adv_slots_token_fits(const struct adv_ledger *l, uint32_t slot,
			  const uint8_t token[ADV_CONTROL_TOKEN_LEN]);

/* 0 or errno, as in adv_control_join() and adv_control_leave(). */
int adv_slots_join(struct adv_daemon *d, unsigned slot, const struct adv_gid *group,
		   uint32_t ifindex);
int adv_slots_leave(struct adv_daemon *d, unsigned slot, const struct adv_gid *group,
		    uint32_t ifindex);

/* Makes the memfd that the slot's process is to count in; it can be mapped, not made longer or
 * shorter. The descriptor, which stays the slot's, or -1 with errno. */
int adv_slots_count(struct adv_daemon *d, unsigned slot);

/* Fills value[ADV_COUNTERS]: those of slots in use, and of all that were. */
void adv_slots_counters(const struct adv_daemon *d, uint64_t *value);

unsigned adv_slots_used(const struct adv_ledger *l);

#endif
