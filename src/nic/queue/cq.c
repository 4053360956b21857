/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completion queues (IBTA 11.4.2, 10.8.5): a ring, the event that adv_cq_arm() requests, and the
 * moderation that delays this event. */
#include <stdlib.h>

#include "nic/queue/cq.h"
#include "nic/queue/qp_state.h"

static void raise_event(struct adv_cq *cq)
{
	cq->armed = ADV_CQ_DISARMED;
	cq->moderated = 0;
	adv_timer_cancel(&cq->moderation_timer);
	if (adv_list_empty(&cq->event_node))
		adv_list_add_tail(&cq->engine->cq_events, &cq->event_node);
	cq->engine->front.todo |= ADV_TODO_EVENT;
}

/* Raises the event at the end of the moderation period, which began with a completion for which the
 * CQ is armed. */
static void moderation_timer_expired(struct adv_engine *e, struct adv_timer *t, uint64_t now)
{
	struct adv_cq *cq = adv_container_of(t, struct adv_cq, moderation_timer);

	if (cq->armed != ADV_CQ_DISARMED)
		raise_event(cq);
}

static uint32_t room_for_cqes(unsigned cqe)
{
	uint32_t room = 1;

	while (room < cqe)
		room *= 2;
	return room;
}

struct adv_cq *adv_cq_create(struct adv_engine *e, unsigned cqe, void *user)
{
	struct adv_cq *cq;

	if (cqe == 0 || cqe > ADV_MAX_CQE) {
		return adv_reason_no_object(EINVAL, "cqe %u: 1 to %d are possible (max_cqe)", cqe,
					    ADV_MAX_CQE);
	}
	cq = e->cq_count < ADV_MAX_CQ ? calloc(1, sizeof(*cq)) : NULL;
	if (!cq)
		goto no_memory;
	cq->room = room_for_cqes(cqe);
	cq->ring = malloc(cq->room * sizeof(struct adv_cqe));
	if (!cq->ring || adv_timers_reserve(&e->timers))
		goto no_memory;
	cq->engine = e;
	cq->owner = e->owner;
	cq->number = ++e->numbers;
	cq->user = user;
	adv_timer_init(&cq->moderation_timer, moderation_timer_expired);
	adv_list_init(&cq->event_node);
	adv_affiliated_init(&cq->events, cq);
	adv_list_add_tail(&e->cqs, &cq->node);
	e->cq_count++;
	return cq;

no_memory:
	if (cq)
		free(cq->ring);
	free(cq);
	errno = ENOMEM;
	return NULL;
}

bool adv_cq_in_use(const struct adv_cq *cq)
{
	return cq->users > 0;
}

int adv_cq_destroy(struct adv_cq *cq)
{
	if (adv_cq_in_use(cq))
		return adv_reason(EBUSY,
				  "queue pairs and SRQs that use it: %u (a queue pair may count "
				  "twice); destroy them first",
				  cq->users);
	adv_timer_remove(&cq->engine->timers, &cq->moderation_timer);
	adv_timers_release(&cq->engine->timers);
	adv_affiliated_forget(&cq->events);
	adv_list_del(&cq->event_node);
	adv_list_del(&cq->node);
	cq->engine->cq_count--;
	free(cq->ring);
	free(cq);
	return 0;
}

int adv_cq_resize(struct adv_cq *cq, unsigned cqe)
{
	uint32_t count = cq->head - cq->tail;
	struct adv_cqe *ring;

	if (cqe == 0 || cqe > ADV_MAX_CQE || cqe < count)
		return adv_reason(
			EINVAL,
			"cqe %u: 1 to %d are possible, not less than the %u completions in it", cqe,
			ADV_MAX_CQE, count);
	ring = malloc(room_for_cqes(cqe) * sizeof(*ring));
	if (!ring)
		return ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		ring[i] = *adv_cqe_at(cq, cq->tail + i);
	free(cq->ring);
	cq->ring = ring;
	cq->room = room_for_cqes(cqe);
	cq->tail = 0;
	cq->head = count;
	return 0;
}

