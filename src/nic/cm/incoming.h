/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Ids of requests that peers send. */
#ifndef ADV_NIC_CM_INCOMING_H
#define ADV_NIC_CM_INCOMING_H

#include "nic/cm/state.h"

/* Returns a new id for a request to a listener, with a prepared CONNECT_REQUEST event, which the
 * caller fills and posts. NULL: the listener or the sender has too many requests, which is counted,
 * or no memory. The peer sends the request again. */
struct adv_cm_id *adv_cm_request_new(struct adv_cm_id *listener, uint64_t now,
				     const struct adv_rx_meta *meta,
				     const struct adv_cm_ip_header *header, uint16_t port,
				     struct adv_cm_event_node **event);

#endif
