/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory that two slots share, so that their packets need no socket (runtime/link/shm.h). The
 * memory is made when each slot has requested it with the other. Each slot receives it once. Only
 * the worker's process holds pairs: a client that resumes at a new worker requests its pairs again.
 */
#ifndef ADV_RUNTIME_STEERING_PAIRS_H
#define ADV_RUNTIME_STEERING_PAIRS_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/control/protocol.h"

#define ADV_PAIRS_MAX	2048 /* at a time; half of them for one user, if the daemon serves many */
#define ADV_PAIR_LARGE	(4u << 20) /* bytes of a ring, for a slot's first 16 pairs */
#define ADV_PAIR_MEDIUM (1u << 20) /* bytes of a ring, for a slot's pairs 17 to 64 */
#define ADV_PAIR_SMALL	(256u << 10)

struct adv_pairs;

/* Counts of a user's slots: requested pairs (by the slot or its peer), pairs whose memory is made,
 * and kept descriptors. */
struct adv_pair_use {
	unsigned wanted;
	unsigned made;
	unsigned kept;
};

/* Creates the pairs' state, which keeps at most `kept` descriptors. If `shared`, no user gets more
 * than half of any limit. NULL: ENOMEM. */
struct adv_pairs *adv_pairs_create(unsigned kept, bool shared);

/* Counts the slot's pairs in *use, until the slot is released. */
void adv_pairs_charge(struct adv_pairs *p, unsigned slot, struct adv_pair_use *use);

/* Closes all descriptors and frees the state. */
void adv_pairs_destroy(struct adv_pairs *p);

/* One side's part of a pair. */
struct adv_pair_share {
	int memory_fd; /* the caller owns and closes it */
	uint32_t size; /* bytes of each ring */
	unsigned side; /* 0 or 1 */
	bool made;     /* this request made the memory: the caller has to notify the other side */
};

/*
 * Requests memory for `slot` with `peer`, another slot. Both slots are in use. Returns 0 and the
 * part of `slot` in *share, or:
 *  - EAGAIN: the peer has not requested the memory yet;
 *  - EALREADY: the slot has already received the memory;
 *  - ENFILE: too many pairs in all, or of one of the two users;
 *  - ENOMEM and others: the memory cannot be made.
 */
int adv_pairs_request(struct adv_pairs *p, unsigned slot, unsigned peer,
		      struct adv_pair_share *share);

/* Fills two bit arrays of slots, ADV_SLOTS / 8 bytes each. paired: the slots with which `slot` has
 * a pair. ready: the slots whose pair `slot` has not fetched yet. */
void adv_pairs_list(const struct adv_pairs *p, unsigned slot, uint8_t *paired, uint8_t *ready);

/* Releases the slot: ends its pairs and requests. Sets the bits of the slots that had a pair with
 * `slot`; the caller has to notify these. */
void adv_pairs_release(struct adv_pairs *p, unsigned slot, uint8_t paired[ADV_SLOTS / 8]);

/* Returns the number of pairs. */
unsigned adv_pairs_count(const struct adv_pairs *p);

#endif
