/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The order of overlapping writes to a namespace. NVMe leaves it to the host. But a host that has
 * lost its connection repeats its writes on a new one, while the backend may still execute the
 * first copies. A first copy that finishes last would undo a later, acknowledged write. So a
 * request that changes blocks, or the Compare of a fused Compare and Write, waits for all earlier
 * ones that change blocks of the same range, of any queue.
 */
#ifndef ADV_STORAGE_NVME_TARGET_ORDER_H
#define ADV_STORAGE_NVME_TARGET_ORDER_H

#include "storage/nvme_target/state.h"

/* Submits request->io to the backend, now or when earlier requests on its range have ended; the
 * FETCH of a Write whose data goes into the namespace itself likewise. */
void adv_nvme_order_submit(struct adv_nvme_request *request);
/* Ends an executed request, and submits those that waited for it. A request without an order: does
 * nothing. */
void adv_nvme_order_executed(struct adv_nvme_request *request);
/* Passes the range of `from`, which has executed, to `to`, which has the same range: no other
 * request gets between them. */
void adv_nvme_order_hand_over(struct adv_nvme_request *from, struct adv_nvme_request *to);
/* Removes a request that waits. */
void adv_nvme_order_cancel(struct adv_nvme_request *request);

#endif
