/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The engine of a worker. Memory is served at once. Calls of files go through io_uring; where it is
 * missing or not permitted, they block: one call at a time, between the other work of the worker.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#ifdef ADV_HAVE_LIBURING
#include <liburing.h>
#endif

#include "storage/nvme/status.h"
#include "storage/nvme_server/task.h"

struct adv_nvme_engine {
	int wake;
	bool uring;
	struct adv_list free;	 /* tasks */
	struct adv_list waiting; /* tasks whose next call has not been made */
#ifdef ADV_HAVE_LIBURING
	struct io_uring ring;
	unsigned prepared;
#endif
};

static struct adv_nvme_task *take_first(struct adv_list *list)
{
	struct adv_nvme_task *task;

	if (adv_list_empty(list))
		return NULL;
	task = adv_container_of(list->next, struct adv_nvme_task, link);
	adv_list_del(&task->link);
	return task;
}

/* --- calls that block --- */

static int make_call(const struct adv_nvme_call *call)
{
	struct iovec iov = {call->data, call->length};
	ssize_t n = 0;

	switch (call->kind) {
	case ADV_NVME_CALL_READ:
		n = preadv2(call->fd, &iov, 1, (off_t)call->offset, 0);
		break;
	case ADV_NVME_CALL_WRITE:
		n = pwritev2(call->fd, &iov, 1, (off_t)call->offset, call->flags);
		break;
	case ADV_NVME_CALL_FALLOCATE:
		n = fallocate(call->fd, call->flags, (off_t)call->offset, (off_t)call->length);
		break;
	case ADV_NVME_CALL_SYNC:
		n = fdatasync(call->fd);
		break;
	}
	return n < 0 ? -errno : (int)n;
}

/* Makes a call of the first waiting task, which then is the last one. Returns the task if its
 * request has ended. */
static struct adv_nvme_task *call_one(struct adv_nvme_engine *e, uint16_t *status)
{
	struct adv_nvme_task *task = take_first(&e->waiting);
	uint64_t one = 1;
	struct adv_nvme_call call;

	if (!task)
		return NULL;
	adv_nvme_task_call(task, &call);
	if (adv_nvme_task_called(task, make_call(&call), status))
		return task;
	adv_list_add_tail(&e->waiting, &task->link);
	/* EAGAIN: it is signalled already. */
	if (write(e->wake, &one, sizeof(one)) < 0 && errno != EAGAIN)
		perror("eventfd");
	return NULL;
}

/* --- io_uring --- */

#ifdef ADV_HAVE_LIBURING

enum { ENTRIES = 256 };

static bool create_ring(struct adv_nvme_engine *e)
{
	/* Containers often forbid io_uring. */
	if (io_uring_queue_init(ENTRIES, &e->ring, 0) != 0)
		return false;
	if (io_uring_register_eventfd(&e->ring, e->wake) == 0)
		return true;
	io_uring_queue_exit(&e->ring);
	return false;
}

static void destroy_ring(struct adv_nvme_engine *e)
{
	io_uring_queue_exit(&e->ring);
}

/* False: the submission queue is full. */
static bool prepare_call(struct adv_nvme_engine *e, struct adv_nvme_task *task)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&e->ring);
	struct adv_nvme_call call;

	if (!sqe) {
		io_uring_submit(&e->ring);
		sqe = io_uring_get_sqe(&e->ring);
	}
	if (!sqe)
		return false;
	adv_nvme_task_call(task, &call);
	switch (call.kind) {
	case ADV_NVME_CALL_READ:
		io_uring_prep_read(sqe, call.fd, call.data, (unsigned)call.length, call.offset);
		break;
	case ADV_NVME_CALL_WRITE:
		io_uring_prep_write(sqe, call.fd, call.data, (unsigned)call.length, call.offset);
		sqe->rw_flags = call.flags;
		break;
	case ADV_NVME_CALL_FALLOCATE:
		io_uring_prep_fallocate(sqe, call.fd, call.flags, (off_t)call.offset,
					(off_t)call.length);
		break;
	case ADV_NVME_CALL_SYNC:
		io_uring_prep_fsync(sqe, call.fd, IORING_FSYNC_DATASYNC);
		break;
	}
	io_uring_sqe_set_data(sqe, task);
	e->prepared++;
	return true;
}

