/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The owners of slots. Their records are in the ledger that keeper and worker share. Every function
 * leaves the records so that a new worker can continue at any point.
 */
#ifndef ADV_RUNTIME_STEERING_SLOTS_H
#define ADV_RUNTIME_STEERING_SLOTS_H

#include "runtime/keeper/estate.h"

/*
 * Chooses a free slot, in this order:
 *  - of the free slots whose last owner was the same user, the slot that was released first, if
 *    that was long enough ago (ADV_REST_MS);
 *  - if the user has had fewer than `limit` slots: a slot never used; or l->sockets, a new slot, if
 *    there are fewer than `most`;
 *  - the slot of the first rule, at any time after its release.
 *
 * So programs that run one after the other need few sockets. A user never gets a socket that
 * another user may still hold. Returns 0 if no slot is available. `now` is the time of
 * adv_clock_ms().
 */
unsigned adv_slots_choose(const struct adv_ledger *l, uid_t uid, unsigned limit, unsigned most,
			  uint64_t now);

/* Assigns a slot that adv_slots_choose() has chosen: makes its socket if there is none, drops the
 * socket's queued packets, and makes a new token. Returns the socket's receive buffer in bytes, or
 * 0 if the socket or the random token cannot be made (logged). */
uint32_t adv_slots_assign(struct adv_daemon *d, unsigned slot, pid_t pid, uid_t uid,
			  const char *comm, const char *device);

/* Releases a slot and its blocks: leaves its multicast groups and drops its socket's queued
 * packets. */
void adv_slots_release(struct adv_daemon *d, unsigned slot);

/* Calls adv_group_steer() with the slots and blocks in use and the published addresses. 0 or errno,
 * which is logged. */
int adv_slots_steer(const struct adv_daemon *d);

/* Publishes the UDP port from which the slot's process sends to this machine, for all its QP
 * numbers. */
void adv_slots_set_sender(struct adv_daemon *d, unsigned slot, uint16_t port);

/* Chooses a free block, as adv_slots_choose() does, but without the time of rest. -1: none is
 * available. */
int adv_blocks_choose(const struct adv_ledger *l, uid_t uid, unsigned limit);

/* Gives the block to a slot in use, until adv_slots_release(). 0 or errno. */
int adv_blocks_assign(struct adv_daemon *d, unsigned block, unsigned slot);

/* Counts the slot's blocks; slot 0: the blocks of all slots. */
unsigned adv_blocks_used(const struct adv_ledger *l, unsigned slot);

/*
 * For a new worker: finds in the shared tables the senders that have to be forgotten. The times in
 * *d are out of date, because fork(2) copied them from another worker.
 */
void adv_slots_resume_senders(struct adv_daemon *d);

/* Removes the senders of released slots and blocks from the table if their time in d->sender_until
 * is over. */
void adv_slots_forget_senders(struct adv_daemon *d, uint64_t now);

/* True if `slot` is in use and `token` is its token. The duration of the comparison does not depend
 * on the bytes of a wrong token. */
bool adv_slots_token_fits(const struct adv_ledger *l, uint32_t slot,
			  const uint8_t token[ADV_CONTROL_TOKEN_LEN]);

/* 0 or errno, as in adv_control_join() and adv_control_leave(). */
int adv_slots_join(struct adv_daemon *d, unsigned slot, const struct adv_gid *group,
		   uint32_t ifindex);
int adv_slots_leave(struct adv_daemon *d, unsigned slot, const struct adv_gid *group,
		    uint32_t ifindex);

/* Makes the memfd with the counters of the slot's process. It can be mapped, but not resized.
 * Returns the descriptor, which stays the slot's, or -1 with errno. */
int adv_slots_make_counters(struct adv_daemon *d, unsigned slot);

/* Fills value[ADV_COUNTERS] with the sums over all slots in use and all former ones. */
void adv_slots_counters(const struct adv_daemon *d, uint64_t *value);
/* Fills value[ADV_COUNTERS] with the sums over the slots of devices of this name. */
void adv_slots_counters_of_device(const struct adv_daemon *d, const char *device, uint64_t *value);
/* Fills value[ADV_COUNTERS] with the counters of a slot in use. */
void adv_slots_counters_of(const struct adv_daemon *d, unsigned slot, uint64_t *value);

unsigned adv_slots_used(const struct adv_ledger *l);

#endif
