/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory that two slots share, so that their packets need no socket (link/shm.h). It is made when
 * both have asked for it, one of the other, and is handed to each of them once. Of the worker
 * alone: who resumes with a new one asks again.
 */
#ifndef ADV_DAEMON_PAIRS_H
#define ADV_DAEMON_PAIRS_H

#include <stdbool.h>
#include <stdint.h>

#include "host/control_protocol.h"

#define ADV_PAIRS_MAX	2048	   /* at once; half of them a user's, where many are served */
#define ADV_PAIR_LARGE	(4u << 20) /* bytes a ring: of a slot's first 16 pairs ... */
#define ADV_PAIR_MEDIUM (1u << 20) /* ... of the others up to 64 ... */
#define ADV_PAIR_SMALL	(256u << 10)

struct adv_pairs;

/* Of whom a slot is: how many pairs he or the other side wants, how many there are, and how many of
 * their descriptors are kept. */
struct adv_pair_use {
	unsigned wanted;
	unsigned made;
	unsigned kept;
};

/* Keeps at most `kept` descriptors; no user has more than half of anything where `shared`. NULL:
 * ENOMEM. */
struct adv_pairs *adv_pairs_create(unsigned kept, bool shared);

/* The slot's pairs count in *use, until it is given up. */
void adv_pairs_charge(struct adv_pairs *p, unsigned slot, struct adv_pair_use *use);

/* Closes all descriptors and frees. */
void adv_pairs_destroy(struct adv_pairs *p);

/* What one side is handed. */
struct adv_pair_share {
	int memory_fd; /* the caller's, to be closed */
	uint32_t size; /* of each ring */
	unsigned side; /* 0 or 1 */
	bool made;     /* only now: the other side is to be told */
};

/*
 * `slot` asks for memory with `peer`, another slot; both are in use. 0: *share is its part of it;
 * EAGAIN: the peer has not asked yet; EALREADY: it has had it; ENFILE: there are as many pairs,
 * in all or of one of the two's user, as there may be; ENOMEM and others: it cannot be made.
 */
int adv_pairs_ask(struct adv_pairs *p, unsigned slot, unsigned peer, struct adv_pair_share *share);

/* Bits of slots, ADV_SLOTS / 8 bytes each: with whom `slot` has a pair, and which of these it has
 * yet to fetch. */
void adv_pairs_list(const struct adv_pairs *p, unsigned slot, uint8_t *paired, uint8_t *ready);

/* The slot is given up: its pairs and what it has asked for are no more. The bits of those who had
 * a pair with it, and are to be told. */
void adv_pairs_release(struct adv_pairs *p, unsigned slot, uint8_t paired[ADV_SLOTS / 8]);

/* How many there are. */
unsigned adv_pairs_count(const struct adv_pairs *p);

#endif
