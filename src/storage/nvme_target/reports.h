/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reports of the target, for its other files. The target keeps them until the owner takes them; if
 * it has too many, it counts those that it leaves out. */
#ifndef ADV_STORAGE_NVME_TARGET_REPORTS_H
#define ADV_STORAGE_NVME_TARGET_REPORTS_H

#include "storage/nvme_target/state.h"

/* Reports what a queue and its controller are part of; `why` stays valid. */
void adv_nvme_report_queue(struct adv_nvme_queue *queue, enum adv_nvme_report_kind kind,
			   const char *why);
/* Reports a connection request that is rejected with an adv_nvme_cm_status. */
void adv_nvme_report_rejected(struct adv_nvme_target *target,
			      const struct adv_nvme_queue_config *config, uint16_t status);
/* Reports a command that has failed, if it is a Connect, or if the target or its backend is why. */
void adv_nvme_report_failure(const struct adv_nvme_request *request, uint16_t status);

#endif
