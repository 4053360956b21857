/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How a worker responds: data by WRITE, then the completion by SEND. All responses of a connection
 * that are ready go to the queue pair by one call. */
#include "base/clock.h"
#include "storage/nvme_server/worker_internal.h"

/* A WRITE and the SEND behind it. */
struct response {
	struct ibv_sge data_sge, send_sge;
	struct ibv_send_wr write, send;
};

uint32_t adv_nvme_worker_data_lkey(const struct adv_nvme_worker *w,
				   const struct adv_nvme_request *request)
{
	const struct adv_nvme_io *io = &request->io;
	uint32_t lkey = adv_kit_buffers_lkey(w->buffers);

	if (adv_kit_buffers_owns(w->buffers, request->data))
		return lkey;
	if (request->placed)
		adv_nvme_backend_writable(io->backend, io->offset, io->length, &lkey);
	else
		adv_nvme_backend_memory(io->backend, io->offset, &lkey);
	return lkey;
}

/* Makes the SEND. Sets only the members that its opcode has: to clear the structure would take
 * longer. */
static void fill_send(struct adv_nvme_request *request, struct response *r)
{
	r->send_sge = (struct ibv_sge){(uintptr_t)request->response, sizeof(request->response), 0};
	r->send.wr_id = (uintptr_t)request | ADV_NVME_WR_QUIET;
	r->send.next = NULL;
	r->send.sg_list = &r->send_sge;
	r->send.num_sge = 1;
	r->send.opcode = IBV_WR_SEND;
	r->send.send_flags = IBV_SEND_INLINE;
	if (request->invalidate) {
		r->send.opcode = IBV_WR_SEND_WITH_INV;
		r->send.invalidate_rkey = request->remote.key;
	}
}

static void fill_write(struct adv_nvme_worker *w, struct adv_nvme_request *request,
		       struct response *r)
{
	adv_nvme_worker_fill_transfer(w, request, request->write_length, &r->data_sge, &r->write);
	r->write.wr_id = (uintptr_t)request | ADV_NVME_WR_QUIET;
	r->write.next = &r->send;
	r->write.opcode = IBV_WR_RDMA_WRITE;
	r->write.send_flags = 0;
}

/* Returns the first work request of a response, and ends the chain with its SEND. */
static struct ibv_send_wr *fill_response(struct adv_nvme_worker *w,
					 struct adv_nvme_request *request, struct response *r)
{
	fill_send(request, r);
	if (!request->write_length)
		return &r->send;
	fill_write(w, request, r);
	return &r->write;
}

/* The SENDs complete in their order, so the last one completes for all. Its request names the one
 * before, and so on. */
static void join_responses(struct adv_nvme_request **requests, unsigned count,
			   struct ibv_send_wr *last)
{
	last->wr_id = (uintptr_t)requests[count - 1] | ADV_NVME_WR_SEND;
	last->send_flags |= IBV_SEND_SIGNALED;
	for (unsigned i = 0; i < count; i++)
		requests[i]->user = i > 0 ? requests[i - 1] : NULL;
}

void adv_nvme_worker_sent(struct adv_nvme_worker *w, struct adv_nvme_request *last, uint64_t now)
{
	struct adv_nvme_request *before;

	for (struct adv_nvme_request *r = last; r; r = before) {
		before = r->user;
		adv_kit_buffers_put(w->buffers, r->buffer, r->buffer_length);
		adv_nvme_request_sent(r, now);
	}
}

/* Ends all the requests. No SEND of theirs succeeds: some were not posted, and for the others the
 * queue pair is in the error state. */
static void not_posted(struct adv_nvme_worker *w, struct adv_nvme_request **requests,
		       unsigned count, const struct ibv_send_wr *bad, int err)
{
	adv_nvme_worker_post_failed(w, requests, count, bad, err);
	pthread_mutex_lock(&w->shared->lock);
	adv_nvme_worker_sent(w, requests[count - 1], adv_clock_ns());
	pthread_mutex_unlock(&w->shared->lock);
}

/* The requests belong to one queue. */
static void post_responses(struct adv_nvme_worker *w, struct adv_nvme_request **requests,
			   unsigned count)
{
	struct adv_nvme_connection *c = adv_nvme_queue_user(requests[0]->queue);
	struct adv_nvme_receive *receives[ADV_NVME_POSTED_AT_ONCE];
	struct response responses[ADV_NVME_POSTED_AT_ONCE];
	struct ibv_send_wr *first = NULL, *wr, *bad;
	int err;

	for (unsigned i = 0; i < count; i++) {
		wr = fill_response(w, requests[i], &responses[i]);
		if (i == 0)
			first = wr;
		else
			responses[i - 1].send.next = wr;
		receives[i] = requests[i]->receive;
	}
	join_responses(requests, count, &responses[count - 1].send);
	/* The capsules are no longer needed. Their receives are there before the host can send the
	 * next ones. */
	adv_nvme_worker_post_receives(w, receives, count);
	err = ibv_post_send(c->id->qp, first, &bad);
	if (err)
		not_posted(w, requests, count, bad, err);
}

void adv_nvme_worker_respond(struct adv_nvme_worker *w, struct adv_nvme_request **requests,
			     unsigned count)
{
	adv_nvme_worker_post_runs(w, requests, count, post_responses);
}
