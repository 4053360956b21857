/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The rule on memory that the program gives back: unmapped-while-registered. */
#ifndef ADV_ABI_RULES_FREED_H
#define ADV_ABI_RULES_FREED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/check/object.h"

/* A region was registered: from now on adv_check_may_be_registered() is true for its memory. */
void adv_check_freed_watch(const struct adv_check_mr *mr);

/* True if a byte of the range may be inside a region. Any thread, without the lock; cheap. */
bool adv_check_may_be_registered(uintptr_t addr, size_t length);

/*
 * A call that gives back memory begins. If the memory may be registered, the function acquires the
 * lock, so that no buffer is read while it goes, and returns true. Then the caller makes the call,
 * and calls adv_check_freed(). It releases the lock, and reports the memory unless name, such as
 * "free", is NULL because the memory stayed.
 */
bool adv_check_freeing(uintptr_t addr, size_t length);
void adv_check_freed(const char *name, uintptr_t addr, size_t length);

#endif
