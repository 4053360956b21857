/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fused Compare and Write (NVMe Base 1.4, section 6.2): a Compare and a Write of the same blocks
 * that follow each other in a queue. The Write executes only if the Compare succeeds, and no other
 * write gets between them. Both start, then both get their data, then the Compare executes.
 */
#ifndef ADV_STORAGE_NVME_TARGET_FUSED_H
#define ADV_STORAGE_NVME_TARGET_FUSED_H

#include "storage/nvme_target/state.h"

/* True if the fuse field of the command is right for its queue and opcode. */
bool adv_nvme_fused_allowed(const struct adv_nvme_request *request);

enum adv_nvme_fused_next {
	ADV_NVME_FUSED_ALONE, /* the command is by itself */
	ADV_NVME_FUSED_HELD,  /* it waits for the second one, or has been completed */
	ADV_NVME_FUSED_BOTH,  /* it is the second one, and request->partner the first: both proceed
			       */
};

/* Handles a command that has been started with `status`. Completes a first one that is not followed
 * by its second, a second one without its first, and both if one of them cannot start. */
enum adv_nvme_fused_next adv_nvme_fused_started(struct adv_nvme_request *request, uint16_t status);
/* Handles a command whose data is here. False: it is not fused. */
bool adv_nvme_fused_ready(struct adv_nvme_request *request);
/* Handles the end of a Compare in the backend: continues with the Write or completes it, and
 * completes the Compare. False: the request is not the first one of two, or its queue is closed. */
bool adv_nvme_fused_executed(struct adv_nvme_request *request, uint16_t status);
/* Fails the partner of a command that has failed, if it has one. */
void adv_nvme_fused_failed(struct adv_nvme_request *request);

#endif
