/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared receive queues. */
#include <stdlib.h>

#include "abi/verbs/cq_part.h"

/* Creates the engine's SRQ. xrc: NULL for a basic SRQ. 0 or errno. */
static int create_engine_srq(struct ibv_pd *pd, struct adv_ibv_srq *srq, struct ibv_srq_attr *attr,
			     const struct ibv_srq_init_attr_ex *xrc)
{
	struct adv_device *d = adv_ibv_context_of(pd->context)->device;
	struct adv_cq *cq = NULL;
	struct adv_engine *e;
	int err = 0;

	/* XRC domains are in the first shard. */
	srq->device = xrc ? d : adv_device_of_thread(d);
	if (xrc) {
		cq = adv_ibv_cq_part_in(adv_ibv_cq_of(xrc->cq), srq->device);
		if (!cq)
			return adv_device_is_foreign(d) ? ADV_EFOREIGN : ENOMEM;
	}
	e = adv_ibv_enter_device(srq->device);
	if (!e)
		return ADV_EFOREIGN;
	if (xrc) {
		adv_device_reserve_srqn(srq->device);
		srq->srq =
			adv_srq_create_xrc(adv_ibv_pd_of(pd)->pd, srq->xrcd->xrcd, cq, attr, srq);
	} else {
		srq->srq = adv_srq_create(e, adv_ibv_pd_of(pd)->pd, attr, srq);
	}
	if (!srq->srq)
		err = errno;
	else if (xrc)
		srq->xrcd->users++;
	adv_device_unlock(srq->device);
	return err;
}

static struct ibv_srq *create_srq(struct ibv_pd *pd, void *srq_context, struct ibv_srq_attr *attr,
				  const struct ibv_srq_init_attr_ex *xrc)
{
	static atomic_uint handles;
	struct adv_ibv_srq *srq = calloc(1, sizeof(*srq));
	int err;

	if (!srq)
		return NULL;
	srq->ibv.context = pd->context;
	srq->ibv.srq_context = srq_context;
	srq->ibv.pd = pd;
	srq->ibv.handle = ++handles;
	if (xrc)
		srq->xrcd = adv_ibv_xrcd_of(xrc->xrcd);
	pthread_mutex_init(&srq->ibv.mutex, NULL);
	pthread_cond_init(&srq->ibv.cond, NULL);
	adv_ibv_async_init_srq(srq);
	err = create_engine_srq(pd, srq, attr, xrc);
	if (err) {
		free(srq);
		return adv_ibv_refuse_object(err, "ibv_create_srq()");
	}
	adv_debug("srq %u: created, max_wr %u, pd %u", srq->ibv.handle, attr->max_wr, pd->handle);
	adv_ibv_pd_hold(pd);
	adv_ibv_watch_created(ADV_CHECK_SRQ, &srq->ibv, pd->context, attr);
	return &srq->ibv;
}

ADV_EXPORT struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	return create_srq(pd, attr->srq_context, &attr->attr, NULL);
}

/*
 * Checks the attributes that the SRQ's type needs: they must be present and belong to this context.
 * 0 or errno.
 */
static int check_srq_attr(const struct ibv_context *context,
			  const struct ibv_srq_init_attr_ex *attr)
{
	const uint32_t basic = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
	const uint32_t xrc = basic | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
	bool is_xrc = attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE && attr->srq_type == IBV_SRQT_XRC;

	if (attr->comp_mask & ~(is_xrc ? xrc : basic))
		return adv_reason(EOPNOTSUPP,
				  "comp_mask 0x%x has bits that this type of SRQ does not have: "
				  "possible are 0x%x",
				  attr->comp_mask, is_xrc ? xrc : basic);
	if (attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE && attr->srq_type != IBV_SRQT_BASIC && !is_xrc)
		return adv_reason(EOPNOTSUPP,
				  "srq_type %d: only IBV_SRQT_BASIC and IBV_SRQT_XRC exist here "
				  "(no tag matching)",
				  (int)attr->srq_type);
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) || !attr->pd || attr->pd->context != context)
		return adv_reason(
			EINVAL,
			"pd is missing or of another context: set pd and IBV_SRQ_INIT_ATTR_PD");
	if (!is_xrc)
		return 0;
	if ((attr->comp_mask & xrc) != xrc || !attr->xrcd || !attr->cq ||
	    attr->xrcd->context != context || attr->cq->context != context)
		return adv_reason(
			EINVAL,
			"an XRC SRQ needs xrcd and cq of this context, and both bits in comp_mask");
	return 0;
}

struct ibv_srq *adv_ibv_create_srq_ex(struct ibv_context *context,
				      struct ibv_srq_init_attr_ex *attr)
{
	bool is_xrc = attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE && attr->srq_type == IBV_SRQT_XRC;
	int err = check_srq_attr(context, attr);

