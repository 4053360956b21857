/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "abi/rules/events.h"

#include <stdatomic.h>
#include <unistd.h>

#include "base/sys.h"
#include "abi/rules/queue.h"

/* A CQ was armed while it had completions. */
static atomic_bool ever_armed_late;

void adv_check_armed(struct adv_check_call *call, struct adv_check_cq *cq)
{
	cq->armed_late = adv_check_libibverbs->completions(cq->base.object);
	if (!cq->armed_late)
		return;
	cq->armed = *adv_check_call_stack(call);
	cq->armed_by = gettid();
	atomic_store(&ever_armed_late, true);
}

bool adv_check_ever_armed_late(void)
{
	return atomic_load_explicit(&ever_armed_late, memory_order_relaxed);
}

static void find_lost_wakeup(struct adv_check_call *call, const struct adv_check_cq *cq)
{
	const struct adv_check_finding f = {
		.rule = ADV_RULE_LOST_WAKEUP,
		.fault = adv_check_call_stack(call),
		.more = {{"the completion queue was armed here", &cq->armed}},
		.about = &cq->base,
	};

	adv_check_find(&f,
		       "%s: %s had %u completions when it was armed, and was not polled since: "
		       "they give no event",
		       call->name, cq->base.name, cq->armed_late);
}

/* One thread may arm and poll the CQ while another thread waits for its event. */
void adv_check_waits(struct adv_check_call *call, bool (*contains)(int fd, const void *set),
		     const void *set)
{
	const pid_t self = gettid();

	adv_list_for_each(struct adv_check_object, o, adv_check_objects(ADV_CHECK_CQ), link) {
		const struct adv_check_cq *cq = (struct adv_check_cq *)o;
		const struct ibv_comp_channel *channel = ((struct ibv_cq *)o->object)->channel;

		if (cq->armed_late && cq->armed_by == self && channel && !o->destroying &&
		    contains(channel->fd, set))
			find_lost_wakeup(call, cq);
	}
}

static bool is_same(int fd, const void *channel)
{
	return fd == *(const int *)channel;
}

void adv_check_waits_for_channel(struct adv_check_call *call, int fd)
{
	struct pollfd events = {.fd = fd, .events = POLLIN};

	if (adv_sys_poll(&events, 1, 0) != 0)
		return;
	adv_check_waits(call, is_same, &fd);
	adv_check_waits_in_vain(call, fd);
}

void adv_check_cq_event(struct adv_check_call *call, struct adv_check_cq *cq)
{
	cq->events++;
	cq->receiver = gettid();
	cq->last_event = *adv_check_call_stack(call);
}

void adv_check_qp_event(struct adv_check_call *call, struct adv_check_qp *qp)
{
	qp->async_events++;
	qp->async_receiver = gettid();
	qp->last_async = *adv_check_call_stack(call);
}

/* One thread receives the event and waits; another thread acknowledges it. */
static void find_unacknowledged(struct adv_check_call *call, const struct adv_check_object *o,
				uint64_t count, const struct adv_check_stack *last)
{
	const struct adv_check_finding f = {
		.rule = ADV_RULE_EVENT_NOT_ACKNOWLEDGED,
		.fault = adv_check_call_stack(call),
		.more = {{"the newest event was delivered here", last}},
		.about = o,
	};

	adv_check_find(
		&f,
		"%s(%s): %llu of its events are not acknowledged: the call waits until they are",
		call->name, o->name, (unsigned long long)count);
}

void adv_check_cq_unacknowledged(struct adv_check_call *call, const struct adv_check_cq *cq)
{
	if (cq->events > cq->acked && cq->receiver == gettid())
		find_unacknowledged(call, &cq->base, cq->events - cq->acked, &cq->last_event);
}

void adv_check_qp_unacknowledged(struct adv_check_call *call, const struct adv_check_qp *qp)
{
	if (qp->async_events > qp->async_acked && qp->async_receiver == gettid())
		find_unacknowledged(call, &qp->base, qp->async_events - qp->async_acked,
				    &qp->last_async);
}

/* The events that a program must not miss: reports of failures, and events that the program has
 * requested. at_end: a failed completion tells the same, so the event counts only if it is unread
 * when the program exits or closes the context. */
static const struct {
	enum ibv_event_type type;
	const char *name;
	bool at_end;
} missed[] = {
	{IBV_EVENT_QP_REQ_ERR, "IBV_EVENT_QP_REQ_ERR", true},
	{IBV_EVENT_QP_ACCESS_ERR, "IBV_EVENT_QP_ACCESS_ERR", true},
	{IBV_EVENT_CQ_ERR, "IBV_EVENT_CQ_ERR", false},
	{IBV_EVENT_QP_FATAL, "IBV_EVENT_QP_FATAL", false},
	{IBV_EVENT_SQ_DRAINED, "IBV_EVENT_SQ_DRAINED", false},
	{IBV_EVENT_SRQ_ERR, "IBV_EVENT_SRQ_ERR", false},
	{IBV_EVENT_SRQ_LIMIT_REACHED, "IBV_EVENT_SRQ_LIMIT_REACHED", false},
	{IBV_EVENT_DEVICE_FATAL, "IBV_EVENT_DEVICE_FATAL", false},
	{IBV_EVENT_PORT_ERR, "IBV_EVENT_PORT_ERR", false},
};

void adv_check_unread(struct adv_check_call *call, const struct adv_check_object *o)
{
	const void *object = o->kind == ADV_CHECK_CONTEXT ? NULL : o->object;
	uint64_t queued = adv_check_libibverbs->async_queued(o->context, object);
	const struct adv_check_finding f = {
		.rule = ADV_RULE_ASYNC_NEVER_READ,
		.fault = call ? adv_check_call_stack(call) : NULL,
		.more = {{"the object was created here", &o->created}},
		.about = o,
	};

	for (unsigned i = 0; i < sizeof(missed) / sizeof(missed[0]); i++) {
		if (!(queued >> missed[i].type & 1) || (object && missed[i].at_end))
			continue;
		adv_check_find(&f, "%s occurred on %s, and the program never read it",
			       missed[i].name, o->name);
		return;
	}
}
