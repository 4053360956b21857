/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completions of a worker's queue: what they mean for the target. */
#include "base/clock.h"
#include "storage/nvme_server/worker_internal.h"

enum { BATCH = 32 };

static void capsule_received(struct adv_nvme_worker *w, const struct ibv_wc *wc, uint64_t now)
{
	struct adv_nvme_receive *receive = (void *)(uintptr_t)(wc->wr_id & ~ADV_NVME_WR_KIND);
	struct adv_nvme_connection *c;

	if (wc->status == IBV_WC_SUCCESS) {
		c = adv_nvme_connection_find(w, wc->qp_num);
		if (c && c->queue &&
		    adv_nvme_queue_rx(c->queue, now, receive->capsule, wc->byte_len, receive))
			return;
	}
	adv_nvme_worker_post_receive(w, receive);
}

/* The caller holds the shared lock. */
static void handle_completion(struct adv_nvme_worker *w, const struct ibv_wc *wc, uint64_t now)
{
	struct adv_nvme_request *request = (void *)(uintptr_t)(wc->wr_id & ~ADV_NVME_WR_KIND);
	bool ok = wc->status == IBV_WC_SUCCESS;

	switch (wc->wr_id & ADV_NVME_WR_KIND) {
	case ADV_NVME_WR_RECV:
		capsule_received(w, wc, now);
		return;
	case ADV_NVME_WR_READ:
		adv_nvme_request_fetched(request, now, ok);
		break;
	case ADV_NVME_WR_QUIET:
		break;
	case ADV_NVME_WR_SEND:
		if (!ok)
			adv_nvme_queue_closed(request->queue, now);
		adv_nvme_worker_sent(w, request, now);
		break;
	}
}

int adv_nvme_worker_completions(struct adv_nvme_worker *w, uint64_t *now)
{
	struct ibv_wc wc[BATCH];
	int n = ibv_poll_cq(w->cq, BATCH, wc);

	if (n <= 0)
		return 0;
	*now = adv_clock_ns();
	pthread_mutex_lock(&w->shared->lock);
	for (int i = 0; i < n; i++)
		handle_completion(w, &wc[i], *now);
	pthread_mutex_unlock(&w->shared->lock);
	return n;
}

void adv_nvme_worker_drain(struct adv_nvme_worker *w)
{
	/* Completions of other connections come all the time. Those that are here now are handled
	 * when as many as the queue holds have been. */
	int left = w->cq->cqe, n;
	uint64_t now;

	do {
		n = adv_nvme_worker_completions(w, &now);
		left -= n;
	} while (n > 0 && left > 0);
}