	if (err)
		return adv_ibv_refuse_object(err, "ibv_create_srq_ex()");
	return create_srq(attr->pd, attr->srq_context, &attr->attr, is_xrc ? attr : NULL);
}

int adv_ibv_get_srq_num(struct ibv_srq *srq, uint32_t *number)
{
	uint32_t n;

	if (!adv_ibv_enter_device(adv_ibv_srq_of(srq)->device))
		return adv_ibv_refuse(ADV_EFOREIGN, "ibv_get_srq_num(srq %u)", srq->handle);
	n = adv_srq_number(adv_ibv_srq_of(srq)->srq);
	adv_device_unlock(adv_ibv_srq_of(srq)->device);
	/* Only an SRQ of an XRC domain has a number. */
	if (n == 0)
		return adv_ibv_refuse(
			adv_reason(EOPNOTSUPP, "only an SRQ of an XRC domain has a number"),
			"ibv_get_srq_num(srq %u)", srq->handle);
	*number = n;
	return 0;
}

ADV_EXPORT int ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
	int err;

	if (mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT))
		return adv_ibv_refuse(adv_reason(EINVAL,
						 "srq_attr_mask 0x%x: only IBV_SRQ_MAX_WR and "
						 "IBV_SRQ_LIMIT are defined",
						 mask),
				      "ibv_modify_srq(srq %u)", srq->handle);
	if (!adv_ibv_enter_device(adv_ibv_srq_of(srq)->device))
		return adv_ibv_refuse(ADV_EFOREIGN, "ibv_modify_srq(srq %u)", srq->handle);
	err = adv_srq_modify(adv_ibv_srq_of(srq)->srq, attr, mask);
	adv_device_unlock(adv_ibv_srq_of(srq)->device);
	return adv_ibv_refuse(err, "ibv_modify_srq(srq %u)", srq->handle);
}

ADV_EXPORT int ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
	if (!adv_ibv_enter_device(adv_ibv_srq_of(srq)->device))
		return adv_ibv_refuse(ADV_EFOREIGN, "ibv_query_srq(srq %u)", srq->handle);
	adv_srq_query(adv_ibv_srq_of(srq)->srq, attr);
	adv_device_unlock(adv_ibv_srq_of(srq)->device);
	return 0;
}

/* Destroys the engine's SRQ after the application has acknowledged the SRQ's events. Call it with
 * the device's lock held; it releases the lock while it waits. 0 or EBUSY. */
static int destroy_engine_srq(struct adv_ibv_srq *srq)
{
	struct ibv_context *context = srq->ibv.context;
	const struct adv_ibv_acks acks = {
		.queue = &adv_ibv_context_of(context)->async,
		.node = srq->node,
		.nodes = ADV_SRQ_NODES,
		.mutex = &srq->ibv.mutex,
		.cond = &srq->ibv.cond,
		.completed = &srq->ibv.events_completed,
	};
	int err;

	while (!adv_srq_in_use(srq->srq) && !adv_ibv_acks_complete(&acks)) {
		adv_device_unlock(srq->device);
		adv_ibv_acks_wait(context, &acks);
		adv_device_lock(srq->device);
	}
	err = adv_srq_destroy(srq->srq);
	if (!err && srq->xrcd)
		srq->xrcd->users--;
	return err;
}

static int destroy_srq(struct ibv_srq *ibsrq)
{
	struct adv_ibv_srq *srq = adv_ibv_srq_of(ibsrq);
	int err;

	if (adv_ibv_enter_device(srq->device)) {
		err = destroy_engine_srq(srq);
		adv_device_unlock(srq->device);
		if (err)
			return adv_ibv_refuse(err, "ibv_destroy_srq(srq %u)", ibsrq->handle);
	}
	adv_debug("srq %u: destroyed", ibsrq->handle);
	adv_ibv_pd_release(ibsrq->pd);
	pthread_cond_destroy(&ibsrq->cond);
	pthread_mutex_destroy(&ibsrq->mutex);
	free(srq);
	return 0;
}

ADV_EXPORT int ibv_destroy_srq(struct ibv_srq *srq)
{
	void *watch = adv_ibv_watch_destroying(ADV_CHECK_SRQ, srq);
	int err = destroy_srq(srq);

	adv_ibv_watch_destroyed(watch, err);
	return err;
}

int adv_ibv_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	int err;

	if (!adv_ibv_enter_device(adv_ibv_srq_of(srq)->device)) {
		*bad_wr = wr;
		return adv_ibv_refuse(ADV_EFOREIGN, "ibv_post_srq_recv(srq %u)", srq->handle);
	}
	err = adv_srq_post(adv_ibv_srq_of(srq)->srq, wr, bad_wr);
	adv_device_unlock(adv_ibv_srq_of(srq)->device);
	return err ? adv_ibv_refuse(err, "ibv_post_srq_recv(srq %u)", srq->handle) : 0;
}
