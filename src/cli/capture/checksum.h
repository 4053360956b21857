/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The Internet checksum (RFC 1071). */
#ifndef ADV_CLI_CAPTURE_CHECKSUM_H
#define ADV_CLI_CAPTURE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

/* Adds bytes to a sum. An odd number of bytes ends it. */
static inline uint64_t adv_checksum_add(uint64_t sum, const uint8_t *p, size_t len)
{
	for (; len > 1; p += 2, len -= 2)
		sum += adv_get_be16(p);
	return len ? sum + ((uint64_t)*p << 8) : sum;
}

static inline uint16_t adv_checksum_fold(uint64_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

#endif