unsigned adv_cq_capacity(const struct adv_cq *cq)
{
	return cq->room;
}

void *adv_cq_user(const struct adv_cq *cq)
{
	return cq->user;
}

bool adv_cq_empty(const struct adv_cq *cq)
{
	return adv_cq_waiting(cq) == 0;
}

unsigned adv_cq_count(const struct adv_cq *cq)
{
	return adv_cq_waiting(cq);
}

const struct adv_cqe *adv_cq_peek(struct adv_cq *cq)
{
	return adv_cq_empty(cq) ? NULL : adv_cqe_at(cq, cq->tail);
}

void adv_cq_pop(struct adv_cq *cq)
{
	assert(!adv_cq_empty(cq));
	adv_cqe_release_slots(adv_cqe_at(cq, cq->tail++));
}

int adv_cq_poll(struct adv_cq *cq, int n, struct ibv_wc *wc)
{
	return adv_cq_take(cq, n, wc);
}

/* Raises the event of an armed CQ, now or when moderation allows it. */
static void raise_moderated_event(struct adv_cq *cq, uint64_t now)
{
	if (!cq->moderate_count && !cq->moderate_ns)
		raise_event(cq);
	else if (cq->moderate_count && cq->moderated >= cq->moderate_count)
		raise_event(cq);
	else if (cq->moderate_ns && cq->moderation_timer.when == ADV_NEVER)
		adv_timer_set(&cq->engine->timers, &cq->moderation_timer, now + cq->moderate_ns);
}

void adv_cq_notify(struct adv_cq *cq, bool notable, uint64_t now)
{
	if (cq->armed == ADV_CQ_ARMED || (cq->armed == ADV_CQ_ARMED_SOLICITED && notable))
		raise_moderated_event(cq, now);
}

bool adv_cq_push(struct adv_cq *cq, const struct adv_cqe *cqe, bool solicited, uint64_t now)
{
	if (cq->overrun)
		return false;
	if (cq->head - cq->tail == cq->room) {
		cq->overrun = true;
		adv_affiliated_raise(cq->engine, &cq->events, IBV_EVENT_CQ_ERR, ADV_ERR_CQ_OVERRUN);
		return false;
	}
	*adv_cqe_at(cq, cq->head) = *cqe;
	adv_cq_commit(cq, solicited || cqe->wc.status != IBV_WC_SUCCESS, now);
	return true;
}

void adv_cq_purge(struct adv_cq *cq, const struct adv_qp *qp)
{
	uint32_t kept = cq->tail;

	for (uint32_t i = cq->tail; i != cq->head; i++)
		if (adv_cqe_at(cq, i)->qp != qp)
			*adv_cqe_at(cq, kept++) = *adv_cqe_at(cq, i);
	cq->head = kept;
}

/* IBTA 11.4.2.2: "next completion" includes "solicited". So a request for solicited events does not
 * replace an earlier request for the next completion. */
void adv_cq_arm(struct adv_cq *cq, bool solicited_only)
{
	enum adv_cq_armed wish = solicited_only ? ADV_CQ_ARMED_SOLICITED : ADV_CQ_ARMED;

	if (wish > cq->armed)
		cq->armed = wish;
}

bool adv_cq_is_armed(const struct adv_cq *cq, bool *solicited_only)
{
	*solicited_only = cq->armed == ADV_CQ_ARMED_SOLICITED;
	return cq->armed != ADV_CQ_DISARMED;
}

int adv_cq_moderate(struct adv_cq *cq, unsigned count, uint64_t period_ns)
{
	bool waiting = cq->armed != ADV_CQ_DISARMED && cq->moderated > 0 && !adv_cq_empty(cq);

	cq->moderate_count = count;
	cq->moderate_ns = period_ns;
	/* An event that the old setting delays must not be lost: raises it now. A superfluous event
	 * is harmless. */
	if (waiting)
		raise_event(cq);
	return 0;
}
