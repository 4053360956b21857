/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What READs and responses have in common: those of a connection are posted together, and if that
 * fails the connection ends. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "storage/nvme_server/worker_internal.h"

void adv_nvme_worker_disconnect(struct adv_nvme_worker *w, struct adv_nvme_queue *queue)
{
	adv_nvme_connection_disconnect(adv_nvme_queue_user(queue));
	pthread_mutex_lock(&w->shared->lock);
	adv_nvme_queue_closed(queue, adv_clock_ns());
	pthread_mutex_unlock(&w->shared->lock);
}

unsigned adv_nvme_worker_post_failed(struct adv_nvme_worker *w, struct adv_nvme_request **requests,
				     unsigned count, const struct ibv_send_wr *bad, int err)
{
	struct adv_nvme_connection *c = adv_nvme_queue_user(requests[0]->queue);
	uintptr_t first = bad->wr_id & ~(uintptr_t)ADV_NVME_WR_KIND;
	unsigned i = 0;

	adv_error("port %s: host at %s: cannot post a request: %s", c->port, c->peer,
		  strerror(err));
	adv_nvme_worker_disconnect(w, requests[0]->queue);
	while (i < count && (uintptr_t)requests[i] != first)
		i++;
	return i;
}

void adv_nvme_worker_post_runs(struct adv_nvme_worker *w, struct adv_nvme_request **requests,
			       unsigned count, adv_nvme_post_fn *post)
{
	unsigned begin = 0;

	for (unsigned i = 1; i <= count; i++) {
		if (i < count && i - begin < ADV_NVME_POSTED_AT_ONCE &&
		    requests[i]->queue == requests[begin]->queue)
			continue;
		post(w, requests + begin, i - begin);
		begin = i;
	}
}
