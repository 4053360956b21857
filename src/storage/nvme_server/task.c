/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/nvme_server/task.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "storage/nvme/status.h"

enum phase { TRANSFER, PUNCH, ZERO, SYNC, GATHER }; /* GATHER: Copy reads its source */

/* A call takes a short time: other requests of the worker wait no longer, if it blocks. */
#define PUNCH_AT_ONCE (256ull << 20)
#define ZERO_AT_ONCE  (256u << 10)

static uint8_t zeros[ZERO_AT_ONCE] __attribute__((aligned(ADV_NVME_DIRECT_ALIGN)));

bool adv_nvme_task_begin(struct adv_nvme_task *task, struct adv_nvme_request *request)
{
	const struct adv_nvme_io *io = &request->io;

	task->request = request;
	task->done = 0;
	task->buffer = NULL;
	task->phase = TRANSFER;
	if (io->kind == ADV_NVME_IO_FLUSH)
		task->phase = SYNC;
	if (io->kind == ADV_NVME_IO_ZERO || io->kind == ADV_NVME_IO_DEALLOCATE)
		task->phase = PUNCH;
	if (io->kind == ADV_NVME_IO_COPY)
		task->phase = GATHER;
	if (io->kind == ADV_NVME_IO_COMPARE || io->kind == ADV_NVME_IO_COPY) {
		task->buffer = aligned_alloc(ADV_NVME_DIRECT_ALIGN,
					     (io->length + ADV_NVME_DIRECT_ALIGN - 1) /
						     ADV_NVME_DIRECT_ALIGN * ADV_NVME_DIRECT_ALIGN);
		return task->buffer != NULL;
	}
	return true;
}

void adv_nvme_task_end(struct adv_nvme_task *task)
{
	free(task->buffer);
	task->buffer = NULL;
}

/* O_DIRECT needs aligned memory, offset and length. Data in a capsule, and the rest of a short
 * transfer, may have others. */
static int choose_fd(const struct adv_nvme_backend *b, const struct adv_nvme_call *call)
{
	uintptr_t all = (uintptr_t)call->data | call->length | call->offset;

	return b->direct_fd >= 0 && all % ADV_NVME_DIRECT_ALIGN == 0 ? b->direct_fd : b->fd;
}

static bool is_write(const struct adv_nvme_io *io)
{
	return io->kind == ADV_NVME_IO_WRITE || io->kind == ADV_NVME_IO_COPY;
}

void adv_nvme_task_call(const struct adv_nvme_task *task, struct adv_nvme_call *call)
{
	const struct adv_nvme_io *io = &task->request->io;
	const struct adv_nvme_backend *b = io->backend;

	memset(call, 0, sizeof(*call));
	call->fd = b->fd;
	call->offset = io->offset + task->done;
	call->length = io->length - task->done;
	switch (task->phase) {
	case TRANSFER:
		call->kind = is_write(io) ? ADV_NVME_CALL_WRITE : ADV_NVME_CALL_READ;
		call->data = (task->buffer ? task->buffer : io->data) + task->done;
		call->flags = is_write(io) && io->fua ? RWF_DSYNC : 0;
		call->fd = choose_fd(b, call);
		break;
	case GATHER:
		call->kind = ADV_NVME_CALL_READ;
		call->offset = io->source + task->done;
		call->data = task->buffer + task->done;
		call->fd = choose_fd(b, call);
		break;
	case PUNCH:
		call->kind = ADV_NVME_CALL_FALLOCATE;
		if (call->length > PUNCH_AT_ONCE)
			call->length = PUNCH_AT_ONCE;
		call->flags = FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE;
		if (io->kind == ADV_NVME_IO_ZERO && !io->may_deallocate)
			call->flags = FALLOC_FL_KEEP_SIZE | FALLOC_FL_ZERO_RANGE;
		break;
	case ZERO:
		call->kind = ADV_NVME_CALL_WRITE;
		if (call->length > ZERO_AT_ONCE)
			call->length = ZERO_AT_ONCE;
		call->data = zeros;
		call->fd = choose_fd(b, call);
		break;
	default:
		call->kind = ADV_NVME_CALL_SYNC;
		break;
	}
}

static uint16_t status_of(enum adv_nvme_io_kind kind, int err)
{
	if (err == ENOSPC || err == EDQUOT)
		return ADV_NVME_CAPACITY_EXCEEDED;
	if (err == EROFS || err == EPERM || err == EBADF)
		return ADV_NVME_WRITE_PROTECTED | ADV_NVME_DNR;
	if (kind == ADV_NVME_IO_READ || kind == ADV_NVME_IO_COMPARE)
		return ADV_NVME_READ_ERROR;
	return ADV_NVME_WRITE_FAULT;
}

/* All bytes of the phase are done. True: the request has ended. */
static bool finish_phase(struct adv_nvme_task *task, uint16_t *status)
{
	const struct adv_nvme_io *io = &task->request->io;

	*status = ADV_NVME_SUCCESS;
	if (task->phase == GATHER) {
		task->phase = TRANSFER;
		task->done = 0;
		return false;
	}
	if (io->kind == ADV_NVME_IO_COMPARE && memcmp(task->buffer, io->data, io->length) != 0)
		*status = ADV_NVME_COMPARE_FAILURE;
	if ((task->phase == PUNCH || task->phase == ZERO) && io->fua) {
		task->phase = SYNC;
		return false;
	}
	return true;
}

static bool cannot_punch(int err)
{
	return err == EOPNOTSUPP || err == ENOSYS || err == EINVAL;
}

bool adv_nvme_task_called(struct adv_nvme_task *task, int result, uint16_t *status)
{
	const struct adv_nvme_io *io = &task->request->io;
	struct adv_nvme_call call;

	if (result == -EINTR || result == -EAGAIN)
		return false;
	if (task->phase == PUNCH && cannot_punch(-result)) {
		/* Deallocation is advice: without it, the data stays. */
		*status = ADV_NVME_SUCCESS;
		if (io->kind == ADV_NVME_IO_DEALLOCATE)
			return true;
		task->phase = ZERO;
		return false;
	}
	if (result < 0 || (result == 0 && task->phase != PUNCH && task->phase != SYNC)) {
		/* 0 bytes: the file has been truncated. */
		*status = status_of(task->phase == GATHER ? ADV_NVME_IO_READ : io->kind,
				    result ? -result : EIO);
		return true;
	}
	adv_nvme_task_call(task, &call);
	if (task->phase == SYNC)
		return finish_phase(task, status);
	task->done += task->phase == PUNCH ? call.length : (uint64_t)result;
	return task->done >= io->length && finish_phase(task, status);
}
