/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/kit/buffers.h"
#include "storage/kit/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { PAGE_SHIFT = 12, ORDERS = 20 };
#define NOTHING UINT32_MAX

/* A page of the pool. The first page of a free block links it to the other free ones of its order.
 */
struct page {
	uint32_t next, previous;
	bool free;
	uint8_t order;
};

struct adv_kit_buffers {
	uint8_t *memory;
	size_t size;
	struct ibv_mr *mr;
	struct page *pages;
	unsigned top; /* order of the largest block */
	uint32_t heads[ORDERS];
};

static unsigned order_of(size_t len)
{
	unsigned order = 0;

	while (((size_t)1 << (PAGE_SHIFT + order)) < len)
		order++;
	return order;
}

static void push_block(struct adv_kit_buffers *b, uint32_t at, unsigned order)
{
	struct page *page = &b->pages[at];

	page->free = true;
	page->order = (uint8_t)order;
	page->previous = NOTHING;
	page->next = b->heads[order];
	if (page->next != NOTHING)
		b->pages[page->next].previous = at;
	b->heads[order] = at;
}

static void unlink_block(struct adv_kit_buffers *b, uint32_t at)
{
	struct page *page = &b->pages[at];

	if (page->previous == NOTHING)
		b->heads[page->order] = page->next;
	else
		b->pages[page->previous].next = page->next;
	if (page->next != NOTHING)
		b->pages[page->next].previous = page->previous;
	page->free = false;
}

struct adv_kit_buffers *adv_kit_buffers_create(struct ibv_pd *pd, size_t size, size_t largest)
{
	struct adv_kit_buffers *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->top = order_of(largest);
	b->size = (size + ((size_t)1 << (PAGE_SHIFT + b->top)) - 1) >>
		  (PAGE_SHIFT + b->top) << (PAGE_SHIFT + b->top);
	b->pages = calloc(b->size >> PAGE_SHIFT, sizeof(struct page));
	b->memory = adv_kit_memory_map(b->size);
	if (b->memory && b->pages)
		b->mr = ibv_reg_mr(pd, b->memory, b->size, IBV_ACCESS_LOCAL_WRITE);
	if (!b->mr) {
		adv_kit_buffers_destroy(b);
		return NULL;
	}
	for (unsigned i = 0; i < ORDERS; i++)
		b->heads[i] = NOTHING;
	for (uint32_t at = 0; at < b->size >> PAGE_SHIFT; at += 1u << b->top)
		push_block(b, at, b->top);
	return b;
}

void adv_kit_buffers_destroy(struct adv_kit_buffers *b)
{
	int err = errno;

	if (b->mr)
		ibv_dereg_mr(b->mr);
	if (b->memory)
		munmap(b->memory, b->size);
	free(b->pages);
	free(b);
	errno = err;
}

uint8_t *adv_kit_buffers_get(struct adv_kit_buffers *b, size_t len)
{
	unsigned wanted = order_of(len), order = wanted;
	uint32_t at;

	while (order <= b->top && b->heads[order] == NOTHING)
		order++;
	if (order > b->top)
		return NULL;
	at = b->heads[order];
	unlink_block(b, at);
	while (order > wanted) {
		order--;
		push_block(b, at + (1u << order), order);
	}
	return b->memory + ((size_t)at << PAGE_SHIFT);
}

bool adv_kit_buffers_owns(const struct adv_kit_buffers *b, const uint8_t *address)
{
	return address >= b->memory && address < b->memory + b->size;
}

void adv_kit_buffers_put(struct adv_kit_buffers *b, uint8_t *buffer, size_t len)
{
	unsigned order;
	uint32_t at;

	if (!adv_kit_buffers_owns(b, buffer))
		return;
	order = order_of(len);
	at = (uint32_t)((size_t)(buffer - b->memory) >> PAGE_SHIFT);
	for (; order < b->top; order++) {
		uint32_t buddy = at ^ 1u << order;

		if (!b->pages[buddy].free || b->pages[buddy].order != order)
			break;
		unlink_block(b, buddy);
		at &= ~(1u << order);
	}
	push_block(b, at, order);
}

uint32_t adv_kit_buffers_lkey(const struct adv_kit_buffers *b)
{
	return b->mr->lkey;
}
