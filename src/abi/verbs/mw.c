/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory windows. A work request binds a type 2 window, ibv_bind_mw() a type 1 window. */
#include <stdlib.h>

#include "abi/verbs/objects.h"

struct adv_ibv_mw {
	struct ibv_mw ibv;
	struct adv_mw *mw;
};

struct ibv_mw *adv_ibv_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	static atomic_uint handles;
	struct adv_ibv_mw *mw = calloc(1, sizeof(*mw));
	int err = ADV_EFOREIGN;

	if (!mw)
		return NULL;
	if (adv_ibv_enter_all(pd->context)) {
		mw->mw = adv_mw_create(adv_ibv_pd_of(pd)->pd, type);
		err = errno;
		if (mw->mw)
			mw->ibv.rkey = adv_mw_rkey(mw->mw);
		adv_ibv_leave_all(pd->context);
	}
	if (!mw->mw) {
		free(mw);
		return adv_ibv_refuse_object(err, "ibv_alloc_mw(pd %u, type %d)", pd->handle,
					     (int)type);
	}
	adv_ibv_pd_hold(pd);
	mw->ibv.context = pd->context;
	mw->ibv.pd = pd;
	mw->ibv.handle = ++handles;
	mw->ibv.type = type;
	adv_ibv_watch_created(ADV_CHECK_MW, &mw->ibv, pd->context, NULL);
	adv_debug("mw 0x%08x: allocated, type %d, pd %u", mw->ibv.rkey, (int)type, pd->handle);
	return &mw->ibv;
}

static int dealloc_mw(struct ibv_mw *ibmw)
{
	struct adv_ibv_mw *mw = (struct adv_ibv_mw *)ibmw;

	if (adv_ibv_enter_all(ibmw->context)) {
		adv_mw_destroy(mw->mw);
		adv_ibv_leave_all(ibmw->context);
	}
	adv_debug("mw 0x%08x: deallocated", ibmw->rkey);
	adv_ibv_pd_release(ibmw->pd);
	free(mw);
	return 0;
}

int adv_ibv_dealloc_mw(struct ibv_mw *mw)
{
	void *watch = adv_ibv_watch_destroying(ADV_CHECK_MW, mw);
	int err = dealloc_mw(mw);

	adv_ibv_watch_destroyed(watch, err);
	return err;
}

/* Binds a type 1 window. When the call returns, the window has its new rkey (ibv_bind_mw(3)); the
 * binding may still be outstanding. */
int adv_ibv_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	struct ibv_send_wr wr = {
		.wr_id = bind->wr_id, .opcode = ADV_WR_BIND_TYPE_1, .send_flags = bind->send_flags};
	struct ibv_send_wr *bad;
	int err;

	if (adv_ibv_pd_of(mw->pd)->pd != adv_ibv_pd_of(qp->pd)->pd)
		return adv_ibv_refuse(adv_reason(EPERM,
						 "the window has PD %u, the queue pair PD %u: they "
						 "must have the same",
						 mw->pd->handle, qp->pd->handle),
				      "ibv_bind_mw(qp 0x%06x, mw 0x%08x)", qp->qp_num, mw->rkey);
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.bind_info = bind->bind_info;
	err = adv_ibv_post_send(qp, &wr, &bad);
	if (!err)
		mw->rkey = wr.bind_mw.rkey;
	return err;
}
