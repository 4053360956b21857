/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Delivers the device's asynchronous events to ibv_get_async_event(). */
#include "base/async.h"
#include "base/sys.h"
#include "abi/verbs/objects.h"

static const enum ibv_event_type qp_events[ADV_QP_NODES] = {
	IBV_EVENT_QP_FATAL, IBV_EVENT_QP_REQ_ERR,   IBV_EVENT_QP_ACCESS_ERR,
	IBV_EVENT_COMM_EST, IBV_EVENT_SQ_DRAINED,   IBV_EVENT_QP_LAST_WQE_REACHED,
	IBV_EVENT_PATH_MIG, IBV_EVENT_PATH_MIG_ERR,
};

static const enum ibv_event_type srq_events[ADV_SRQ_NODES] = {
	IBV_EVENT_SRQ_LIMIT_REACHED,
	IBV_EVENT_SRQ_ERR,
};

void adv_ibv_async_init_qp(struct adv_ibv_qp *qp)
{
	for (unsigned i = 0; i < ADV_QP_NODES; i++)
		adv_ibv_event_node_init(&qp->node[i], qp, (int)qp_events[i]);
}

void adv_ibv_async_init_srq(struct adv_ibv_srq *srq)
{
	for (unsigned i = 0; i < ADV_SRQ_NODES; i++)
		adv_ibv_event_node_init(&srq->node[i], srq, (int)srq_events[i]);
}

/* Queues an event of an object in its context. Returns the eventfd to signal, or -1 for an
 * unknown type. */
static int push_object_event(struct ibv_context *context, struct adv_ibv_event_node *nodes,
			     unsigned count, enum ibv_event_type type)
{
	struct adv_ibv_context *c = adv_ibv_context_of(context);

	for (unsigned i = 0; i < count; i++) {
		if (nodes[i].type == (int)type) {
			return adv_ibv_event_push(&c->async, &nodes[i]);
		}
	}
	return -1;
}

/* Queues the event for every handle of the QP. Signals the eventfds of the other handles, and
 * returns the eventfd of this handle. */
static int push_qp_event(struct adv_ibv_qp *qp, enum ibv_event_type type)
{
	const uint64_t one = 1;

	adv_list_for_each(struct adv_ibv_qp, other, &qp->shared, shared) {
		int fd = push_object_event(other->ibv.context, other->node, ADV_QP_NODES, type);

		if (fd >= 0)
			(void)!adv_sys_write(fd, &one, sizeof(one));
	}
	return push_object_event(qp->ibv.context, qp->node, ADV_QP_NODES, type);
}

int adv_ibv_async_object(void *user, const struct adv_event *event)
{
	if (event->qp) {
		return push_qp_event(adv_qp_user(event->qp), event->async);
	} else if (event->srq) {
		struct adv_ibv_srq *srq = adv_srq_user(event->srq);

		return push_object_event(srq->ibv.context, srq->node, ADV_SRQ_NODES, event->async);
	} else if (event->cq) {
		struct adv_ibv_cq *cq = adv_cq_user(event->cq);

		return push_object_event(cq->ibv.context, &cq->async_node, 1, event->async);
	}
	return -1;
}

int adv_ibv_async_port(void *user, enum ibv_event_type type)
{
	struct adv_ibv_context *c = user;

	return adv_ibv_event_push(&c->async, &c->port_node[type]);
}

bool adv_ibv_acks_complete(const struct adv_ibv_acks *a)
{
	unsigned dequeued = 0;
	bool complete = true;

	for (unsigned i = 0; i < a->nodes; i++)
		complete &= adv_ibv_event_none_queued(a->queue, &a->node[i], &dequeued);
	pthread_mutex_lock(a->mutex);
	complete &= *a->completed == dequeued;
	pthread_mutex_unlock(a->mutex);
	return complete;
}

void adv_ibv_acks_wait(struct ibv_context *context, const struct adv_ibv_acks *a)
{
	unsigned dequeued = 0;

	adv_device_settle(adv_ibv_context_of(context)->device);
	for (unsigned i = 0; i < a->nodes; i++)
		dequeued += adv_ibv_event_drop(a->queue, &a->node[i]);
	pthread_mutex_lock(a->mutex);
	while (*a->completed != dequeued)
		pthread_cond_wait(a->cond, a->mutex);
	pthread_mutex_unlock(a->mutex);
}

ADV_EXPORT int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	struct adv_ibv_event_node *n = adv_ibv_event_wait(&adv_ibv_context_of(context)->async);

	if (!n)
		return -1;
	event->event_type = (enum ibv_event_type)n->type;
	switch (adv_async_object_of(event->event_type)) {
	case ADV_ASYNC_CQ:
		event->element.cq = n->object;
		break;
	case ADV_ASYNC_SRQ:
		event->element.srq = n->object;
		break;
	case ADV_ASYNC_QP:
		event->element.qp = n->object;
		break;
	case ADV_ASYNC_WQ: /* the device has no WQs */
		event->element.wq = NULL;
		break;
	case ADV_ASYNC_PORT:
		event->element.port_num = 1;
		break;
	}
	if (adv_ibv_observer)
		adv_ibv_observer->async_event(context, event);
	return 0;
}

static void count_acked(pthread_mutex_t *mutex, pthread_cond_t *cond, uint32_t *completed)
{
	pthread_mutex_lock(mutex);
	(*completed)++;
	pthread_cond_signal(cond);
	pthread_mutex_unlock(mutex);
}

ADV_EXPORT void ibv_ack_async_event(struct ibv_async_event *event)
{
	if (adv_ibv_observer)
		adv_ibv_observer->async_acked(event);
	switch (adv_async_object_of(event->event_type)) {
	case ADV_ASYNC_CQ: {
		struct ibv_cq *cq = event->element.cq;

		count_acked(&cq->mutex, &cq->cond, &cq->async_events_completed);
		break;
	}
	case ADV_ASYNC_SRQ: {
		struct ibv_srq *srq = event->element.srq;

		count_acked(&srq->mutex, &srq->cond, &srq->events_completed);
		break;
	}
	case ADV_ASYNC_QP: {
		struct ibv_qp *qp = event->element.qp;

		count_acked(&qp->mutex, &qp->cond, &qp->events_completed);
		break;
	}
	case ADV_ASYNC_PORT:
	case ADV_ASYNC_WQ:
		break;
	}
}
