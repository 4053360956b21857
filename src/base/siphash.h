/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * SipHash-2-4 (Aumasson, Bernstein 2012) of 64-bit words. It has two uses:
 * - Hash tables whose keys a peer chooses. A peer does not know the key of the hash, so it cannot
 *   fill one bucket on purpose.
 * - Random numbers that peers see: the output of xoshiro256** is enough to compute its state, so
 *   numbers that peers must not predict pass through SipHash.
 */
#ifndef ADV_BASE_SIPHASH_H
#define ADV_BASE_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"

static inline uint64_t adv_rotate_left(uint64_t x, unsigned n)
{
	return (x << n) | (x >> (64 - n));
}

static inline void adv_siphash_round(uint64_t v[4])
{
	v[0] += v[1];
	v[1] = adv_rotate_left(v[1], 13) ^ v[0];
	v[0] = adv_rotate_left(v[0], 32);
	v[2] += v[3];
	v[3] = adv_rotate_left(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = adv_rotate_left(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = adv_rotate_left(v[1], 17) ^ v[2];
	v[2] = adv_rotate_left(v[2], 32);
}

static inline void adv_siphash_absorb(uint64_t v[4], uint64_t block)
{
	v[3] ^= block;
	adv_siphash_round(v);
	adv_siphash_round(v);
	v[0] ^= block;
}

/* Returns the hash of the little-endian bytes of `count` words. */
static inline uint64_t adv_siphash_words(const uint64_t key[2], const uint64_t *word, size_t count)
{
	uint64_t v[4] = {key[0] ^ 0x736f6d6570736575u, key[1] ^ 0x646f72616e646f6du,
			 key[0] ^ 0x6c7967656e657261u, key[1] ^ 0x7465646279746573u};

	for (size_t i = 0; i < count; i++)
		adv_siphash_absorb(v, word[i]);
	adv_siphash_absorb(v, (uint64_t)(8 * count) << 56); /* the length, in bytes */
	v[2] ^= 0xff;
	for (int i = 0; i < 4; i++)
		adv_siphash_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* Returns the hash of the eight little-endian bytes of `word`. */
static inline uint64_t adv_siphash(const uint64_t key[2], uint64_t word)
{
	return adv_siphash_words(key, &word, 1);
}

/* Returns the generator's next number in a form that may be sent to peers. */
static inline uint64_t adv_rng_secret(struct adv_rng *r, const uint64_t key[2])
{
	return adv_siphash(key, adv_rng_next(r));
}

#endif
