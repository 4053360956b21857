/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Helpers of the wire layer's tests. Includes cmocka's headers in the required order. */
#ifndef ADV_TESTS_NIC_WIRE_TEST_UTIL_H
#define ADV_TESTS_NIC_WIRE_TEST_UTIL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"

/* Returns a copy that ends at the end of its allocation: a sanitizer detects a read behind it. */
static inline uint8_t *exact_copy(const void *p, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1);

	assert_non_null(copy);
	if (len)
		memcpy(copy, p, len);
	return copy;
}

static inline void fill_random(struct adv_rng *rng, void *p, size_t len)
{
	uint8_t *b = p;

	while (len--)
		*b++ = (uint8_t)adv_rng_next(rng);
}

/* CRC-32 of IEEE 802.3 bit by bit, as the reference for the fast implementations. */
static inline uint32_t crc32_by_bits(const uint8_t *p, size_t len)
{
	uint32_t crc = ~0u;
	int bit;

	while (len--) {
		crc ^= *p++;
		for (bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
	}
	return ~crc;
}

#endif
