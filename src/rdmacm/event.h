/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Fetching events. */
#ifndef ADV_RDMACM_EVENT_H
#define ADV_RDMACM_EVENT_H

#include "rdmacm/id_state.h"

/* Waits for the next event of a synchronous id and stores the event in id.event. Does nothing if
 * the id is asynchronous. Returns 0 or the errno of the event's status; for a rejection
 * ECONNREFUSED. */
int adv_rdma_complete(struct adv_rdma_id *id);

#endif
