/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counts successful send requests by how long each took, from its post to its completion. The cost
 * is about 20 instructions for a message, with the time stamp of the post. */
#ifndef ADV_TRANSPORT_COMPLETED_H
#define ADV_TRANSPORT_COMPLETED_H

#include "transport/qp_state.h"

/* Counts a send request that has completed successfully at `now`. */
static inline void adv_completed_send(const struct adv_qp *qp, const struct adv_send_wqe *wqe,
				      uint64_t now)
{
	struct adv_engine *e = qp->engine;

	if (!e->no_latency)
		e->work.send_latency[adv_latency_bucket(adv_latency_time(now) - wqe->posted)]++;
}

#endif
