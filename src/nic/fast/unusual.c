/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/congestion/congestion_control.h"
#include "nic/fast/unusual.h"

/* True while retransmissions, their timer or their counts are not in the state of a QP that has
 * lost nothing. */
static bool has_lost(const struct adv_qp *qp)
{
	const struct adv_requester *req = &qp->req;

	return req->next_psn != req->max_psn || req->unanswered || req->ticks ||
	       req->backoff != 1 || req->gap_asked || req->nak_heard ||
	       req->retry_left != qp->attr.retry_cnt || req->rnr_left != qp->attr.rnr_retry;
}

uint32_t adv_qp_unusual(const struct adv_qp *qp)
{
	const struct adv_engine *e = qp->engine;
	uint32_t unusual = 0;

	if (qp->type != IBV_QPT_RC || e->no_fast_path)
		return ADV_UNUSUAL_KIND;
	if (qp->state != IBV_QPS_RTS)
		unusual |= ADV_UNUSUAL_STATE;
	if (e->injector)
		unusual |= ADV_UNUSUAL_FAULTS;
	if (qp->flow)
		unusual |= e->cc_ops->on_ack ? ADV_UNUSUAL_FLOW | ADV_UNUSUAL_CONTROL
					     : ADV_UNUSUAL_FLOW;
	if (qp->resp.res_pending || qp->resp.cut)
		unusual |= ADV_UNUSUAL_ANSWERS;
	if (qp->req.rd_head != qp->req.rd_tail)
		unusual |= ADV_UNUSUAL_READS;
	if (qp->req.rnr_wait)
		unusual |= ADV_UNUSUAL_RNR;
	if (has_lost(qp))
		unusual |= ADV_UNUSUAL_LOSS;
	if (!qp->latency)
		unusual |= ADV_UNUSUAL_FIRST;
	return unusual;
}

void adv_qp_review(struct adv_qp *qp)
{
	qp->unusual = adv_qp_unusual(qp);
}
