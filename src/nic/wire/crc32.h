/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef ADV_NIC_WIRE_CRC32_H
#define ADV_NIC_WIRE_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* Returns Ethernet's CRC-32, computed by one small table, for builds without ISA-L. crc: the CRC of
 * the preceding bytes, or 0. */
uint32_t adv_crc32(uint32_t crc, const void *p, size_t len);

#endif
