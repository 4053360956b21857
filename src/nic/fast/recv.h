/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The fast path's posts of receive requests. Inline: a post of one request is short, and a function
 * that calls none saves no registers. */
#ifndef ADV_NIC_FAST_RECV_H
#define ADV_NIC_FAST_RECV_H

#include "nic/fast/fast.h"
#include "nic/queue/qp_state.h"

/* Posts one receive request. False: nothing has changed, the general path must check the request.
 */
static inline bool adv_fast_post_recv(struct adv_qp *qp, const struct ibv_recv_wr *wr)
{
	struct adv_recv_wqe *wqe;

	if ((qp->unusual & ADV_UNUSUAL_FOR_POST) || wr->num_sge != 1 ||
	    qp->rq.head - qp->rq.freed >= qp->rq.fast_room)
		return false;
	wqe = adv_recv_wqe_at(qp, qp->rq.head++);
	wqe->wr_id = wr->wr_id;
	wqe->length = wr->sg_list->length;
	wqe->num_sge = 1;
	wqe->sge[0] = *wr->sg_list;
	return true;
}

/* Posts requests of the list as long as they need neither the time nor the general path. Returns
 * the first one that is not posted, for adv_qp_post_recv(); NULL: all are. */
static inline struct ibv_recv_wr *adv_fast_post_recvs(struct adv_qp *qp, struct ibv_recv_wr *wr)
{
	while (wr && adv_fast_post_recv(qp, wr))
		wr = wr->next;
	return wr;
}

#endif
