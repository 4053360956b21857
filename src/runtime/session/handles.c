/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A handle consists of the index of its place and the number of times the place has been used. */
#include "runtime/session/handles.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define INDEX_BITS  18
#define INDEX_MASK  (ADV_HANDLES_MAX - 1)
#define FIRST_SIZE  16u
#define GENERATIONS 0x3fffu

struct adv_handle_place {
	void *object;	     /* NULL: free */
	uint32_t next_free;  /* index + 1 */
	uint16_t generation; /* 1 to GENERATIONS */
};

_Static_assert(ADV_HANDLES_MAX == 1u << INDEX_BITS, "an index has its bits");

static void put_free(struct adv_handles *h, uint32_t index)
{
	h->place[index].object = NULL;
	h->place[index].next_free = 0;
	if (h->first_free)
		h->place[h->last_free - 1].next_free = index + 1;
	else
		h->first_free = index + 1;
	h->last_free = index + 1;
}

static int grow_table(struct adv_handles *h)
{
	uint32_t size = h->size ? h->size * 2 : FIRST_SIZE;
	struct adv_handle_place *more;

	if (h->size == ADV_HANDLES_MAX)
		return ENOMEM;
	more = realloc(h->place, size * sizeof(*more));
	if (!more)
		return ENOMEM;
	h->place = more;
	for (uint32_t i = h->size; i < size; i++) {
		more[i].generation = 1;
		put_free(h, i);
	}
	h->size = size;
	return 0;
}

int adv_handles_add(struct adv_handles *h, void *object, uint32_t *handle)
{
	struct adv_handle_place *p;
	uint32_t index;

	if (!h->first_free && grow_table(h) != 0)
		return ENOMEM;
	index = h->first_free - 1;
	p = &h->place[index];
	h->first_free = p->next_free;
	p->object = object;
	h->used++;
	*handle = (uint32_t)p->generation << INDEX_BITS | index;
	return 0;
}

static struct adv_handle_place *find_place(const struct adv_handles *h, uint32_t handle)
{
	uint32_t index = handle & INDEX_MASK;

	if (index >= h->size || !h->place[index].object ||
	    h->place[index].generation != handle >> INDEX_BITS)
		return NULL;
	return &h->place[index];
}

void *adv_handles_find(const struct adv_handles *h, uint32_t handle)
{
	struct adv_handle_place *p = find_place(h, handle);

	return p ? p->object : NULL;
}

void adv_handles_remove(struct adv_handles *h, uint32_t handle)
{
	struct adv_handle_place *p = find_place(h, handle);

	assert(p);
	p->generation = p->generation == GENERATIONS ? 1 : p->generation + 1;
	h->used--;
	put_free(h, handle & INDEX_MASK);
}

void adv_handles_free(struct adv_handles *h)
{
	free(h->place);
	memset(h, 0, sizeof(*h));
}
