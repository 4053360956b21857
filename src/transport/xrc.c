/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* XRC domains, and how requests find the SRQs in them (IBTA vol. 1, annex A14). */
#include <stdlib.h>

#include "transport/internal.h"

struct adv_xrcd *adv_xrcd_create(struct adv_engine *e)
{
	struct adv_xrcd *xrcd = e->xrcd_count < ADV_MAX_PD ? calloc(1, sizeof(*xrcd)) : NULL;

	if (!xrcd) {
		errno = ENOMEM;
		return NULL;
	}
	xrcd->engine = e;
	xrcd->owner = e->owner;
	adv_list_add_tail(&e->xrcds, &xrcd->node);
	e->xrcd_count++;
	return xrcd;
}

int adv_xrcd_destroy(struct adv_xrcd *xrcd)
{
	if (xrcd->users)
		return EBUSY;
	adv_list_del(&xrcd->node);
	xrcd->engine->xrcd_count--;
	free(xrcd);
	return 0;
}

struct adv_qp *adv_xrcd_find_qp(const struct adv_xrcd *xrcd, uint32_t qpn)
{
	struct adv_qp *qp = adv_engine_find_qp(xrcd->engine, qpn);

	return qp && qp->xrcd == xrcd ? qp : NULL;
}

/* ---- numbers ---- */

uint32_t adv_engine_srqns_left(const struct adv_engine *e)
{
	uint32_t most = ADV_MAX_XRC_SRQ - 1 - e->xrc_used, n = 0;

	for (unsigned i = 0; i < e->ranges; i++)
		n += e->range[i].count - (e->range[i].first == 0);
	n -= e->xrc_used;
	return n < most ? n : most;
}

/* A number of this range. Number 0, of posters who forgot it, is no SRQ's. False: none is left, or
 * there is no memory. */
static bool take_from(struct adv_engine *e, struct adv_qpn_range *r, struct adv_srq *srq)
{
	if (r->srqs == r->count - (r->first == 0))
		return false;
	if (!r->srq) {
		r->srq = calloc(r->count, sizeof(struct adv_srq *));
		if (!r->srq)
			return false;
		r->srq_next = (uint32_t)adv_rng_below(&e->rng, r->count);
	}
	while (r->first + r->srq_next == 0 || r->srq[r->srq_next])
		r->srq_next = (r->srq_next + 1) % r->count;
	r->srq[r->srq_next] = srq;
	srq->number = r->first + r->srq_next;
	r->srq_next = (r->srq_next + 1) % r->count;
	r->srqs++;
	e->xrc_used++;
	return true;
}

/* Of the numbers that are the engine's, as QPs' are: never another engine's SRQ has the same. 0 or
 * ENOMEM. */
static int take_number(struct adv_engine *e, struct adv_srq *srq)
{
	if (e->xrc_used == ADV_MAX_XRC_SRQ - 1)
		return ENOMEM;
	for (unsigned i = 0; i < e->ranges; i++)
		if (take_from(e, &e->range[i], srq))
			return 0;
	return ENOMEM;
}

static struct adv_srq *find(const struct adv_engine *e, uint32_t number)
{
	const struct adv_qpn_range *r = adv_qpn_range_of(e, number);

	return r && r->srq ? r->srq[number - r->first] : NULL;
}

struct adv_srq *adv_srq_create_xrc(struct adv_pd *pd, struct adv_xrcd *xrcd, struct adv_cq *cq,
				   struct ibv_srq_attr *attr, void *user)
{
	struct adv_srq *srq = adv_srq_new(pd, attr, user);

	if (!srq)
		return NULL;
	if (take_number(pd->engine, srq)) {
		adv_srq_destroy(srq);
		errno = ENOMEM;
		return NULL;
	}
	srq->xrcd = xrcd;
	srq->cq = cq;
	xrcd->users++;
	cq->users++;
	return srq;
}

uint32_t adv_srq_number(const struct adv_srq *srq)
{
	return srq->number;
}

void adv_xrc_forget(struct adv_srq *srq)
{
	struct adv_engine *e = srq->pd->engine;
	struct adv_qpn_range *r = adv_qpn_range_of(e, srq->number);

	r->srq[srq->number - r->first] = NULL;
	r->srqs--;
	e->xrc_used--;
	srq->xrcd->users--;
	srq->cq->users--;
	adv_list_for_each(struct adv_qp, qp, &e->qps, node) {
		if (qp->srq != srq)
			continue;
		qp->pd = NULL;
		qp->recv_cq = NULL;
		qp->srq = NULL;
		qp->resp.recv = NULL;
	}
}

enum adv_vendor_err adv_xrc_select(struct adv_qp *qp, uint32_t number)
{
	struct adv_srq *srq = find(qp->engine, number);

	if (!srq || srq->xrcd != qp->xrcd)
		return ADV_ERR_XRC_SRQ;
	if (srq == qp->srq)
		return ADV_ERR_NONE;
	if (qp->resp.message != ADV_MSG_NONE || qp->resp.recv)
		return ADV_ERR_XRC_SRQ_CHANGED;
	qp->pd = srq->pd;
	qp->recv_cq = srq->cq;
	qp->srq = srq;
	return ADV_ERR_NONE;
}
