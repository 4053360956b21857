/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <assert.h>

#include "base/async.h"
#include "nic/engine/affiliated.h"
#include "nic/engine/state.h"

void adv_affiliated_init(struct adv_affiliated *a, void *object)
{
	adv_list_init(&a->node);
	a->object = object;
	a->pending = 0;
	a->count = 0;
}

void adv_affiliated_raise(struct adv_engine *e, struct adv_affiliated *a, enum ibv_event_type type,
			  enum adv_vendor_err why)
{
	if (a->pending & 1u << type)
		return;
	assert(a->count < ADV_AFFILIATED_KINDS);
	a->pending |= 1u << type;
	a->type[a->count] = (uint8_t)type;
	a->why[a->count] = (uint8_t)why;
	if (a->count++ == 0)
		adv_list_add_tail(&e->async_events, &a->node);
	e->front.todo |= ADV_TODO_EVENT;
}

void adv_affiliated_forget(struct adv_affiliated *a)
{
	adv_list_del(&a->node);
	a->pending = 0;
	a->count = 0;
}

bool adv_affiliated_next(struct adv_list *queue, struct adv_event *event)
{
	struct adv_affiliated *a;

	if (adv_list_empty(queue))
		return false;
	a = adv_container_of(queue->next, struct adv_affiliated, node);
	*event = (struct adv_event){
		.kind = ADV_EVENT_ASYNC,
		.async = (enum ibv_event_type)a->type[0],
		.why = a->why[0],
	};
	switch (adv_async_object_of(event->async)) {
	case ADV_ASYNC_CQ:
		event->cq = a->object;
		break;
	case ADV_ASYNC_SRQ:
		event->srq = a->object;
		break;
	default:
		event->qp = a->object;
	}
	a->pending &= ~(1u << a->type[0]);
	a->count--;
	for (unsigned i = 0; i < a->count; i++) {
		a->type[i] = a->type[i + 1];
		a->why[i] = a->why[i + 1];
	}
	adv_list_del(&a->node);
	if (a->count)
		adv_list_add_tail(queue, &a->node);
	return true;
}
