/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Allocations that fail when a test says so. Of a program that is linked with no_memory_dep: those
 * by malloc(3), calloc(3), realloc(3) and aligned_alloc(3) in its own code and in static libraries.
 * One thread.
 */
#ifndef ADV_TESTS_BASE_NO_MEMORY_H
#define ADV_TESTS_BASE_NO_MEMORY_H

/* The n-th allocation from now on fails, those after it succeed; counted down. 0: none fails, or
 * it has failed. */
extern unsigned no_memory_at;

#endif
