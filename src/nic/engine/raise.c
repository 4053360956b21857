/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Injection of asynchronous events. */
#include "base/async.h"
#include "nic/queue/cq.h"
#include "nic/queue/qp_complete.h"
#include "nic/queue/srq.h"

struct raising {
	struct adv_engine *engine;
	uint64_t now;
	enum ibv_event_type type;
	uint32_t qpn_first;
	uint32_t qpn_last;
};

static bool is_in_range(const struct raising *r, const struct adv_qp *qp)
{
	return qp->qpn >= r->qpn_first && qp->qpn <= r->qpn_last;
}

/* True if a QP of the range uses the CQ or SRQ. */
static bool is_used_in_range(const struct raising *r, const void *object)
{
	if (r->qpn_first == 0 && r->qpn_last == UINT32_MAX)
		return true;
	adv_list_for_each(const struct adv_qp, qp, &r->engine->qps, node) {
		if (is_in_range(r, qp) &&
		    (qp->send_cq == object || qp->recv_cq == object || qp->srq == object))
			return true;
	}
	return false;
}

static unsigned raise_of_qps(const struct raising *r)
{
	unsigned count = 0;

	adv_list_for_each(struct adv_qp, qp, &r->engine->qps, node) {
		bool fails = r->type == IBV_EVENT_QP_FATAL || r->type == IBV_EVENT_QP_REQ_ERR ||
			     r->type == IBV_EVENT_QP_ACCESS_ERR;

		if (!is_in_range(r, qp) || qp->state < IBV_QPS_RTR)
			continue;
		adv_affiliated_raise(r->engine, &qp->events, r->type, ADV_ERR_NONE);
		if (fails && qp->state != IBV_QPS_ERR)
			adv_qp_enter_error(qp, r->now);
		count++;
	}
	return count;
}

static unsigned raise_of_cqs(const struct raising *r)
{
	unsigned count = 0;

	adv_list_for_each(struct adv_cq, cq, &r->engine->cqs, node) {
		if (!is_used_in_range(r, cq))
			continue;
		adv_affiliated_raise(r->engine, &cq->events, r->type, ADV_ERR_NONE);
		cq->overrun = true;
		count++;
	}
	return count;
}

static unsigned raise_of_srqs(const struct raising *r)
{
	unsigned count = 0;

	adv_list_for_each(struct adv_srq, srq, &r->engine->srqs, node) {
		if (!is_used_in_range(r, srq))
			continue;
		adv_affiliated_raise(r->engine, &srq->events, r->type, ADV_ERR_NONE);
		count++;
	}
	return count;
}

unsigned adv_engine_raise(struct adv_engine *e, uint64_t now, enum ibv_event_type type,
			  uint32_t qpn_first, uint32_t qpn_last)
{
	const struct raising r = {e, now, type, qpn_first, qpn_last};

	switch (adv_async_object_of(type)) {
	case ADV_ASYNC_CQ:
		return raise_of_cqs(&r);
	case ADV_ASYNC_SRQ:
		return raise_of_srqs(&r);
	default:
		return raise_of_qps(&r);
	}
}
