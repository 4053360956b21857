/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The hash FNV-1a with 64 bits, for values that nobody forges: siphash.h is for those of peers. A
 * hash begins with ADV_FNV_BASIS. */
#ifndef ADV_BASE_FNV_H
#define ADV_BASE_FNV_H

#include <stddef.h>
#include <stdint.h>

#define ADV_FNV_BASIS 0xcbf29ce484222325u
#define ADV_FNV_PRIME 0x100000001b3u

/* Returns the hash with one more value, which may be larger than a byte. */
static inline uint64_t adv_fnv_add(uint64_t hash, uint64_t value)
{
	return (hash ^ value) * ADV_FNV_PRIME;
}

/* Returns the hash with `len` more bytes. */
static inline uint64_t adv_fnv_add_bytes(uint64_t hash, const void *bytes, size_t len)
{
	const uint8_t *b = bytes;

	for (size_t i = 0; i < len; i++)
		hash = adv_fnv_add(hash, b[i]);
	return hash;
}

#endif
