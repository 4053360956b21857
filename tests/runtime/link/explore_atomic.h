/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Replaces the atomic operations of the code that tests/runtime/link/explore.h explores. The code
 * includes this file first. */
#ifndef ADV_TESTS_RUNTIME_LINK_EXPLORE_ATOMIC_H
#define ADV_TESTS_RUNTIME_LINK_EXPLORE_ATOMIC_H

#include <stdatomic.h>

#include "explore.h"

/* The type without its qualifiers, which the comma operator removes. */
#define EXPLORE_VALUE(p) __typeof__((void)0, *(p))

#undef atomic_load_explicit
#define atomic_load_explicit(p, order) ((EXPLORE_VALUE(p))explore_load((p), sizeof(*(p))))

#undef atomic_store_explicit
#define atomic_store_explicit(p, value, order)                                                     \
	explore_store((p), sizeof(*(p)), (uint64_t)(value), (order))

#undef atomic_exchange_explicit
#define atomic_exchange_explicit(p, value, order)                                                  \
	((EXPLORE_VALUE(p))explore_exchange((p), sizeof(*(p)), (uint64_t)(value)))

#undef atomic_thread_fence
#define atomic_thread_fence(order) explore_fence(order)

#endif
