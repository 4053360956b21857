/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/engine/prefetch.h"
#include "nic/queue/qp_state.h"

void adv_engine_fetch(const struct adv_engine *e)
{
	__builtin_prefetch(&e->front);
	__builtin_prefetch(&e->stalled);
	__builtin_prefetch(&e->delayed);
	__builtin_prefetch(&e->range);
	__builtin_prefetch(&e->counters);
}

void adv_qp_fetch_request(const struct adv_qp *qp)
{
	if (!qp)
		return;
	__builtin_prefetch(&qp->engine);
	__builtin_prefetch(&qp->path);
	__builtin_prefetch(&qp->tx_node);
	__builtin_prefetch(&qp->flow);
	__builtin_prefetch(&qp->resp);
}

void adv_qp_fetch_turn(const struct adv_qp *qp)
{
	if (!qp)
		return;
	adv_qp_fetch_request(qp);
	__builtin_prefetch(&qp->sq);
	__builtin_prefetch(&qp->req);
}

void adv_qp_fetch_next(const struct adv_qp *qp)
{
	if (!qp)
		return;
	if (qp->sq.ring) {
		const struct adv_send_wqe *wqe = adv_send_wqe_at(qp, qp->sq.next);

		__builtin_prefetch(&wqe->wr_id);
		__builtin_prefetch(wqe->sge);
	}
	if (qp->flow) {
		__builtin_prefetch(qp->flow);
		__builtin_prefetch((const char *)qp->flow + ADV_CACHE_LINE);
	}
}

void adv_engine_fetch_turn(const struct adv_engine *e, const struct adv_qp *known)
{
	const struct adv_qp *qp = adv_container_of(e->tx_ready.next, struct adv_qp, tx_node);

	if (adv_list_empty(&e->tx_ready))
		return;
	if (qp == known)
		adv_qp_fetch_next(qp);
	else
		adv_qp_fetch_turn(qp);
}

void adv_engine_fetch_qpn(const struct adv_engine *e, uint32_t qpn)
{
	const struct adv_qpn_range *r = &e->range[0]; /* the only one, mostly */

	__builtin_prefetch(&r->qp[qpn - r->first < r->count ? qpn - r->first : 0]);
}

void adv_engine_fetch_timers(const struct adv_engine *e)
{
	__builtin_prefetch(e->timers.heap.slot);
}

void adv_engine_fetch_timer(const struct adv_engine *e)
{
	const struct adv_timer *first;

	if (!e->timers.heap.count)
		return;
	first = adv_timer_at(&e->timers, 1);
	__builtin_prefetch(first);
	/* The rest of a flow follows. */
	__builtin_prefetch((const char *)first + ADV_CACHE_LINE);
	__builtin_prefetch((const char *)first + 2 * ADV_CACHE_LINE);
}
