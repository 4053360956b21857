/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef ADV_NIC_IWARP_CRC32C_H
#define ADV_NIC_IWARP_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* The CRC of no bytes. */
#define ADV_CRC32C_START 0xffffffffu

/* Continues a CRC32c (Castagnoli, RFC 3385) with more bytes and returns it. sum: what the last call
 * returned, or ADV_CRC32C_START. */
uint32_t adv_crc32c(uint32_t sum, const void *p, size_t len);

/* Writes the finished CRC to out as an FPDU bears it (RFC 5044 section 4.4): complemented, the
 * least significant byte first. */
void adv_crc32c_put(uint32_t sum, uint8_t out[4]);

#endif
