/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Ids of requests that peers send. */
#ifndef ADV_CM_INCOMING_H
#define ADV_CM_INCOMING_H

#include "cm/state.h"

/* Returns a new id for a request to a listener. NULL: the listener or the sender has too many
 * requests, or no memory. */
struct adv_cm_id *adv_cm_request_new(struct adv_cm_id *listener, uint64_t now,
				     const struct adv_rx_meta *meta,
				     const struct adv_cm_ip_header *header, uint16_t port);

#endif
