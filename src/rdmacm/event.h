/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Fetching events. */
#ifndef ADV_RDMACM_EVENT_H
#define ADV_RDMACM_EVENT_H

#include "rdmacm/id_state.h"

/* A synchronous id waits for its event, which becomes id.event; nothing is done for others.
 * errno: of the event's status; ECONNREFUSED for a rejection. */
int adv_rdma_complete(struct adv_rdma_id *id);

#endif
