/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Requests to memory, and requests to files that have no asynchronous form or fall back. */
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "nvme/status.h"
#include "nvme_rdma/backend_internal.h"

enum { PAGE = 4096, ZEROS = 65536 };

/* Whole pages return to the system; they read as zeros. */
static void clear_memory(uint8_t *at, uint64_t length)
{
	uint8_t *end = at + length;
	uint8_t *first = (uint8_t *)(((uintptr_t)at + PAGE - 1) & ~(uintptr_t)(PAGE - 1));
	uint8_t *last = (uint8_t *)((uintptr_t)end & ~(uintptr_t)(PAGE - 1));

	if (first >= last || madvise(first, (size_t)(last - first), MADV_DONTNEED) != 0) {
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
		clear_memory(at, io->length);
		return ADV_NVME_SUCCESS;
	case ADV_NVME_IO_FLUSH:
		return ADV_NVME_SUCCESS;
	}
	return ADV_NVME_INTERNAL_ERROR;
}

uint16_t adv_nvme_file_status(enum adv_nvme_io_kind kind, int err)
{
	if (err == ENOSPC || err == EDQUOT)
		return ADV_NVME_CAPACITY_EXCEEDED;
	if (err == EROFS || err == EPERM || err == EBADF)
		return ADV_NVME_WRITE_PROTECTED | ADV_NVME_DNR;
	if (kind == ADV_NVME_IO_READ || kind == ADV_NVME_IO_COMPARE)
		return ADV_NVME_READ_ERROR;
	return ADV_NVME_WRITE_FAULT;
}

/* Reads or writes all of it. The end of the file is an error: it has been truncated. */
static int transfer(const struct adv_nvme_backend *b, bool writes, uint8_t *data, uint64_t offset,
		    uint64_t length, int flags)
{
	while (length > 0) {
		struct iovec iov = {data, length};
		ssize_t n = writes ? pwritev2(b->fd, &iov, 1, (off_t)offset, flags)
				   : preadv2(b->fd, &iov, 1, (off_t)offset, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? errno : EIO;
		data += n;
		offset += (uint64_t)n;
		length -= (uint64_t)n;
	}
	return 0;
}

static int write_zeros(const struct adv_nvme_backend *b, uint64_t offset, uint64_t length)
{
	uint8_t *zeros = calloc(1, ZEROS);
	int err = zeros ? 0 : ENOMEM;

	while (err == 0 && length > 0) {
		uint64_t n = length < ZEROS ? length : ZEROS;

		err = transfer(b, true, zeros, offset, n, 0);
		offset += n;
		length -= n;
	}
	free(zeros);
	return err;
}

uint16_t adv_nvme_file_clear(const struct adv_nvme_backend *b, const struct adv_nvme_io *io)
{
	bool punch = io->kind == ADV_NVME_IO_DEALLOCATE || io->may_deallocate;
	int mode = FALLOC_FL_KEEP_SIZE | (punch ? FALLOC_FL_PUNCH_HOLE : FALLOC_FL_ZERO_RANGE);
	int err = 0;

	if (fallocate(b->fd, mode, (off_t)io->offset, (off_t)io->length) != 0)
		err = errno;
	if (err == EOPNOTSUPP || err == ENOSYS || err == EINVAL) {
		/* Deallocation is advice: without it, the data stays. */
		if (io->kind == ADV_NVME_IO_DEALLOCATE)
			return ADV_NVME_SUCCESS;
		err = write_zeros(b, io->offset, io->length);
	}
	if (err == 0 && io->fua && fdatasync(b->fd) != 0)
		err = errno;
	return err ? adv_nvme_file_status(io->kind, err) : ADV_NVME_SUCCESS;
}

static uint16_t compare(const struct adv_nvme_backend *b, const struct adv_nvme_io *io)
{
	uint8_t *data = malloc(io->length);
	uint16_t status = ADV_NVME_SUCCESS;
	int err;

	if (!data)
		return ADV_NVME_INTERNAL_ERROR;
	err = transfer(b, false, data, io->offset, io->length, 0);
	if (err)
		status = adv_nvme_file_status(io->kind, err);
	else if (memcmp(data, io->data, io->length) != 0)
		status = ADV_NVME_COMPARE_FAILURE;
	free(data);
	return status;
}

uint16_t adv_nvme_file_execute(const struct adv_nvme_backend *b, const struct adv_nvme_io *io)
{
	int err = 0;

	switch (io->kind) {
	case ADV_NVME_IO_READ:
		err = transfer(b, false, io->data, io->offset, io->length, 0);
		break;
	case ADV_NVME_IO_WRITE:
		err = transfer(b, true, io->data, io->offset, io->length, io->fua ? RWF_DSYNC : 0);
		break;
	case ADV_NVME_IO_COMPARE:
		return compare(b, io);
	case ADV_NVME_IO_ZERO:
	case ADV_NVME_IO_DEALLOCATE:
		return adv_nvme_file_clear(b, io);
	case ADV_NVME_IO_FLUSH:
		err = fdatasync(b->fd) != 0 ? errno : 0;
		break;
	}
	return err ? adv_nvme_file_status(io->kind, err) : ADV_NVME_SUCCESS;
}
