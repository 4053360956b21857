/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completion queues: create, poll, arm. cq_ex.c has the extended interface for polling. */
#include <stdlib.h>

#include "abi/verbs/cq_part.h"

/* Creates the engine's CQ. 0 or errno. */
static int create_engine_cq(struct ibv_context *context, struct adv_ibv_cq *cq, unsigned cqe)
{
	struct adv_ibv_context *c = adv_ibv_context_of(context);
	struct adv_engine *e;
	int err = 0;

	cq->first.device = adv_device_of_thread(c->device);
	e = adv_ibv_enter_device(cq->first.device);
	if (!e)
		return ADV_EFOREIGN;
	adv_engine_set_owner(e, c);
	cq->first.cq = adv_cq_create(e, cqe, cq);
	atomic_store(&cq->polled, cq->first.device);
	if (cq->first.cq)
		cq->ibv.cqe = (int)adv_cq_capacity(cq->first.cq);
	else
		err = errno;
	adv_device_unlock(cq->first.device);
	return err;
}

/* Checks the attributes of a new CQ. 0 or EINVAL. */
static int check_cq_attr(const struct ibv_context *context, const struct ibv_cq_init_attr_ex *attr)
{
	if (attr->cqe < 1 || attr->cqe > ADV_MAX_CQE)
		return adv_reason(EINVAL, "cqe %d: 1 to %d are possible (max_cqe)", (int)attr->cqe,
				  ADV_MAX_CQE);
	if (attr->comp_vector >= ADV_COMP_VECTORS)
		return adv_reason(EINVAL, "comp_vector %d: 0 to %d are possible (num_comp_vectors)",
				  (int)attr->comp_vector, ADV_COMP_VECTORS - 1);
	if (attr->channel && attr->channel->context != context)
		return adv_reason(EINVAL, "the channel belongs to another context");
	return 0;
}

struct adv_ibv_cq *adv_ibv_cq_new(struct ibv_context *context,
				  const struct ibv_cq_init_attr_ex *attr)
{
	static atomic_uint handles;
	struct adv_ibv_cq *cq;
	int err = check_cq_attr(context, attr);

	if (err)
		return adv_ibv_refuse_object(err, "ibv_create_cq()");
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
	adv_ibv_event_node_init(&cq->comp_node, cq, 0);
	adv_ibv_event_node_init(&cq->async_node, cq, IBV_EVENT_CQ_ERR);
	err = create_engine_cq(context, cq, attr->cqe);
	if (err) {
		free(cq);
		return adv_ibv_refuse_object(err, "ibv_create_cq()");
	}
	if (attr->channel)
		adv_ibv_channel_hold(attr->channel, cq->first.device);
	adv_debug("cq %u: created, %d entries", cq->ibv.handle, cq->ibv.cqe);
	adv_ibv_watch_created(ADV_CHECK_CQ, &cq->ibv, context, NULL);
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
	struct adv_ibv_cq *cq = adv_ibv_cq_new(context, &attr);

	return cq ? ibv_cq_ex_to_cq(&cq->ibv) : NULL;
}

ADV_EXPORT int ibv_resize_cq(struct ibv_cq *ibcq, int cqe)
{
	struct adv_ibv_cq_part part[ADV_ENGINES_SHARING];
	struct adv_ibv_cq *cq = adv_ibv_cq_of(ibcq);
	unsigned parts;
	int err = 0;

	if (cqe < 1 || cqe > ADV_MAX_CQE)
		return adv_ibv_refuse(adv_reason(EINVAL, "cqe %d: 1 to %d are possible (max_cqe)",
						 cqe, ADV_MAX_CQE),
				      "ibv_resize_cq(cq %u)", ibcq->handle);
	if (adv_device_is_foreign(cq->first.device)) {
		adv_ibv_refuse_foreign();
		return adv_ibv_refuse(ADV_EFOREIGN, "ibv_resize_cq(cq %u)", ibcq->handle);
	}
	pthread_mutex_lock(&ibcq->context->mutex);
	parts = adv_ibv_cq_parts(cq, part);
	for (unsigned i = 0; i < parts && !err; i++) {
		adv_device_lock(part[i].device);
		err = adv_cq_resize(part[i].cq, (unsigned)cqe);
		ibcq->cqe = (int)adv_cq_capacity(part[i].cq);
		adv_device_unlock(part[i].device);
	}
	pthread_mutex_unlock(&ibcq->context->mutex);
	return adv_ibv_refuse(err, "ibv_resize_cq(cq %u)", ibcq->handle);
}

