/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Event channels: queues of events. A byte on the channel's socket announces each event. */
#ifndef ADV_RUNTIME_UCMA_CHANNEL_H
#define ADV_RUNTIME_UCMA_CHANNEL_H

#include "runtime/ucma/find.h"

extern adv_ucma_handler adv_ucma_create_channel, adv_ucma_destroy_channel, adv_ucma_get_event,
	adv_ucma_write_event, adv_ucma_migrate;

/* Queues a copy of *event, whose links need not be set. If the client has too many unfetched
 * events, the client is marked dead. */
void adv_ucma_event_queue(const struct adv_ucma_event *event);
/* Queues an event that has a status but no parameters. */
void adv_ucma_event_queue_status(struct adv_ucma_id *id, enum rdma_cm_event_type type, int status);
/* Drops the id's unfetched events. If `membership` is not NULL, drops only the events of that
 * membership. */
void adv_ucma_events_drop(struct adv_ucma_id *id, const struct adv_ucma_membership *membership);
/* Closes and frees a channel that no id uses. */
void adv_ucma_channel_free(struct adv_ucma_channel *ch);

#endif
