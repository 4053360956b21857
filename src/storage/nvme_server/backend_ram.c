/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory as a backend: its registrations, and requests to it. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "storage/nvme/status.h"
#include "storage/nvme_server/backend_internal.h"
#include "storage/kit/memory.h"

enum { PAGE = 4096 };

/* --- registrations --- */

static size_t extent_count(const struct adv_nvme_backend *b)
{
	return (b->size + ADV_NVME_EXTENT - 1) / ADV_NVME_EXTENT;
}

void adv_nvme_backend_register(struct adv_nvme_backend *b, struct ibv_pd *pd)
{
	if (!b->memory || b->mr)
		return;
	/* It fails if the limit of locked memory is too low, with a card. */
	b->mr = ibv_reg_mr(pd, b->memory, b->size, 0);
	if (b->mr)
		b->extents = calloc(extent_count(b), sizeof(b->extents[0]));
}

void adv_nvme_backend_deregister(struct adv_nvme_backend *b)
{
	for (size_t i = 0; b->extents && i < extent_count(b); i++) {
		struct ibv_mr *mr = atomic_load(&b->extents[i].mr);

		if (mr)
			ibv_dereg_mr(mr);
	}
	free(b->extents);
	b->extents = NULL;
	if (b->mr)
		ibv_dereg_mr(b->mr);
	b->mr = NULL;
}

uint8_t *adv_nvme_backend_memory(const struct adv_nvme_backend *b, uint64_t offset, uint32_t *lkey)
{
	if (!b->mr)
		return NULL;
	*lkey = b->mr->lkey;
	return b->memory + offset;
}

uint8_t *adv_nvme_backend_writable(const struct adv_nvme_backend *b, uint64_t offset,
				   uint64_t length, uint32_t *lkey)
{
	uint64_t index = offset / ADV_NVME_EXTENT;
	struct ibv_mr *mr;

	if (!b->extents || length > ADV_NVME_EXTENT - offset % ADV_NVME_EXTENT)
		return NULL;
	mr = atomic_load_explicit(&b->extents[index].mr, memory_order_acquire);
	if (!mr)
		return NULL;
	*lkey = mr->lkey;
	return b->memory + offset;
}

void adv_nvme_backend_fetch(const struct adv_nvme_backend *b, const struct adv_nvme_io *io)
{
	if (b->memory && io->kind == ADV_NVME_IO_READ)
		adv_kit_memory_fetch(b->memory + io->offset, io->length);
	else if (b->memory && io->kind == ADV_NVME_IO_WRITE)
		adv_kit_memory_fetch_to_write(b->memory + io->offset, io->length);
}

/* Counts written bytes, and registers the extent for writing when they are as many as it has. The
 * thread whose bytes are the ones that suffice registers it. If that fails, Writes to the extent
 * are copied for good. */
static void count_written(const struct adv_nvme_backend *b, uint64_t offset, uint64_t length)
{
	uint64_t index = offset / ADV_NVME_EXTENT, start = index * ADV_NVME_EXTENT;
	uint64_t size = b->size - start < ADV_NVME_EXTENT ? b->size - start : ADV_NVME_EXTENT;
	struct adv_nvme_extent *extent = &b->extents[index];
	uint64_t before;

	/* The addition would wait until all the bytes have left the store buffer. */
	if (atomic_load_explicit(&extent->written, memory_order_relaxed) >= size)
		return;
	before = atomic_fetch_add(&extent->written, length);
	if (before < size && before + length >= size)
		atomic_store_explicit(
			&extent->mr,
			ibv_reg_mr(b->mr->pd, b->memory + start, size, IBV_ACCESS_LOCAL_WRITE),
			memory_order_release);
}

/* --- requests --- */

/* Whole pages return to the system; they read as zeros. A device may go on with the old pages of
 * registered memory. */
static void clear_memory(const struct adv_nvme_backend *b, uint8_t *at, uint64_t length)
{
	uint8_t *end = at + length;
	uint8_t *first = (uint8_t *)(((uintptr_t)at + PAGE - 1) & ~(uintptr_t)(PAGE - 1));
	uint8_t *last = (uint8_t *)((uintptr_t)end & ~(uintptr_t)(PAGE - 1));

	if (b->mr || first >= last || madvise(first, (size_t)(last - first), MADV_DONTNEED) != 0) {
		memset(at, 0, length);
		return;
	}
	memset(at, 0, (size_t)(first - at));
	memset(last, 0, (size_t)(end - last));
}

uint16_t adv_nvme_ram_execute(const struct adv_nvme_backend *b, const struct adv_nvme_io *io)
{
	uint8_t *at = b->memory + io->offset;

	switch (io->kind) {
	case ADV_NVME_IO_READ:
		if (io->data != at)
			memcpy(io->data, at, io->length);
		return ADV_NVME_SUCCESS;
	case ADV_NVME_IO_WRITE:
		memcpy(at, io->data, io->length);
		if (b->extents)
			count_written(b, io->offset, io->length);
		return ADV_NVME_SUCCESS;
	case ADV_NVME_IO_COPY:
		memmove(at, b->memory + io->source, io->length);
		if (b->extents)
			count_written(b, io->offset, io->length);
		return ADV_NVME_SUCCESS;
	case ADV_NVME_IO_COMPARE:
		return memcmp(at, io->data, io->length) ? ADV_NVME_COMPARE_FAILURE
							: ADV_NVME_SUCCESS;
	case ADV_NVME_IO_ZERO:
	case ADV_NVME_IO_DEALLOCATE:
		clear_memory(b, at, io->length);
		return ADV_NVME_SUCCESS;
	case ADV_NVME_IO_FLUSH:
		return ADV_NVME_SUCCESS;
	}
	return ADV_NVME_INTERNAL_ERROR;
}
