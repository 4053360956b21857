/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One engine, several owners: what each has made goes with it. */
#include "transport/internal.h"

void adv_engine_set_owner(struct adv_engine *e, const void *owner)
{
	e->owner = owner;
}

/* An XRC_RECV QP has no domain of protection but what its SRQs lend it. */
static const void *owner_of_qp(const struct adv_qp *qp)
{
	return qp->xrcd ? qp->xrcd->owner : qp->pd->owner;
}

static void release_qps(struct adv_engine *e, const void *owner)
{
	for (struct adv_list *n = e->qps.next, *next; n != &e->qps; n = next) {
		struct adv_qp *qp = adv_container_of(n, struct adv_qp, node);
		int err;

		next = n->next;
		if (owner_of_qp(qp) != owner)
			continue;
		adv_mcast_leave_all(qp);
		err = adv_qp_destroy(qp);
		assert(!err);
		(void)err;
	}
}

static void release_srqs(struct adv_engine *e, const void *owner)
{
	for (struct adv_list *n = e->srqs.next, *next; n != &e->srqs; n = next) {
		struct adv_srq *srq = adv_container_of(n, struct adv_srq, node);

		next = n->next;
		if (srq->pd->owner == owner)
			adv_srq_destroy(srq);
	}
}

static void release_cqs(struct adv_engine *e, const void *owner)
{
	for (struct adv_list *n = e->cqs.next, *next; n != &e->cqs; n = next) {
		struct adv_cq *cq = adv_container_of(n, struct adv_cq, node);

		next = n->next;
		if (cq->owner == owner)
			adv_cq_destroy(cq);
	}
}

/*
 * Windows, or regions. One that is taken out lets those behind it move up, so a place is looked at
 * until what it has stays. What moves from the table's beginning to its end was looked at there.
 */
static void release_keys(struct adv_engine *e, const void *owner, bool windows)
{
	for (uint32_t i = 0; i < e->mrs.room; i++)
		for (struct adv_mr *mr = e->mrs.slot[i]; mr; mr = e->mrs.slot[i]) {
			const struct adv_pd *pd = mr->window ? mr->window->pd : mr->pd;

			if (pd->owner != owner || !mr->window == windows)
				break;
			if (windows)
				adv_mw_destroy(mr->window);
			else
				adv_mr_deregister(mr);
		}
}

static void release_domains(struct adv_engine *e, const void *owner)
{
	for (struct adv_list *n = e->pds.next, *next; n != &e->pds; n = next) {
		struct adv_pd *pd = adv_container_of(n, struct adv_pd, node);

		next = n->next;
		if (pd->owner != owner)
			continue;
		pd->users = 0; /* address handles that nobody will destroy */
		adv_pd_destroy(pd);
	}
	for (struct adv_list *n = e->xrcds.next, *next; n != &e->xrcds; n = next) {
		struct adv_xrcd *xrcd = adv_container_of(n, struct adv_xrcd, node);

		next = n->next;
		if (xrcd->owner == owner)
			adv_xrcd_destroy(xrcd);
	}
}

void adv_engine_release(struct adv_engine *e, const void *owner)
{
	release_qps(e, owner);
	release_srqs(e, owner);
	release_cqs(e, owner);
	release_keys(e, owner, true);
	release_keys(e, owner, false);
	release_domains(e, owner);
}
