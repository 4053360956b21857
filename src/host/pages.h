/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The program's memory, as a NIC's driver looks at it: are there pages, and may they be used. By
 * raw system calls, as memory hooks of programs stand on madvise(). Any thread.
 */
#ifndef ADV_HOST_PAGES_H
#define ADV_HOST_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Brings the pages of the range in, as pinning them would, to be written where to_write. 0; EFAULT:
 * part of it is not mapped, or not so; EINVAL: the range wraps. */
int adv_pages_populate(const void *addr, size_t length, bool to_write);

/* The same for adv_engine_config.page_in. */
bool adv_pages_in(void *addr, uint64_t length, bool to_write);

/* 0; EFAULT: not all of the range is mapped; EINVAL: it wraps. No page is brought in. */
int adv_pages_mapped(const void *addr, size_t length);

#endif
