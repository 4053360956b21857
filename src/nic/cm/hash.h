/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Hashes of the numbers and addresses by which the CM finds its objects. Peers choose many of these
 * numbers, so the hash has a secret key. */
#ifndef ADV_NIC_CM_HASH_H
#define ADV_NIC_CM_HASH_H

#include "base/siphash.h"
#include "base/bytes.h"
#include "nic/wire/packet.h"

static inline uint64_t adv_cm_hash(const uint64_t key[2], uint64_t a, uint64_t b)
{
	return adv_siphash_words(key, (const uint64_t[]){a, b}, 2);
}

static inline uint64_t adv_cm_hash_gid(const uint64_t key[2], const struct adv_gid *gid, uint64_t a,
				       uint64_t b)
{
	const uint64_t word[] = {adv_get_be64(gid->raw), adv_get_be64(gid->raw + 8), a, b};

	return adv_siphash_words(key, word, 4);
}

#endif
