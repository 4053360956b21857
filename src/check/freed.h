/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The rule on memory that the program gives back: unmapped-while-registered. */
#ifndef ADV_CHECK_FREED_H
#define ADV_CHECK_FREED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "check/object.h"

/* A region was registered: from now on adv_check_may_be_registered() is true for its memory. */
void adv_check_freed_watch(const struct adv_check_mr *mr);

/* True if the address may be inside a region. Any thread, without the lock; cheap. */
bool adv_check_may_be_registered(uintptr_t addr);
/* As above, for any byte of a range. */
bool adv_check_may_overlap_region(uintptr_t addr, size_t length);

/* The program calls `name`, such as "free", which gives back this memory. Acquires the lock. */
void adv_check_freed(const char *name, uintptr_t addr, size_t length);

#endif
