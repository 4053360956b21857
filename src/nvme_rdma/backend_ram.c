/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Requests to memory. */
#include <string.h>
#include <sys/mman.h>

#include "nvme/status.h"
#include "nvme_rdma/backend_internal.h"

enum { PAGE = 4096 };

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
