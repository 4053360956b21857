/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A binary heap. Its elements have one size and are copied: they are values, or pointers to the
 * caller's structures. No element precedes the first element. Positions count from 1. Room is
 * reserved beforehand, so adding never fails. Not thread safe.
 *
 * The order in which equal elements are removed depends only on the sequence of calls.
 *
 * The struct adv_heap_kind is a constant of the caller, so that the compiler inlines its functions.
 */
#ifndef ADV_BASE_HEAP_H
#define ADV_BASE_HEAP_H

#include <assert.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ADV_HEAP_ELEMENT_MAX 32 /* bytes */

struct adv_heap_kind {
	size_t size; /* bytes of an element */
	bool (*before)(const void *a, const void *b);
	/* Notifies the caller of an element's new position; 0: the element was removed. NULL: the
	 * caller does not need positions. */
	void (*moved)(void *element, uint32_t position);
};

struct adv_heap {
	char *slot; /* slot 0 is not used */
	uint32_t count;
	uint32_t slots;
	uint32_t reserved; /* by adv_heap_reserve_one() */
};

/* As adv_heap_reserve(), for a heap that has too little room. */
bool adv_heap_grow(struct adv_heap *h, size_t size, uint32_t count);

/* Makes room for at least `count` elements in total. Never reduces the room. False: no memory, and
 * the heap is unchanged. */
static inline bool adv_heap_reserve(struct adv_heap *h, size_t size, uint32_t count)
{
	return count < h->slots || adv_heap_grow(h, size, count);
}

/* Reserves room for one element in addition to those of earlier calls. A heap uses either this
 * function or adv_heap_reserve(). False: no memory, and the heap is unchanged. */
static inline bool adv_heap_reserve_one(struct adv_heap *h, size_t size)
{
	if (!adv_heap_reserve(h, size, h->reserved + 1))
		return false;
	h->reserved++;
	return true;
}

/* Releases one reservation of adv_heap_reserve_one(). The last release frees the memory. */
void adv_heap_release_one(struct adv_heap *h);

/* Frees the slots and leaves an empty heap without room. */
void adv_heap_free(struct adv_heap *h);

static inline void *adv_heap_at(const struct adv_heap *h, const struct adv_heap_kind *kind,
				uint32_t position)
{
	return h->slot + kind->size * position;
}

/* Returns the first element, still in the heap; NULL: there is none. */
static inline void *adv_heap_first(const struct adv_heap *h, const struct adv_heap_kind *kind)
{
	return h->count ? adv_heap_at(h, kind, 1) : NULL;
}

static inline void adv_heap_place(struct adv_heap *h, const struct adv_heap_kind *kind,
				  uint32_t position, const void *element)
{
	void *slot = adv_heap_at(h, kind, position);

	memcpy(slot, element, kind->size);
	if (kind->moved)
		kind->moved(slot, position);
}

/* Places an element at a free position, or at an ancestor of that position. */
static inline void adv_heap_sift_up(struct adv_heap *h, const struct adv_heap_kind *kind,
				    uint32_t position, const void *element)
{
	while (position > 1 && kind->before(element, adv_heap_at(h, kind, position / 2))) {
		adv_heap_place(h, kind, position, adv_heap_at(h, kind, position / 2));
		position /= 2;
	}
	adv_heap_place(h, kind, position, element);
}

/* Places an element at a free position, or at a descendant of that position. */
static inline void adv_heap_sift_down(struct adv_heap *h, const struct adv_heap_kind *kind,
				      uint32_t position, const void *element)
{
	while (2 * position <= h->count) {
		uint32_t child = 2 * position;

		if (child < h->count &&
		    kind->before(adv_heap_at(h, kind, child + 1), adv_heap_at(h, kind, child)))
			child++;
		if (!kind->before(adv_heap_at(h, kind, child), element))
			break;
		adv_heap_place(h, kind, position, adv_heap_at(h, kind, child));
		position = child;
	}
	adv_heap_place(h, kind, position, element);
}

/* Adds an element. The caller has reserved room for it. */
static inline void adv_heap_add(struct adv_heap *h, const struct adv_heap_kind *kind,
				const void *element)
{
	assert(h->count + 1 < h->slots);
	adv_heap_sift_up(h, kind, ++h->count, element);
}

/* Restores the order after the key of the element at `position` changed. */
static inline void adv_heap_update(struct adv_heap *h, const struct adv_heap_kind *kind,
				   uint32_t position)
{
	alignas(max_align_t) char element[ADV_HEAP_ELEMENT_MAX];

	memcpy(element, adv_heap_at(h, kind, position), kind->size);
	if (position > 1 && kind->before(element, adv_heap_at(h, kind, position / 2)))
		adv_heap_sift_up(h, kind, position, element);
	else
		adv_heap_sift_down(h, kind, position, element);
}

/* As adv_heap_update(), but the changed key moves the element only towards the first position. */
static inline void adv_heap_update_earlier(struct adv_heap *h, const struct adv_heap_kind *kind,
					   uint32_t position)
{
	alignas(max_align_t) char element[ADV_HEAP_ELEMENT_MAX];

	memcpy(element, adv_heap_at(h, kind, position), kind->size);
	adv_heap_sift_up(h, kind, position, element);
}

/* Removes the element at `position`. */
static inline void adv_heap_remove(struct adv_heap *h, const struct adv_heap_kind *kind,
				   uint32_t position)
{
	alignas(max_align_t) char last[ADV_HEAP_ELEMENT_MAX];

	assert(position > 0 && position <= h->count);
	if (kind->moved)
		kind->moved(adv_heap_at(h, kind, position), 0);
	memcpy(last, adv_heap_at(h, kind, h->count), kind->size);
	if (position == h->count--)
		return;
	if (position > 1 && kind->before(last, adv_heap_at(h, kind, position / 2)))
		adv_heap_sift_up(h, kind, position, last);
	else
		adv_heap_sift_down(h, kind, position, last);
}

#endif
