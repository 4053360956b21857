/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Fetching events. */
#ifndef ADV_RDMACM_EVENT_H
#define ADV_RDMACM_EVENT_H

#include "rdmacm/id_state.h"

/* Waits for the event of a synchronous id, which becomes id.event. Does nothing for others. Returns
 * 0 or errno: that of the event's status; ECONNREFUSED for a rejection. */
int adv_rdma_complete(struct adv_rdma_id *id);

#endif
