/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The program's memory, as a NIC's driver sees it: whether pages exist, and whether they may be
 * used. Uses raw system calls, as memory hooks of programs replace madvise(). Any thread.
 */
#ifndef ADV_HOST_PAGES_H
#define ADV_HOST_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Populates the pages of the range, as pinning does; for writing if to_write. 0; EFAULT: part of it
 * is not mapped, or lacks the permission; EINVAL: the range wraps. */
int adv_pages_populate(const void *addr, size_t length, bool to_write);

/* As adv_pages_populate(), for adv_engine_config.page_in. */
bool adv_pages_in(void *addr, uint64_t length, bool to_write);

/* 0; EFAULT: not all of the range is mapped; EINVAL: it wraps. Populates no page. */
int adv_pages_mapped(const void *addr, size_t length);

#endif
