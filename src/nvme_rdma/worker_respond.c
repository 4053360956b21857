/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How a worker responds: data by WRITE, then the completion by SEND. All responses of a connection
 * that are ready go to the queue pair by one call. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "nvme_rdma/worker_internal.h"

enum { BATCH = 16 };

/* A WRITE and the SEND behind it. */
struct response {
	struct ibv_sge data_sge, send_sge;
	struct ibv_send_wr write, send;
};

void adv_nvme_worker_disconnect(struct adv_nvme_worker *w, struct adv_nvme_queue *queue)
{
	adv_nvme_connection_disconnect(adv_nvme_queue_user(queue));
	pthread_mutex_lock(&w->shared->lock);
	adv_nvme_queue_closed(queue, adv_clock_ns());
	pthread_mutex_unlock(&w->shared->lock);
}

void adv_nvme_worker_post_failed(struct adv_nvme_worker *w, struct adv_nvme_request *request,
				 int err)
{
	struct adv_nvme_connection *c = adv_nvme_queue_user(request->queue);

	fprintf(stderr, "%s: cannot post a request: %s\n", c->peer, strerror(err));
	adv_nvme_worker_disconnect(w, request->queue);
}

static uint32_t data_lkey(const struct adv_nvme_worker *w, const struct adv_nvme_request *request)
{
	uint32_t lkey = adv_nvme_buffers_lkey(w->buffers);

	if (!adv_nvme_buffers_owns(w->buffers, request->data))
		adv_nvme_backend_memory(request->io.backend, request->io.offset, &lkey);
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
				       data_lkey(w, request)};
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
	uintptr_t first = bad->wr_id & ~(uintptr_t)ADV_NVME_WR_KIND;
	bool posted = true;

	adv_nvme_worker_post_failed(w, requests[0], err);
	pthread_mutex_lock(&w->shared->lock);
	for (unsigned i = 0; i < count; i++) {
		if ((uintptr_t)requests[i] == first)
			posted = false;
		if (posted)
			continue;
		adv_nvme_buffers_put(w->buffers, requests[i]->buffer, requests[i]->buffer_length);
		adv_nvme_request_sent(requests[i], adv_clock_ns());
	}
	pthread_mutex_unlock(&w->shared->lock);
}

/* The requests belong to one queue. */
static void post(struct adv_nvme_worker *w, struct adv_nvme_request **requests, unsigned count)
{
	struct adv_nvme_connection *c = adv_nvme_queue_user(requests[0]->queue);
	struct adv_nvme_receive *receives[BATCH];
	struct response responses[BATCH];
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
	unsigned begin = 0;

	for (unsigned i = 1; i <= count; i++) {
		if (i < count && i - begin < BATCH && requests[i]->queue == requests[begin]->queue)
			continue;
		post(w, requests + begin, i - begin);
		begin = i;
	}
}
