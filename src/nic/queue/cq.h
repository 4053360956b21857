/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completion queues. */
#ifndef ADV_NIC_QUEUE_CQ_H
#define ADV_NIC_QUEUE_CQ_H

#include <stdatomic.h>

#include "base/probe.h"
#include "nic/engine/affiliated.h"
#include "nic/engine/state.h"
#include "nic/queue/qp_state.h"

enum adv_cq_armed { ADV_CQ_DISARMED, ADV_CQ_ARMED_SOLICITED, ADV_CQ_ARMED };

struct adv_cq {
	struct adv_cqe *ring; /* `room` entries, a power of two */
	uint32_t room;
	uint32_t head;	/* next entry to fill; free running */
	uint32_t tail;	/* next entry to poll; free running */
	uint32_t users; /* references by QPs: one as send CQ and one as receive CQ */
	enum adv_cq_armed armed;
	bool overrun;
	uint32_t moderated; /* completions since the last event */
	uint32_t moderate_count;
	uint64_t moderate_ns;
	struct adv_engine *engine;
	const void *owner;
	struct adv_list node;	    /* engine->cqs */
	struct adv_list event_node; /* node in engine->cq_events, if an event is pending */
	struct adv_affiliated events;
	void *user;
	struct adv_timer moderation_timer;
	uint32_t number;
	atomic_uint empty_at; /* for the owner of the engine, which polls without its lock */
};

/* Returns the entry for the next completion, which the caller fills in before adv_cq_commit().
 * NULL: the CQ is full, or has overrun. Nothing has changed yet. */
static inline struct adv_cqe *adv_cq_reserve(struct adv_cq *cq)
{
	struct adv_cqe *cqe = &cq->ring[cq->head & (cq->room - 1)];

	if (cq->overrun || cq->head - cq->tail == cq->room)
		return NULL;
	if (!cqe) /* callers need no test for NULL after this one */
		__builtin_unreachable();
	return cqe;
}

/* Raises the event of an armed CQ after a completion was added. notable: the completion is
 * solicited or failed. */
void adv_cq_notify(struct adv_cq *cq, bool notable, uint64_t now);

/* Adds the entry that adv_cq_reserve() returned. */
static inline void adv_cq_commit(struct adv_cq *cq, bool notable, uint64_t now)
{
	cq->head++;
	cq->moderated++;
	if (cq->armed != ADV_CQ_DISARMED)
		adv_cq_notify(cq, notable, now);
}

/* Returns the number of completions in the CQ. */
static inline uint32_t adv_cq_waiting(const struct adv_cq *cq)
{
	return cq->head - cq->tail;
}

/* Returns the entry at a free-running index. */
static inline struct adv_cqe *adv_cqe_at(const struct adv_cq *cq, uint32_t index)
{
	return &cq->ring[index & (cq->room - 1)];
}

/* Frees the queue slots of a completion that the program has taken. */
static inline void adv_cqe_release_slots(const struct adv_cqe *cqe)
{
	ADV_PROBE(poll_cq, cqe->wc.qp_num, cqe->wc.wr_id, cqe->wc.status, cqe->is_recv);
	if (cqe->qp)
		adv_qp_release_slots(cqe->qp, cqe->is_recv, cqe->release);
}

/* As adv_cq_poll(), without a call. */
static inline int adv_cq_take(struct adv_cq *cq, int n, struct ibv_wc *wc)
{
	uint32_t tail = cq->tail, waiting = adv_cq_waiting(cq);

	/* An overrun is reported after the completions from before it: they are valid, and the
	 * application may need them to clean up. */
	if (waiting == 0)
		return cq->overrun ? -1 : 0;
	if (n <= 0)
		return 0;
	if ((uint32_t)n > waiting)
		n = (int)waiting;
	for (const struct ibv_wc *end = wc + n; wc != end; wc++) {
		const struct adv_cqe *cqe = adv_cqe_at(cq, tail++);

		*wc = cqe->wc;
		adv_cqe_release_slots(cqe);
	}
	cq->tail = tail;
	return n;
}

/*
 * Adds a copy of the completion. If the CQ is armed, raises its completion event. If it is armed
 * for solicited events only, raises the event only if `solicited` is set or the completion failed.
 * Returns false if the CQ is full: the CQ enters the overrun state and queues IBV_EVENT_CQ_ERR
 * once. The caller then moves the QP to ERR.
 */
bool adv_cq_push(struct adv_cq *cq, const struct adv_cqe *cqe, bool solicited, uint64_t now);
/* Removes the completions of a QP that is destroyed or reset. */
void adv_cq_purge(struct adv_cq *cq, const struct adv_qp *qp);

#endif
