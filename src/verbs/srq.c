/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared receive queues. */
#include <stdlib.h>

#include "verbs/objects.h"

static int create_in_engine(struct ibv_pd *pd, struct adv_ibv_srq *srq, struct ibv_srq_attr *attr)
{
	int err = 0;

	if (!adv_enter(pd->context))
		return ADV_EFOREIGN;
	srq->srq = adv_srq_create(adv_pd_of(pd)->pd, attr, srq);
	if (!srq->srq)
		err = errno;
	adv_leave(pd->context);
	return err;
}

ADV_EXPORT struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	static atomic_uint handles;
	struct adv_ibv_srq *srq = calloc(1, sizeof(*srq));
	int err;

	if (!srq)
		return NULL;
	srq->ibv.context = pd->context;
	srq->ibv.srq_context = attr->srq_context;
	srq->ibv.pd = pd;
	srq->ibv.handle = ++handles;
	pthread_mutex_init(&srq->ibv.mutex, NULL);
	pthread_cond_init(&srq->ibv.cond, NULL);
	adv_async_init_srq(srq);
	err = create_in_engine(pd, srq, &attr->attr);
	if (err) {
		free(srq);
		errno = err;
		return NULL;
	}
	return &srq->ibv;
}

struct ibv_srq *adv_create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr)
{
	const uint32_t supported = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
	struct ibv_srq_init_attr basic = {.srq_context = attr->srq_context, .attr = attr->attr};
	struct ibv_srq *srq;

	if (attr->comp_mask & ~supported ||
	    (attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE && attr->srq_type != IBV_SRQT_BASIC)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) || !attr->pd) {
		errno = EINVAL;
		return NULL;
	}
	srq = ibv_create_srq(attr->pd, &basic);
	if (srq)
		attr->attr = basic.attr;
	return srq;
}

ADV_EXPORT int ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
	int err;

	if (mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT))
		return EINVAL;
	if (!adv_enter(srq->context))
		return ADV_EFOREIGN;
	err = adv_srq_modify(adv_srq_of(srq)->srq, attr, mask);
	adv_leave(srq->context);
	return err;
}

ADV_EXPORT int ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
	if (!adv_enter(srq->context))
		return ADV_EFOREIGN;
	adv_srq_query(adv_srq_of(srq)->srq, attr);
	adv_leave(srq->context);
	return 0;
}

ADV_EXPORT int ibv_destroy_srq(struct ibv_srq *ibsrq)
{
	struct adv_ibv_srq *srq = adv_srq_of(ibsrq);
	int err;

	if (adv_enter(ibsrq->context)) {
		err = adv_srq_destroy(srq->srq);
		adv_leave(ibsrq->context);
		if (err)
			return err;
		adv_wait_acked(&ibsrq->mutex, &ibsrq->cond, &ibsrq->events_completed,
			       adv_async_forget_nodes(ibsrq->context, srq->node, ADV_SRQ_NODES));
	}
	pthread_cond_destroy(&ibsrq->cond);
	pthread_mutex_destroy(&ibsrq->mutex);
	free(srq);
	return 0;
}

int adv_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	int err;

	if (!adv_enter(srq->context)) {
		*bad_wr = wr;
		return ADV_EFOREIGN;
	}
	err = adv_srq_post(adv_srq_of(srq)->srq, wr, bad_wr);
	adv_leave(srq->context);
	return err;
}
