/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The response to a command. */
#ifndef ADV_STORAGE_NVME_TARGET_RESPOND_H
#define ADV_STORAGE_NVME_TARGET_RESPOND_H

#include "storage/nvme_target/state.h"

/* Ends a request: with success its data goes to the host, with another status the error log gets an
 * entry. If the queue is closed, the request is released instead. */
void adv_nvme_request_complete(struct adv_nvme_request *request, uint16_t status);
/* Starts the responses of ended requests, in their order, until as many are under way as may be. */
void adv_nvme_respond_next(struct adv_nvme_queue *queue);

#endif
