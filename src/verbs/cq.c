/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completion queues: creating, polling, asking for events. cq_ex.c has the extended way to poll. */
#include <stdlib.h>

#include "verbs/objects.h"

/* Creates the engine's part. 0 or errno. */
static int create_in_engine(struct ibv_context *context, struct adv_ibv_cq *cq, unsigned cqe)
{
	struct adv_engine *e = adv_enter(context);
	int err = 0;

	if (!e)
		return ADV_EFOREIGN;
	cq->cq = adv_cq_create(e, cqe, cq);
	if (cq->cq)
		cq->ibv.cqe = (int)adv_cq_capacity(cq->cq);
	else
		err = errno;
	adv_leave(context);
	return err;
}

struct adv_ibv_cq *adv_cq_new(struct ibv_context *context, const struct ibv_cq_init_attr_ex *attr)
{
	static atomic_uint handles;
	struct adv_ibv_cq *cq;
	int err;

	if (attr->cqe < 1 || attr->cqe > ADV_MAX_CQE || attr->comp_vector >= ADV_COMP_VECTORS ||
	    (attr->channel && attr->channel->context != context)) {
		errno = EINVAL;
		return NULL;
	}
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return NULL;
	cq->ibv.context = context;
	cq->ibv.channel = attr->channel;
	cq->ibv.cq_context = attr->cq_context;
	cq->ibv.handle = ++handles;
	pthread_mutex_init(&cq->ibv.mutex, NULL);
	pthread_cond_init(&cq->ibv.cond, NULL);
	pthread_mutex_init(&cq->poll_lock, NULL);
	adv_event_node_init(&cq->comp_node, cq, 0);
	adv_event_node_init(&cq->async_node, cq, IBV_EVENT_CQ_ERR);
	err = create_in_engine(context, cq, attr->cqe);
	if (err) {
		free(cq);
		errno = err;
		return NULL;
	}
	if (attr->channel)
		adv_channel_hold(attr->channel);
	return cq;
}

ADV_EXPORT struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
					struct ibv_comp_channel *channel, int comp_vector)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = (uint32_t)cqe,
		.cq_context = cq_context,
		.channel = channel,
		.comp_vector = (uint32_t)comp_vector,
	};
	struct adv_ibv_cq *cq = adv_cq_new(context, &attr);

	return cq ? ibv_cq_ex_to_cq(&cq->ibv) : NULL;
}

ADV_EXPORT int ibv_resize_cq(struct ibv_cq *ibcq, int cqe)
{
	struct adv_ibv_cq *cq = adv_cq_of(ibcq);
	int err;

	if (cqe < 1 || cqe > ADV_MAX_CQE)
		return EINVAL;
	if (!adv_enter(ibcq->context))
		return ADV_EFOREIGN;
	err = adv_cq_resize(cq->cq, (unsigned)cqe);
	ibcq->cqe = (int)adv_cq_capacity(cq->cq);
	adv_leave(ibcq->context);
	return err;
}

int adv_modify_cq(struct ibv_cq *ibcq, struct ibv_modify_cq_attr *attr)
{
	int err;

	if (attr->attr_mask != IBV_CQ_ATTR_MODERATE)
		return EINVAL;
	if (!adv_enter(ibcq->context))
		return ADV_EFOREIGN;
	err = adv_cq_moderate(adv_cq_of(ibcq)->cq, attr->moderate.cq_count,
			      attr->moderate.cq_period * 1000ull);
	adv_leave(ibcq->context);
	return err;
}

/* The events that the application holds of it must have been acknowledged. */
static void wait_for_events(struct adv_ibv_cq *cq)
{
	struct ibv_comp_channel *channel = cq->ibv.channel;
	unsigned taken;

	taken = adv_async_forget_nodes(cq->ibv.context, &cq->async_node, 1);
	adv_wait_acked(&cq->ibv.mutex, &cq->ibv.cond, &cq->ibv.async_events_completed, taken);
	if (channel) {
		taken = adv_event_forget(&((struct adv_ibv_channel *)channel)->events,
					 &cq->comp_node);
		adv_wait_acked(&cq->ibv.mutex, &cq->ibv.cond, &cq->ibv.comp_events_completed,
			       taken);
	}
}

ADV_EXPORT int ibv_destroy_cq(struct ibv_cq *ibcq)
{
	struct adv_ibv_cq *cq = adv_cq_of(ibcq);
	int err;

	if (adv_enter(ibcq->context)) {
		err = adv_cq_destroy(cq->cq);
		adv_leave(ibcq->context);
		if (err)
			return err;
		wait_for_events(cq);
	}
	if (ibcq->channel)
		adv_channel_release(ibcq->channel);
	pthread_mutex_destroy(&cq->poll_lock);
	pthread_cond_destroy(&cq->ibv.cond);
	pthread_mutex_destroy(&cq->ibv.mutex);
	free(cq);
	return 0;
}

int adv_poll_cq(struct ibv_cq *ibcq, int n, struct ibv_wc *wc)
{
	struct adv_cq *cq = adv_cq_of(ibcq)->cq;
	int got;

	if (!adv_enter(ibcq->context))
		return -1;
	got = adv_cq_poll(cq, n, wc);
	if (got == 0 && n > 0) {
		adv_device_progress(adv_context_of(ibcq->context)->device, true);
		got = adv_cq_poll(cq, n, wc);
	}
	adv_leave(ibcq->context);
	return got;
}

int adv_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	if (!adv_enter(ibcq->context))
		return ADV_EFOREIGN;
	adv_cq_arm(adv_cq_of(ibcq)->cq, solicited_only != 0);
	adv_device_app_sleeps(adv_context_of(ibcq->context)->device);
	adv_leave(ibcq->context);
	return 0;
}
