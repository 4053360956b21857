/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Events for the owners of ids. */
#ifndef ADV_NIC_CM_EVENT_H
#define ADV_NIC_CM_EVENT_H

#include "nic/cm/state.h"

/*
 * Allocates an event; callers do so before they change any state. Returns false if there is no
 * memory. *node is NULL if the id has no owner. The caller posts or drops the event; the functions
 * below accept NULL.
 */
bool adv_cm_event_prepare(struct adv_cm_id *id, enum rdma_cm_event_type type,
			  struct adv_cm_event_node **node);
void adv_cm_event_private(struct adv_cm_event_node *node, const uint8_t *data, uint8_t len);
void adv_cm_event_post(struct adv_cm_event_node *node);
/* Drops all undelivered events of an id. */
void adv_cm_id_drop_events(struct adv_cm_id *id);

#endif
