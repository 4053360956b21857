/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counts successful send requests by how long each took, from its post to its completion: for the
 * queue pair and for the engine. The cost is 20 instructions for a message at most, with the time
 * stamp of the post. */
#ifndef ADV_NIC_ENGINE_COMPLETED_H
#define ADV_NIC_ENGINE_COMPLETED_H

#include "nic/queue/qp_state.h"

/* Initializes the histograms of a new QP. */
void adv_completed_init(struct adv_qp *qp);
/* Gives the QP a histogram, before its first send request completes. If there is no memory, the
 * requests of the QP count only for the engine. */
void adv_completed_first(struct adv_qp *qp);
/* Frees the histogram of a QP. */
void adv_completed_free(struct adv_qp *qp);

/* Counts a send request that has completed successfully at `now`. qp->latency is not NULL. It has
 * no branch: an engine that keeps no histograms counts in memory that nobody reads. */
static inline void adv_completed_send(const struct adv_qp *qp, const struct adv_send_wqe *wqe,
				      uint64_t now)
{
	unsigned bucket = adv_latency_bucket(adv_latency_time(now) - wqe->posted);

	qp->latency[bucket]++;
	qp->latency_of_all[bucket]++;
}

#endif
