/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/control/request.h"

#include <errno.h>

static struct adv_control_request *first_of(struct adv_list *list)
{
	return adv_list_entry(list->next, list, offsetof(struct adv_control_request, node));
}

void adv_control_queue_init(struct adv_control_queue *q)
{
	adv_list_init(&q->queued);
	adv_list_init(&q->sent);
	adv_list_init(&q->answered);
	q->sent_count = 0;
}

void adv_control_queue_add(struct adv_control_queue *q, struct adv_control_request *r)
{
	r->state = ADV_CONTROL_REQUEST_QUEUED;
	r->fd = -1;
	r->error = 0;
	adv_list_add_tail(&q->queued, &r->node);
}

struct adv_control_request *adv_control_queue_next(struct adv_control_queue *q)
{
	return q->sent_count < ADV_CONTROL_WINDOW ? first_of(&q->queued) : NULL;
}

void adv_control_queue_sent(struct adv_control_queue *q, struct adv_control_request *r)
{
	adv_list_del(&r->node);
	adv_list_add_tail(&q->sent, &r->node);
	q->sent_count++;
	r->state = ADV_CONTROL_REQUEST_SENT;
}

struct adv_control_request *adv_control_queue_find(struct adv_control_queue *q, uint32_t serial)
{
	adv_list_for_each(struct adv_control_request, r, &q->sent, node)
		if (r->message.serial == serial)
			return r;
	return NULL;
}

static void end_request(struct adv_control_queue *q, struct adv_control_request *r)
{
	adv_list_del(&r->node);
	if (r->state == ADV_CONTROL_REQUEST_SENT)
		q->sent_count--;
	r->state = ADV_CONTROL_REQUEST_ANSWERED;
	if (!r->awaited)
		adv_list_add_tail(&q->answered, &r->node);
}

void adv_control_queue_answer(struct adv_control_queue *q, struct adv_control_request *r,
			      const struct adv_control_message *m, int *fd)
{
	if (m->type == ADV_CONTROL_REFUSED)
		r->error = m->result ? m->result : EACCES;
	else if (m->type != r->message.type)
		r->error = EPROTO;
	else
		r->error = m->result;
	r->message = *m;
	r->fd = *fd;
	*fd = -1;
	end_request(q, r);
}

void adv_control_queue_unsend(struct adv_control_queue *q)
{
	adv_list_for_each(struct adv_control_request, r, &q->sent, node)
		r->state = ADV_CONTROL_REQUEST_QUEUED;
	adv_list_move_tail(&q->sent, &q->queued);
	adv_list_move_tail(&q->queued, &q->sent);
	q->sent_count = 0;
}

void adv_control_queue_fail(struct adv_control_queue *q, int error)
{
	struct adv_control_request *r;

	adv_control_queue_unsend(q);
	while ((r = first_of(&q->queued))) {
		r->error = error;
		end_request(q, r);
	}
}

void adv_control_queue_remove(struct adv_control_queue *q, struct adv_control_request *r)
{
	adv_list_del(&r->node);
	if (r->state == ADV_CONTROL_REQUEST_SENT)
		q->sent_count--;
	r->state = ADV_CONTROL_REQUEST_IDLE;
}

struct adv_control_request *adv_control_queue_take_answered(struct adv_control_queue *q)
{
	struct adv_control_request *r = first_of(&q->answered);

	if (!r)
		return NULL;
	adv_list_del(&r->node);
	return r;
}
