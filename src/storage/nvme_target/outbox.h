/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Actions for the binding, and the ends of requests and queues. */
#ifndef ADV_STORAGE_NVME_TARGET_OUTBOX_H
#define ADV_STORAGE_NVME_TARGET_OUTBOX_H

#include "storage/nvme_target/state.h"

/* Puts a request into the outbox of its queue. */
void adv_nvme_request_act(struct adv_nvme_request *request, enum adv_nvme_action action);
/* Makes a request available for the next capsule. Of a closed queue the last one gives FREE. */
void adv_nvme_request_free(struct adv_nvme_request *request);
/* Puts FREE into the outbox if the queue is closed and has no requests. */
void adv_nvme_queue_free_if_idle(struct adv_nvme_queue *queue);

#endif
