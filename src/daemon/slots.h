/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who owns which slot. The records are in the ledger that keeper and worker share; every function
 * leaves them so that a new worker can go on from any point.
 */
#ifndef ADV_DAEMON_SLOTS_H
#define ADV_DAEMON_SLOTS_H

#include "daemon/daemon.h"

/*
 * Chooses a free slot: one never used before, as long as the user has had fewer than `limit`, else
 * the one free the longest, of those whose last owner was the same user. A user never gets a socket
 * that another user may still hold. 0: none is to be had.
 */
unsigned adv_slots_choose(const struct adv_ledger *l, uid_t uid, unsigned limit);

/* Hands a slot out: drained, with a new token. Returns its receive buffer in bytes, or 0 where no
 * random token could be had. */
uint32_t adv_slots_take(struct adv_daemon *d, unsigned slot, pid_t pid, uid_t uid,
			const char *comm);

/* Takes it back: its groups are left, its socket is emptied. */
void adv_slots_release(struct adv_daemon *d, unsigned slot);

/* adv_group_steer() with the addresses that are published; logged where it fails. */
void adv_slots_steer(const struct adv_daemon *d);

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
