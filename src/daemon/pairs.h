/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory that two slots share, so that their packets need no socket (link/shm.h). The memory is
 * made when both slots have requested it of each other, and is given to each of them once. Only the
 * worker has pairs: a client that resumes at a new worker requests its pairs again.
 */
#ifndef ADV_DAEMON_PAIRS_H
#define ADV_DAEMON_PAIRS_H

#include <stdbool.h>
#include <stdint.h>

#include "host/control_protocol.h"

#define ADV_PAIRS_MAX	2048 /* at a time; half of them for one user, if the daemon serves many */
#define ADV_PAIR_LARGE	(4u << 20) /* bytes of a ring: for a slot's first 16 pairs, ... */
#define ADV_PAIR_MEDIUM (1u << 20) /* ... for the others up to 64, ... */
#define ADV_PAIR_SMALL	(256u << 10)

struct adv_pairs;

/* The use of a user's slots: the pairs that they or their peers request, those made, and the
 * descriptors kept. */
struct adv_pair_use {
	unsigned wanted;
	unsigned made;
	unsigned kept;
};

/* Keeps at most `kept` descriptors. If `shared`, no user has more than half of anything. NULL:
 * ENOMEM. */
struct adv_pairs *adv_pairs_create(unsigned kept, bool shared);

/* Counts the slot's pairs in *use, until the slot is released. */
void adv_pairs_charge(struct adv_pairs *p, unsigned slot, struct adv_pair_use *use);

/* Closes all descriptors and frees. */
void adv_pairs_destroy(struct adv_pairs *p);

/* One side's part of a pair. */
struct adv_pair_share {
	int memory_fd; /* the caller's, who closes it */
	uint32_t size; /* bytes of each ring */
	unsigned side; /* 0 or 1 */
	bool made;     /* the memory was made just now: the other side has to be notified */
};

/*
 * `slot` requests memory with `peer`, another slot; both are in use. Returns 0 and its part in
 * *share. EAGAIN: the peer has not requested it yet; EALREADY: the slot has already received it;
 * ENFILE: too many pairs in all, or of the user of one of the two; ENOMEM and others: the memory
 * cannot be made.
 */
int adv_pairs_request(struct adv_pairs *p, unsigned slot, unsigned peer,
		      struct adv_pair_share *share);

/* Fills bit arrays of slots, ADV_SLOTS / 8 bytes each: the slots with which `slot` has a pair, and
 * those whose pair it has yet to fetch. */
void adv_pairs_list(const struct adv_pairs *p, unsigned slot, uint8_t *paired, uint8_t *ready);

/* Releases the slot: its pairs and requests end. Fills the bits of the slots that had a pair with
 * it, which have to be notified. */
void adv_pairs_release(struct adv_pairs *p, unsigned slot, uint8_t paired[ADV_SLOTS / 8]);

/* Returns the number of pairs. */
unsigned adv_pairs_count(const struct adv_pairs *p);

#endif