static void prepare_or_wait(struct adv_nvme_engine *e, struct adv_nvme_task *task)
{
	if (!adv_list_empty(&e->waiting) || !prepare_call(e, task))
		adv_list_add_tail(&e->waiting, &task->link);
}

static void submit_ring(struct adv_nvme_engine *e)
{
	if (!e->prepared)
		return;
	io_uring_submit(&e->ring);
	e->prepared = 0;
}

static struct adv_nvme_task *next_of_ring(struct adv_nvme_engine *e, uint16_t *status)
{
	struct adv_nvme_task *task, *next;
	struct io_uring_cqe *cqe;
	int result;

	while (io_uring_peek_cqe(&e->ring, &cqe) == 0) {
		task = io_uring_cqe_get_data(cqe);
		result = cqe->res;
		io_uring_cqe_seen(&e->ring, cqe);
		while ((next = take_first(&e->waiting)) != NULL && prepare_call(e, next))
			;
		if (next)
			adv_list_add(&e->waiting, &next->link);
		if (adv_nvme_task_called(task, result, status))
			return task;
		prepare_or_wait(e, task);
	}
	submit_ring(e);
	return NULL;
}

#else

static bool create_ring(struct adv_nvme_engine *e)
{
	return false;
}

static void destroy_ring(struct adv_nvme_engine *e)
{
}

static void prepare_or_wait(struct adv_nvme_engine *e, struct adv_nvme_task *task)
{
}

static void submit_ring(struct adv_nvme_engine *e)
{
}

static struct adv_nvme_task *next_of_ring(struct adv_nvme_engine *e, uint16_t *status)
{
	return NULL;
}

#endif

/* --- the engine --- */

struct adv_nvme_engine *adv_nvme_engine_create(int wake, bool uring)
{
	struct adv_nvme_engine *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->wake = wake;
	adv_list_init(&e->free);
	adv_list_init(&e->waiting);
	e->uring = uring && create_ring(e);
	return e;
}

void adv_nvme_engine_destroy(struct adv_nvme_engine *e)
{
	struct adv_nvme_task *task;

	if (e->uring)
		destroy_ring(e);
	while ((task = take_first(&e->free)) != NULL)
		free(task);
	free(e);
}

bool adv_nvme_engine_start(struct adv_nvme_engine *e, struct adv_nvme_request *request,
			   uint16_t *status)
{
	const struct adv_nvme_backend *b = request->io.backend;
	struct adv_nvme_task *task;

	if (b->fd < 0) {
		*status = adv_nvme_ram_execute(b, &request->io);
		return true;
	}
	task = take_first(&e->free);
	if (!task)
		task = calloc(1, sizeof(*task));
	*status = ADV_NVME_INTERNAL_ERROR;
	if (!task)
		return true;
	if (!adv_nvme_task_begin(task, request)) {
		adv_list_add(&e->free, &task->link);
		return true;
	}
	if (e->uring)
		prepare_or_wait(e, task);
	else
		adv_list_add_tail(&e->waiting, &task->link);
	return false;
}

void adv_nvme_engine_submit(struct adv_nvme_engine *e)
{
	if (e->uring)
		submit_ring(e);
}

struct adv_nvme_request *adv_nvme_engine_next(struct adv_nvme_engine *e, uint16_t *status)
{
	struct adv_nvme_task *task = e->uring ? next_of_ring(e, status) : call_one(e, status);

	if (!task)
		return NULL;
	adv_nvme_task_end(task);
	adv_list_add(&e->free, &task->link);
	return task->request;
}
