/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Makes allocations fail, in a program that is linked with no_memory_dep: those by malloc(3),
 * calloc(3), realloc(3) and aligned_alloc(3), in its own code and in static libraries. One thread.
 */
#ifndef ADV_TESTS_COMMON_NO_MEMORY_H
#define ADV_TESTS_COMMON_NO_MEMORY_H

/* The n-th allocation from now on fails; later ones succeed. Counts down. 0: no allocation fails,
 * or it has failed already. */
extern unsigned no_memory_at;

#endif
