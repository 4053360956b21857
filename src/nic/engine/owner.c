/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Owners of an engine's objects: adv_engine_release() destroys the objects of one owner. */
#include "nic/queue/cq.h"
#include "nic/memory/domain.h"
#include "nic/queue/mcast.h"
#include "nic/memory/mr.h"
#include "nic/memory/mw.h"
#include "nic/queue/qp.h"
#include "nic/queue/srq.h"

void adv_engine_set_owner(struct adv_engine *e, const void *owner)
{
	e->owner = owner;
}

/* Returns the owner of a QP. An XRC_RECV QP belongs to the owner of its XRC domain, because it only
 * borrows the PDs of SRQs. */
static const void *owner_of_qp(const struct adv_qp *qp)
{
	return qp->xrcd ? qp->xrcd->owner : qp->pd->owner;
}

static void release_qps(struct adv_engine *e, const void *owner)
{
	adv_list_for_each_safe(struct adv_qp, qp, &e->qps, node) {
		int err;

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
	adv_list_for_each_safe(struct adv_srq, srq, &e->srqs, node) {
		if (srq->pd->owner == owner)
			adv_srq_destroy(srq);
	}
}

static void release_cqs(struct adv_engine *e, const void *owner)
{
	adv_list_for_each_safe(struct adv_cq, cq, &e->cqs, node) {
		if (cq->owner == owner)
			adv_cq_destroy(cq);
	}
}

/*
 * Destroys the owner's windows (`windows`) or regions. The removal of an entry may move a later
 * entry into its slot, so the loop reads the slot again. An entry that moves from the beginning of
 * the table to its end was read at the beginning.
 */
static void release_keys(struct adv_engine *e, const void *owner, bool windows)
{
	for (uint32_t i = 0; i < e->tpt->keys.room; i++)
		for (struct adv_mr *mr = e->tpt->keys.slot[i]; mr; mr = e->tpt->keys.slot[i]) {
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
	adv_list_for_each_safe(struct adv_pd, pd, &e->tpt->pds, node) {
		if (pd->owner != owner)
			continue;
		pd->users = 0; /* address handles belong to the caller and do not keep the PD */
		adv_pd_destroy(pd);
	}
}

static void release_xrc_domains(struct adv_engine *e, const void *owner)
{
	adv_list_for_each_safe(struct adv_xrcd, xrcd, &e->xrcds, node) {
		if (xrcd->owner == owner)
			adv_xrcd_destroy(xrcd);
	}
}

void adv_engine_release(struct adv_engine *e, const void *owner)
{
	release_qps(e, owner);
	release_srqs(e, owner);
	release_cqs(e, owner);
	release_xrc_domains(e, owner);
	if (e->number > 0)
		return; /* the first engine that shares the regions releases them */
	release_keys(e, owner, true);
	release_keys(e, owner, false);
	release_domains(e, owner);
}
