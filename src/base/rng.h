/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * xoshiro256**, the random number generator of an engine. A run can be repeated from its seed. If
 * numbers must be unpredictable (R_Keys and first PSNs of a real device), all 256 bits of the seed
 * come from getrandom(2).
 */
#ifndef ADV_BASE_RNG_H
#define ADV_BASE_RNG_H

#include <stdint.h>

struct adv_rng {
	uint64_t s[4];
};

/* Derives the state from one 64-bit seed (splitmix64). Any seed is good. */
static inline void adv_rng_seed(struct adv_rng *r, uint64_t seed)
{
	for (int i = 0; i < 4; i++) {
		uint64_t z = (seed += 0x9e3779b97f4a7c15u);

		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
		z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
		r->s[i] = z ^ (z >> 31);
	}
}

static inline uint64_t adv_rng_next(struct adv_rng *r)
{
	uint64_t *s = r->s;
	uint64_t x = s[1] * 5;
	uint64_t result = ((x << 7) | (x >> 57)) * 9;
	uint64_t t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = (s[3] << 45) | (s[3] >> 19);
	return result;
}

/* Returns a uniformly distributed number in [0, n). n must not be 0. */
static inline uint64_t adv_rng_below(struct adv_rng *r, uint64_t n)
{
	return (uint64_t)(((unsigned __int128)adv_rng_next(r) * n) >> 64);
}

#endif
