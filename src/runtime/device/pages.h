/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Checks and populates pages of the program's memory, like a NIC's driver: whether pages exist, and
 * whether they may be used. Uses raw system calls, as memory hooks of programs replace madvise().
 * Any thread may call these functions.
 */
#ifndef ADV_RUNTIME_DEVICE_PAGES_H
#define ADV_RUNTIME_DEVICE_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Populates the pages of the range, like pinning. to_write: for writing. 0; EFAULT: part of the
 * range is not mapped, or lacks the permission; EINVAL: the range wraps. */
int adv_pages_populate(const void *addr, size_t length, bool to_write);

/* As adv_pages_populate(), for adv_engine_config.page_in. True if it succeeds. */
bool adv_pages_in(void *addr, uint64_t length, bool to_write);

#endif
