/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How long the results of version 4 can be, without DDP-eligible data and without what the
 * arguments permit (RFC 7530, RFC 8881, RFC 7862). */
#ifndef ADV_STORAGE_NFS_RESULT_SIZE_H
#define ADV_STORAGE_NFS_RESULT_SIZE_H

#include <stdint.h>

/* The most bytes of an operation's result, its number and status included. GETATTR: without the
 * values of the attributes. 0: no bound is known. */
uint32_t adv_nfs_result_size(uint32_t operation);

/* The most bytes of the values of attributes; word `index` of a bitmap4 asks for them. UINT32_MAX:
 * no bound is known. */
uint32_t adv_nfs_attributes_size(uint32_t index, uint32_t word);

#endif
