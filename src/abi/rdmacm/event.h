/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Fetching events. */
#ifndef ADV_ABI_RDMACM_EVENT_H
#define ADV_ABI_RDMACM_EVENT_H

#include "abi/rdmacm/id_state.h"

/* Waits for the next event of a synchronous id and stores the event in id.event. Returns 0 or the
 * errno of the event's status; for a rejection ECONNREFUSED. The caller has read id->sync before
 * its request: after it, another thread may get the event of an asynchronous id, and destroy the
 * id. */
int adv_rdma_complete(struct adv_rdma_id *id);

#endif
