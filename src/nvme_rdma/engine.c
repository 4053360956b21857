/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The engine of a worker. Memory is served at once. Reads, writes and flushes of files go through
 * io_uring; where it is missing or not permitted, by system calls that block.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#ifdef ADV_HAVE_LIBURING
#include <liburing.h>
#endif

#include "nvme/status.h"
#include "nvme_rdma/backend_internal.h"

#ifdef ADV_HAVE_LIBURING

enum { ENTRIES = 256 };

struct adv_nvme_engine {
	struct io_uring ring;
	bool uring;
	unsigned prepared;
	struct adv_list waiting; /* requests that found the submission queue full */
};

struct adv_nvme_engine *adv_nvme_engine_create(int wake)
{
	struct adv_nvme_engine *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	adv_list_init(&e->waiting);
	/* Containers often forbid io_uring. */
	if (io_uring_queue_init(ENTRIES, &e->ring, 0) != 0)
		return e;
	e->uring = true;
	if (io_uring_register_eventfd(&e->ring, wake) != 0) {
		io_uring_queue_exit(&e->ring);
		e->uring = false;
	}
	return e;
}

void adv_nvme_engine_destroy(struct adv_nvme_engine *e)
{
	if (e->uring)
		io_uring_queue_exit(&e->ring);
	free(e);
}

/* request->user counts the bytes that are done. */
static uint64_t done_of(const struct adv_nvme_request *request)
{
	return (uintptr_t)request->user;
}

/* False: the submission queue is full. */
static bool prepare(struct adv_nvme_engine *e, struct adv_nvme_request *request)
{
	const struct adv_nvme_backend *b = request->io.backend;
	const struct adv_nvme_io *io = &request->io;
	struct io_uring_sqe *sqe = io_uring_get_sqe(&e->ring);
	uint64_t done = done_of(request);

	if (!sqe) {
		io_uring_submit(&e->ring);
		sqe = io_uring_get_sqe(&e->ring);
	}
	if (!sqe)
		return false;
	if (io->kind == ADV_NVME_IO_READ) {
		io_uring_prep_read(sqe, b->fd, io->data + done, (unsigned)(io->length - done),
				   io->offset + done);
	} else if (io->kind == ADV_NVME_IO_WRITE) {
		io_uring_prep_write(sqe, b->fd, io->data + done, (unsigned)(io->length - done),
				    io->offset + done);
		sqe->rw_flags = io->fua ? RWF_DSYNC : 0;
	} else {
		io_uring_prep_fsync(sqe, b->fd, IORING_FSYNC_DATASYNC);
	}
	io_uring_sqe_set_data(sqe, request);
	e->prepared++;
	return true;
}

bool adv_nvme_engine_start(struct adv_nvme_engine *e, struct adv_nvme_request *request,
			   uint16_t *status)
{
	const struct adv_nvme_backend *b = request->io.backend;
	enum adv_nvme_io_kind kind = request->io.kind;

	if (b->fd < 0) {
		*status = adv_nvme_ram_execute(b, &request->io);
		return true;
	}
	if (!e->uring ||
	    (kind != ADV_NVME_IO_READ && kind != ADV_NVME_IO_WRITE && kind != ADV_NVME_IO_FLUSH)) {
		*status = adv_nvme_file_execute(b, &request->io);
		return true;
	}
	request->user = NULL;
	if (!prepare(e, request))
		adv_list_add_tail(&e->waiting, &request->link);
	return false;
}

void adv_nvme_engine_submit(struct adv_nvme_engine *e)
{
	if (e->prepared) {
		io_uring_submit(&e->ring);
		e->prepared = 0;
	}
}

/* True: the request has ended with *status. */
static bool handle(struct adv_nvme_engine *e, struct adv_nvme_request *request, int result,
		   uint16_t *status)
{
	const struct adv_nvme_io *io = &request->io;
	uint64_t done = done_of(request);

	if (result != -EINTR && result != -EAGAIN) {
		if (result < 0 || (result == 0 && io->kind != ADV_NVME_IO_FLUSH)) {
			/* 0 bytes: the file has been truncated. */
			*status = adv_nvme_file_status(io->kind, result ? -result : EIO);
			return true;
		}
		done += (uint64_t)result;
		request->user = (void *)(uintptr_t)done;
		if (done >= io->length) {
			*status = ADV_NVME_SUCCESS;
			return true;
		}
	}
	if (!prepare(e, request))
		adv_list_add_tail(&e->waiting, &request->link);
	return false;
}

struct adv_nvme_request *adv_nvme_engine_next(struct adv_nvme_engine *e, uint16_t *status)
{
	struct adv_nvme_request *request;
	struct io_uring_cqe *cqe;
	int result;

	while (e->uring && io_uring_peek_cqe(&e->ring, &cqe) == 0) {
		request = io_uring_cqe_get_data(cqe);
		result = cqe->res;
		io_uring_cqe_seen(&e->ring, cqe);
		if (!adv_list_empty(&e->waiting)) {
			struct adv_nvme_request *next =
				adv_container_of(e->waiting.next, struct adv_nvme_request, link);

			if (prepare(e, next))
				adv_list_del(&next->link);
		}
		if (handle(e, request, result, status))
			return request;
	}
	adv_nvme_engine_submit(e);
	return NULL;
}

#else

struct adv_nvme_engine {
	int unused;
};

struct adv_nvme_engine *adv_nvme_engine_create(int wake)
{
	return calloc(1, sizeof(struct adv_nvme_engine));
}

void adv_nvme_engine_destroy(struct adv_nvme_engine *e)
{
	free(e);
}

bool adv_nvme_engine_start(struct adv_nvme_engine *e, struct adv_nvme_request *request,
			   uint16_t *status)
{
	const struct adv_nvme_backend *b = request->io.backend;

	*status = b->fd < 0 ? adv_nvme_ram_execute(b, &request->io)
			    : adv_nvme_file_execute(b, &request->io);
	return true;
}

void adv_nvme_engine_submit(struct adv_nvme_engine *e)
{
}

struct adv_nvme_request *adv_nvme_engine_next(struct adv_nvme_engine *e, uint16_t *status)
{
	return NULL;
}

#endif
