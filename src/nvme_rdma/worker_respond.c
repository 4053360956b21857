/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How a worker responds: data by WRITE, then the completion by SEND. All responses of a connection
 * that are ready go to the queue pair by one call. */
#include "base/clock.h"
#include "nvme_rdma/worker_internal.h"

/* A WRITE and the SEND behind it. */
struct response {
	struct ibv_sge data_sge, send_sge;
	struct ibv_send_wr write, send;
};

uint32_t adv_nvme_worker_data_lkey(const struct adv_nvme_worker *w,
				   const struct adv_nvme_request *request)
{
	const struct adv_nvme_io *io = &request->io;
	uint32_t lkey = adv_nvme_buffers_lkey(w->buffers);

	if (adv_nvme_buffers_owns(w->buffers, request->data))
		return lkey;
	if (request->placed)
		adv_nvme_backend_writable(io->backend, io->offset, io->length, &lkey);
	else
		adv_nvme_backend_memory(io->backend, io->offset, &lkey);
	return lkey;
}

/* Returns the first work request of a response, and ends the chain with its SEND. */
static struct ibv_send_wr *fill(struct adv_nvme_worker *w, struct adv_nvme_request *request,
				struct response *r)
{
	r->send_sge = (struct ibv_sge){(uintptr_t)request->response, sizeof(request->response), 0};
	r->send = (struct ibv_send_wr){
		.wr_id = (uintptr_t)request | ADV_NVME_WR_SEND,
		.opcode = request->invalidate ? IBV_WR_SEND_WITH_INV : IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
		.sg_list = &r->send_sge,
		.num_sge = 1,
	};
	if (request->invalidate)
		r->send.invalidate_rkey = request->remote.key;
	if (!request->write_length)
		return &r->send;
	r->data_sge = (struct ibv_sge){(uintptr_t)request->data, request->write_length,
				       adv_nvme_worker_data_lkey(w, request)};
	r->write = (struct ibv_send_wr){
		.wr_id = (uintptr_t)request | ADV_NVME_WR_WRITE,
		.next = &r->send,
		.opcode = IBV_WR_RDMA_WRITE,
		.sg_list = &r->data_sge,
		.num_sge = 1,
		.wr.rdma = {.remote_addr = request->remote.address, .rkey = request->remote.key},
	};
	return &r->write;
}

/* Ends the requests from that of the work request `bad` on: they have no response. */
static void not_posted(struct adv_nvme_worker *w, struct adv_nvme_request **requests,
		       unsigned count, const struct ibv_send_wr *bad, int err)
{
	unsigned i = adv_nvme_worker_post_failed(w, requests, count, bad, err);

	pthread_mutex_lock(&w->shared->lock);
	for (; i < count; i++) {
		adv_nvme_buffers_put(w->buffers, requests[i]->buffer, requests[i]->buffer_length);
		adv_nvme_request_sent(requests[i], adv_clock_ns());
	}
	pthread_mutex_unlock(&w->shared->lock);
}

/* The requests belong to one queue. */
static void post(struct adv_nvme_worker *w, struct adv_nvme_request **requests, unsigned count)
{
	struct adv_nvme_connection *c = adv_nvme_queue_user(requests[0]->queue);
	struct adv_nvme_receive *receives[ADV_NVME_POSTED_AT_ONCE];
	struct response responses[ADV_NVME_POSTED_AT_ONCE];
	struct ibv_send_wr *first = NULL, *wr, *bad;
	int err;

	for (unsigned i = 0; i < count; i++) {
		wr = fill(w, requests[i], &responses[i]);
		if (i == 0)
			first = wr;
		else
			responses[i - 1].send.next = wr;
		receives[i] = requests[i]->receive;
	}
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
	adv_nvme_worker_post_runs(w, requests, count, post);
}
