/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "base/heap.h"

#include <stdlib.h>

#define SLOTS_LEAST 16

bool adv_heap_grow(struct adv_heap *h, size_t size, uint32_t count)
{
	uint32_t slots = h->slots ? h->slots : SLOTS_LEAST;
	char *slot;

	assert(size <= ADV_HEAP_ELEMENT_MAX && count < UINT32_MAX / 2);
	while (slots <= count)
		slots *= 2;
	slot = realloc(h->slot, slots * size);
	if (!slot)
		return false;
	h->slot = slot;
	h->slots = slots;
	return true;
}

void adv_heap_release_one(struct adv_heap *h)
{
	assert(h->reserved > h->count);
	if (--h->reserved == 0)
		adv_heap_free(h);
}

void adv_heap_free(struct adv_heap *h)
{
	free(h->slot);
	memset(h, 0, sizeof(*h));
}
