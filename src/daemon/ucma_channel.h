/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Event channels: queues of events. A byte on the channel's socket announces each event. */
#ifndef ADV_DAEMON_UCMA_CHANNEL_H
#define ADV_DAEMON_UCMA_CHANNEL_H

#include "daemon/ucma_find.h"

extern adv_ucma_handler adv_ucma_create_channel, adv_ucma_destroy_channel, adv_ucma_get_event,
	adv_ucma_write_event, adv_ucma_migrate;

/* Queues a copy of an event, whose links are not set. A client that fetches too few of its events
 * is marked dead. */
void adv_ucma_event_queue(const struct adv_ucma_event *event);
/* Queues an event that has a status only. */
void adv_ucma_event_queue_status(struct adv_ucma_id *id, enum rdma_cm_event_type type, int status);
/* Drops the id's events that were not fetched; `membership` not NULL: only those of this one. */
void adv_ucma_events_drop(struct adv_ucma_id *id, const struct adv_ucma_membership *membership);
/* Closes and frees a channel to which no id reports. */
void adv_ucma_channel_free(struct adv_ucma_channel *ch);

#endif
