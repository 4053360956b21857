/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Arrays that grow by one element at a time. */
#ifndef ADV_BASE_GROW_H
#define ADV_BASE_GROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Gives an array room for so many elements. `array` is the address of its pointer. False: no
 * memory, and nothing changes. */
static inline bool adv_grow_to(void *array, size_t room, size_t size)
{
	void *larger = realloc(*(void **)array, room * size);

	if (larger)
		*(void **)array = larger;
	return larger != NULL;
}

/* Makes room for one more element behind `count`: a full array doubles. False: no memory. */
static inline bool adv_grow(void *array, uint32_t count, uint32_t *room, size_t size)
{
	uint32_t more = *room ? 2 * *room : 64;

	if (count < *room)
		return true;
	if (more < *room || !adv_grow_to(array, more, size))
		return false;
	*room = more;
	return true;
}

/* As adv_grow(), for an array that is full if `count` is 0 or a power of two. */
static inline bool adv_grow_by_count(void *array, uint32_t count, size_t size)
{
	return count & (count - 1) || adv_grow_to(array, count ? 2 * (size_t)count : 1, size);
}

#endif
