/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Affiliated asynchronous events (IBTA 11.6.3): those of a QP, a CQ or an SRQ. The object itself
 * holds its pending events, each kind at most once. So no event needs memory, and none is lost.
 */
#ifndef ADV_NIC_ENGINE_AFFILIATED_H
#define ADV_NIC_ENGINE_AFFILIATED_H

#include <stdint.h>

#include "base/list.h"
#include "nic/engine/engine.h"

/* Kinds of events of a QP, see adv_async_object_of(). CQs and SRQs have fewer. */
#define ADV_AFFILIATED_KINDS 8

/* Pending events of one object. */
struct adv_affiliated {
	struct adv_list node; /* node in engine->async_events while events are pending */
	void *object;
	uint32_t pending; /* one bit for each enum ibv_event_type */
	uint8_t count;
	uint8_t type[ADV_AFFILIATED_KINDS]; /* enum ibv_event_type, oldest first */
	uint8_t why[ADV_AFFILIATED_KINDS];  /* enum adv_vendor_err */
};

void adv_affiliated_init(struct adv_affiliated *a, void *object);
/* Adds an event of `type` with the cause `why`. If an event of this type is pending, the call
 * changes nothing. */
void adv_affiliated_raise(struct adv_engine *e, struct adv_affiliated *a, enum ibv_event_type type,
			  enum adv_vendor_err why);
/* Drops the pending events. Call it before the object is freed. */
void adv_affiliated_forget(struct adv_affiliated *a);
/* Dequeues one event. Objects with pending events take turns. The events of one object keep the
 * order in which they were raised. Returns false if no event is pending. */
bool adv_affiliated_next(struct adv_list *queue, struct adv_event *event);

#endif
