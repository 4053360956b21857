/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How a worker gets the data of commands: by READ, into a buffer or into the namespace itself. All
 * READs of a connection that are due go to the queue pair by one call. */
#include "base/clock.h"
#include "storage/nvme_server/worker_internal.h"

/* A READ. */
struct fetch {
	struct ibv_sge sge;
	struct ibv_send_wr wr;
};

static void fill_read(struct adv_nvme_worker *w, struct adv_nvme_request *request, struct fetch *f)
{
	adv_nvme_worker_fill_transfer(w, request, request->data_length, &f->sge, &f->wr);
	f->wr.wr_id = (uintptr_t)request | ADV_NVME_WR_READ;
	f->wr.next = NULL;
	f->wr.opcode = IBV_WR_RDMA_READ;
	f->wr.send_flags = IBV_SEND_SIGNALED;
}

/* Ends the requests from that of the work request `bad` on: they have no data. */
static void not_posted(struct adv_nvme_worker *w, struct adv_nvme_request **requests,
		       unsigned count, const struct ibv_send_wr *bad, int err)
{
	unsigned i = adv_nvme_worker_post_failed(w, requests, count, bad, err);

	pthread_mutex_lock(&w->shared->lock);
	for (; i < count; i++)
		adv_nvme_request_fetched(requests[i], adv_clock_ns(), false);
	pthread_mutex_unlock(&w->shared->lock);
}

/* The requests belong to one queue. */
static void post_reads(struct adv_nvme_worker *w, struct adv_nvme_request **requests,
		       unsigned count)
{
	struct adv_nvme_connection *c = adv_nvme_queue_user(requests[0]->queue);
	struct fetch fetches[ADV_NVME_POSTED_AT_ONCE];
	struct ibv_send_wr *bad;
	int err;

	for (unsigned i = 0; i < count; i++) {
		fill_read(w, requests[i], &fetches[i]);
		if (i > 0)
			fetches[i - 1].wr.next = &fetches[i].wr;
	}
	err = ibv_post_send(c->id->qp, &fetches[0].wr, &bad);
	if (err)
		not_posted(w, requests, count, bad, err);
}

void adv_nvme_worker_fetch(struct adv_nvme_worker *w, struct adv_nvme_request **requests,
			   unsigned count)
{
	adv_nvme_worker_post_runs(w, requests, count, post_reads);
}
