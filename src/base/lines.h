/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory of whole cache lines, for objects of which each packet uses a part. */
#ifndef ADV_BASE_LINES_H
#define ADV_BASE_LINES_H

#include <stdlib.h>
#include <string.h>

#define ADV_CACHE_LINE 64

/* Returns at least `bytes` bytes that are all zero, from the begin of a cache line on. free() frees
 * them. NULL: no memory. */
static inline void *adv_lines_calloc(size_t bytes)
{
	size_t room = (bytes + ADV_CACHE_LINE - 1) / ADV_CACHE_LINE * ADV_CACHE_LINE;
	void *p = aligned_alloc(ADV_CACHE_LINE, room);

	return p ? memset(p, 0, room) : NULL;
}

#endif
