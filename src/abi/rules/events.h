/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rules on events: lost-wakeup, event-not-acknowledged, async-never-read. All calls need the
 * lock of report.h. */
#ifndef ADV_ABI_RULES_EVENTS_H
#define ADV_ABI_RULES_EVENTS_H

#include "abi/check/call.h"
#include "abi/check/object.h"

/* ibv_req_notify_cq() was called. */
void adv_check_armed(struct adv_check_call *call, struct adv_check_cq *cq);
/* The program waits for descriptors, and none is ready. contains() tells whether a descriptor is
 * among them; set is its second argument. */
void adv_check_waits(struct adv_check_call *call, bool (*contains)(int fd, const void *set),
		     const void *set);
/* ibv_get_cq_event() is called for the channel with this descriptor. */
void adv_check_waits_for_channel(struct adv_check_call *call, int fd);
/* False as long as adv_check_waits() cannot find anything. Any thread, without the lock. */
bool adv_check_ever_armed_late(void);
/* ibv_get_cq_event() delivered an event of the CQ. */
void adv_check_cq_event(struct adv_check_call *call, struct adv_check_cq *cq);
/* ibv_get_async_event() delivered an event of the queue pair. */
void adv_check_qp_event(struct adv_check_call *call, struct adv_check_qp *qp);
/* A CQ or queue pair is being destroyed. */
void adv_check_cq_unacknowledged(struct adv_check_call *call, const struct adv_check_cq *cq);
void adv_check_qp_unacknowledged(struct adv_check_call *call, const struct adv_check_qp *qp);
/* An object is destroyed or a context closed (call), or the program exits (call is NULL). */
void adv_check_unread(struct adv_check_call *call, const struct adv_check_object *o);

#endif
