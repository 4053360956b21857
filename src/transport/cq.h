/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completion queues. */
#ifndef ADV_TRANSPORT_CQ_H
#define ADV_TRANSPORT_CQ_H

#include "transport/affiliated.h"
#include "transport/engine_state.h"

enum adv_cq_armed { ADV_CQ_DISARMED, ADV_CQ_ARMED_SOLICITED, ADV_CQ_ARMED };

struct adv_cq {
	struct adv_engine *engine;
	const void *owner;
	struct adv_list node;	    /* engine->cqs */
	struct adv_list event_node; /* engine->cq_events while a completion event is pending */
	struct adv_affiliated events;
	void *user;
	struct adv_cqe *ring; /* `room` entries, a power of two */
	uint32_t room;
	uint32_t head;	/* free running: next to fill */
	uint32_t tail;	/* next to poll */
	uint32_t users; /* QPs, counted once for each of send and receive */
	enum adv_cq_armed armed;
	bool overrun;
	uint32_t moderate_count;
	uint64_t moderate_ns;
	uint32_t moderated; /* completions since the last event */
	struct adv_timer moderation_timer;
	uint32_t number;
};

/*
 * Adds a completion (copied) and raises the armed event. A CQ that is armed for solicited events
 * raises it if `solicited`, or if the completion failed. False: the CQ was full. It is then in the
 * overrun state, IBV_EVENT_CQ_ERR is queued once, and the caller moves the QP to the error state.
 */
bool adv_cq_push(struct adv_cq *cq, const struct adv_cqe *cqe, bool solicited, uint64_t now);
/* Removes the completions of a QP that is destroyed or reset. */
void adv_cq_purge(struct adv_cq *cq, const struct adv_qp *qp);

#endif
