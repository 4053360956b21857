/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Deadlines and events of an engine. */
#include "nic/queue/cq.h"
#include "nic/responder/ack.h"

/* ---- time ---- */

bool adv_engine_acks_wait(const struct adv_engine *e)
{
	return e->front.todo & ADV_TODO_ACK;
}

uint64_t adv_engine_firm_deadline(const struct adv_engine *e)
{
	return adv_engine_timers(e);
}

uint64_t adv_engine_deadline(const struct adv_engine *e)
{
	uint64_t firm = adv_engine_firm_deadline(e), ack;

	if (!adv_engine_acks_wait(e))
		return firm;
	ack = adv_responder_ack_deadline(e);
	return ack < firm ? ack : firm;
}

void adv_engine_expire(struct adv_engine *e, uint64_t now)
{
	adv_responder_ack_expire(e, now);
	adv_timers_expire(&e->timers, e, now);
}

/* ---- events ---- */

bool adv_engine_has_event(const struct adv_engine *e)
{
	return !adv_list_empty(&e->cq_events) || !adv_list_empty(&e->async_events);
}

bool adv_engine_event(struct adv_engine *e, struct adv_event *event)
{
	if (!adv_list_empty(&e->cq_events)) {
		struct adv_cq *cq = adv_container_of(e->cq_events.next, struct adv_cq, event_node);

		adv_list_del(&cq->event_node);
		*event = (struct adv_event){.kind = ADV_EVENT_COMPLETION, .cq = cq};
		return true;
	}
	if (adv_affiliated_next(&e->async_events, event))
		return true;
	e->front.todo &= ~(uint32_t)ADV_TODO_EVENT;
	return false;
}

const struct adv_engine_counters *adv_engine_counters(const struct adv_engine *e)
{
	return &e->counters;
}

const struct adv_engine_work *adv_engine_work(const struct adv_engine *e)
{
	return &e->work;
}
