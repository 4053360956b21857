/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads memory of the program that it may have unmapped. */
#ifndef ADV_ABI_CHECK_MEMORY_H
#define ADV_ABI_CHECK_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Continues `hash` with `length` bytes of memory at `addr`. False: a page of them cannot be read,
 * and the hash is unchanged. It is a CRC-32: of two contents that differ, one in four thousand
 * million has the same, and none whose difference spans at most 32 bits. Needs the lock of
 * report.h, which keeps the calls of interpose.c from unmapping the memory. The kernel is asked
 * page by page whether each can be read, once until adv_check_memory_forget(), so another thread
 * that unmaps or protects it just then, by a call that interpose.c does not see, ends the program
 * by SIGSEGV. process_vm_readv(2) would not, and takes eight times as long. */
bool adv_check_memory_hash(uintptr_t addr, size_t length, uint64_t *hash);

/* A new call of the program is observed: pages that could be read in the last one may be gone.
 * Needs the lock. */
void adv_check_memory_forget(void);

/* True if a page of the range is not mapped. A protected page is mapped. */
bool adv_check_memory_is_unmapped(uintptr_t addr, size_t length);

#endif
