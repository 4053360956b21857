/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/kit/memory.h"

#include <errno.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)
#define PAGE	  ((size_t)4096)
#define LINE	  64
/* Bytes to fetch: the processor fetches what follows by itself when they are used in order. */
#define FETCHED_MOST 4096

/* Maps whole pages at a multiple of HUGE_PAGE. NULL: failed, errno is set. */
static uint8_t *map_aligned(size_t size)
{
	uint8_t *p = mmap(NULL, size + HUGE_PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	size_t before;

	if (p == MAP_FAILED)
		return NULL;
	before = -(uintptr_t)p & (HUGE_PAGE - 1);
	if (before)
		munmap(p, before);
	if (before < HUGE_PAGE)
		munmap(p + before + size, HUGE_PAGE - before);
	return p + before;
}

uint8_t *adv_kit_memory_map(size_t size)
{
	uint8_t *p;

	if (size > SIZE_MAX - HUGE_PAGE - PAGE) {
		errno = ENOMEM;
		return NULL;
	}
	p = map_aligned((size + PAGE - 1) & ~(PAGE - 1));
	/* Random blocks would need an entry of the TLB each. Where it is refused nothing changes.
	 */
	if (p && size >= HUGE_PAGE)
		madvise(p, size, MADV_HUGEPAGE);
	return p;
}

void adv_kit_memory_fetch(const uint8_t *at, size_t size)
{
	size_t end = size < FETCHED_MOST ? size : FETCHED_MOST;

#pragma GCC unroll 16
	for (size_t i = 0; i < end; i += LINE)
		__builtin_prefetch(at + i, 0);
}

void adv_kit_memory_fetch_to_write(const uint8_t *at, size_t size)
{
	size_t end = size < FETCHED_MOST ? size : FETCHED_MOST;

#pragma GCC unroll 16
	for (size_t i = 0; i < end; i += LINE)
		__builtin_prefetch(at + i, 1);
}
