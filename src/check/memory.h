/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads memory of the program that it may have unmapped. */
#ifndef ADV_CHECK_MEMORY_H
#define ADV_CHECK_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Continues `hash` with `length` bytes of memory at `addr`. False: a page of them cannot be read,
 * and the hash is unchanged. The kernel is asked page by page whether it can, so a thread that
 * unmaps the memory meanwhile, by a call that interpose.c does not see, ends the program by
 * SIGSEGV. Equal hashes of different contents are as rare as a random 64-bit value that repeats. */
bool adv_check_memory_hash(uintptr_t addr, size_t length, uint64_t *hash);

#endif