int adv_ibv_modify_cq(struct ibv_cq *ibcq, struct ibv_modify_cq_attr *attr)
{
	struct adv_ibv_cq_part part[ADV_ENGINES_SHARING];
	struct adv_ibv_cq *cq = adv_ibv_cq_of(ibcq);
	unsigned parts;
	int err = 0;

	if (attr->attr_mask != IBV_CQ_ATTR_MODERATE)
		return adv_ibv_refuse(
			adv_reason(EINVAL,
				   "attr_mask 0x%x: only IBV_CQ_ATTR_MODERATE (1) is defined",
				   attr->attr_mask),
			"ibv_modify_cq(cq %u)", ibcq->handle);
	if (adv_device_is_foreign(cq->first.device)) {
		adv_ibv_refuse_foreign();
		return adv_ibv_refuse(ADV_EFOREIGN, "ibv_modify_cq(cq %u)", ibcq->handle);
	}
	pthread_mutex_lock(&ibcq->context->mutex);
	cq->moderation = attr->moderate;
	parts = adv_ibv_cq_parts(cq, part);
	for (unsigned i = 0; i < parts && !err; i++) {
		adv_device_lock(part[i].device);
		err = adv_cq_moderate(part[i].cq, attr->moderate.cq_count,
				      attr->moderate.cq_period * 1000ull);
		adv_device_unlock(part[i].device);
	}
	pthread_mutex_unlock(&ibcq->context->mutex);
	return adv_ibv_refuse(err, "ibv_modify_cq(cq %u)", ibcq->handle);
}

static struct adv_ibv_acks async_acks(struct adv_ibv_cq *cq)
{
	return (struct adv_ibv_acks){
		.queue = &adv_ibv_context_of(cq->ibv.context)->async,
		.node = &cq->async_node,
		.nodes = 1,
		.mutex = &cq->ibv.mutex,
		.cond = &cq->ibv.cond,
		.completed = &cq->ibv.async_events_completed,
	};
}

/* Returns the completion events of the CQ; without nodes if the CQ has no channel. */
static struct adv_ibv_acks completion_acks(struct adv_ibv_cq *cq)
{
	struct adv_ibv_channel *channel = (struct adv_ibv_channel *)cq->ibv.channel;

	return (struct adv_ibv_acks){
		.queue = channel ? &channel->events : NULL,
		.node = &cq->comp_node,
		.nodes = channel ? 1 : 0,
		.mutex = &cq->ibv.mutex,
		.cond = &cq->ibv.cond,
		.completed = &cq->ibv.comp_events_completed,
	};
}

/* Destroys the engine's CQ after the application has acknowledged the CQ's events. Call it with the
 * device's lock held; it releases the lock while it waits. 0 or EBUSY. */
static int destroy_engine_cq(struct adv_ibv_cq *cq)
{
	const struct adv_ibv_acks async = async_acks(cq), completion = completion_acks(cq);
	struct ibv_context *context = cq->ibv.context;

	while (!adv_cq_in_use(cq->first.cq) &&
	       !(adv_ibv_acks_complete(&async) && adv_ibv_acks_complete(&completion))) {
		adv_device_unlock(cq->first.device);
		adv_ibv_acks_wait(context, &async);
		adv_ibv_acks_wait(context, &completion);
		adv_device_lock(cq->first.device);
	}
	return adv_cq_destroy(cq->first.cq);
}

static int destroy_cq(struct ibv_cq *ibcq)
{
	struct adv_ibv_cq *cq = adv_ibv_cq_of(ibcq);
	int err = 0;

	if (!adv_device_is_foreign(cq->first.device)) {
		err = adv_ibv_cq_drop_parts(cq);
		if (!err) {
			adv_device_lock(cq->first.device);
			err = destroy_engine_cq(cq);
			adv_device_unlock(cq->first.device);
		}
		if (err)
			return adv_ibv_refuse(err, "ibv_destroy_cq(cq %u)", ibcq->handle);
	}
	adv_debug("cq %u: destroyed", ibcq->handle);
	if (ibcq->channel)
		adv_ibv_channel_release(ibcq->channel);
	if (cq->parent_domain)
		adv_ibv_pd_release(cq->parent_domain);
	adv_ibv_cq_free_parts(cq);
	pthread_mutex_destroy(&cq->poll_lock);
	pthread_cond_destroy(&cq->ibv.cond);
	pthread_mutex_destroy(&cq->ibv.mutex);
	free(cq);
	return 0;
}

ADV_EXPORT int ibv_destroy_cq(struct ibv_cq *cq)
{
	void *watch = adv_ibv_watch_destroying(ADV_CHECK_CQ, cq);
	int err = destroy_cq(cq);

	adv_ibv_watch_destroyed(watch, err);
	return err;
}

int adv_ibv_poll_cq(struct ibv_cq *ibcq, int n, struct ibv_wc *wc)
{
	struct adv_ibv_cq *cq = adv_ibv_cq_of(ibcq);
	struct adv_device *device = atomic_load_explicit(&cq->polled, memory_order_acquire);

	if (adv_device_is_foreign(device))
		return adv_ibv_cq_poll_parts(cq, n, wc);
	return adv_device_poll_cq(device, cq->first.cq, n, wc);
}

int adv_ibv_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct adv_ibv_cq *cq = adv_ibv_cq_of(ibcq);

	if (!adv_ibv_enter_device(cq->first.device))
		return adv_ibv_refuse(ADV_EFOREIGN, "ibv_req_notify_cq(cq %u)", ibcq->handle);
	if (!atomic_load(&cq->more)) {
		adv_cq_arm(cq->first.cq, solicited_only != 0);
		adv_device_app_sleeps(cq->first.device);
		adv_device_unlock(cq->first.device);
		return 0;
	}
	adv_device_unlock(cq->first.device);
	adv_ibv_cq_arm_parts(cq, solicited_only != 0);
	return 0;
}
