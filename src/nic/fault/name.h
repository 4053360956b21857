/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names of actions, of queues, and of the errors and events that rules inject. Pure. */
#ifndef ADV_NIC_FAULT_NAME_H
#define ADV_NIC_FAULT_NAME_H

#include "nic/fault/rule.h"

/* "drop", ... */
const char *adv_fault_action_name(enum adv_fault_action action);

/* "send", "recv" or "srq". */
const char *adv_fault_queue_name(enum adv_fault_work_queue queue);

/* True for POST, COMPLETE and EVENT, whose rules have a value. */
bool adv_fault_has_value(enum adv_fault_action action);

/*
 * Reads the name of a value of this action. The prefixes "IBV_WC_" and "IBV_EVENT_" are optional,
 * and letters may be of either case. Returns false if the action has no value of that name.
 */
bool adv_fault_value_read(enum adv_fault_action action, const char *name, size_t len,
			  uint32_t *value);

/* Returns the name of a value of this action; NULL if it has none. */
const char *adv_fault_value_name(enum adv_fault_action action, uint32_t value);

/* True for an asynchronous event (enum ibv_event_type) of a QP, a CQ or an SRQ; false for one of
 * the port or the device. */
bool adv_fault_event_has_object(uint32_t event);

#endif
