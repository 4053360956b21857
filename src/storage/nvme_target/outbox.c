/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/nvme_target/outbox.h"

#include "storage/nvme_target/namespace.h"
#include "storage/nvme_target/reports.h"

void adv_nvme_outbox_init(struct adv_nvme_outbox *outbox)
{
	adv_list_init(&outbox->requests);
	adv_list_init(&outbox->queues);
}

bool adv_nvme_outbox_empty(const struct adv_nvme_outbox *outbox)
{
	return adv_list_empty(&outbox->requests) && adv_list_empty(&outbox->queues);
}

void adv_nvme_request_act(struct adv_nvme_request *request, enum adv_nvme_action action)
{
	request->state = ADV_NVME_REQUEST_QUEUED;
	request->action = (uint8_t)action;
	adv_list_add_tail(&request->queue->outbox->requests, &request->link);
}

static void queue_act(struct adv_nvme_queue *queue, enum adv_nvme_action action)
{
	adv_list_del(&queue->link);
	queue->action = (uint8_t)action;
	adv_list_add_tail(&queue->outbox->queues, &queue->link);
}

void adv_nvme_queue_fail(struct adv_nvme_queue *queue, const char *why)
{
	if (queue->failing || queue->closed)
		return;
	if (why)
		adv_nvme_report_queue(queue, ADV_NVME_REPORT_CLOSED, why);
	queue->failing = true;
	adv_list_del(&queue->unconnected);
	queue_act(queue, ADV_NVME_ACTION_CLOSE);
}

void adv_nvme_queue_free_if_idle(struct adv_nvme_queue *queue)
{
	if (!queue->closed || queue->busy > 0 || queue->freeing)
		return;
	queue->freeing = true;
	queue_act(queue, ADV_NVME_ACTION_FREE);
}

static void mark_request_answered(struct adv_nvme_request *request)
{
	if (!request->answered)
		request->queue->unanswered--;
	request->answered = true;
}

void adv_nvme_request_free(struct adv_nvme_request *request)
{
	struct adv_nvme_queue *queue = request->queue;

	if (request->namespace)
		adv_nvme_namespace_put(request->namespace);
	request->namespace = NULL;
	if (request->partner)
		request->partner->partner = NULL;
	request->partner = NULL;
	request->state = ADV_NVME_REQUEST_FREE;
	adv_list_add_tail(&queue->free, &request->link);
	queue->busy--;
	mark_request_answered(request);
	adv_nvme_queue_free_if_idle(queue);
}

enum adv_nvme_action adv_nvme_outbox_next(struct adv_nvme_outbox *outbox,
					  struct adv_nvme_queue **queue,
					  struct adv_nvme_request **request)
{
	struct adv_nvme_request *r;
	struct adv_nvme_queue *q;

	if (!adv_list_empty(&outbox->requests)) {
		r = adv_container_of(outbox->requests.next, struct adv_nvme_request, link);
		adv_list_del(&r->link);
		r->state = ADV_NVME_REQUEST_OUT;
		*request = r;
		*queue = r->queue;
		if (r->action == ADV_NVME_ACTION_RELEASE)
			adv_nvme_request_free(r);
		else if (r->action == ADV_NVME_ACTION_RESPOND)
			mark_request_answered(r);
		return r->action;
	}
	if (!adv_list_empty(&outbox->queues)) {
		q = adv_container_of(outbox->queues.next, struct adv_nvme_queue, link);
		adv_list_del(&q->link);
		*queue = q;
		*request = NULL;
		return q->action;
	}
	return ADV_NVME_ACTION_NONE;
}
