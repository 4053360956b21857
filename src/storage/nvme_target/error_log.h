/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The error log of a controller. */
#ifndef ADV_STORAGE_NVME_TARGET_ERROR_LOG_H
#define ADV_STORAGE_NVME_TARGET_ERROR_LOG_H

#include "storage/nvme_target/state.h"

/* Adds an entry for a failed request; the oldest one is lost. */
void adv_nvme_controller_add_error(struct adv_nvme_controller *c,
				   const struct adv_nvme_request *request, uint16_t status);

#endif
