/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Namespaces of the target, for the commands that use them. */
#ifndef ADV_STORAGE_NVME_TARGET_NAMESPACE_H
#define ADV_STORAGE_NVME_TARGET_NAMESPACE_H

#include "storage/nvme_target/state.h"

/* Returns an active namespace, or NULL. */
struct adv_nvme_namespace *adv_nvme_namespace_find(struct adv_nvme_subsystem *subsystem,
						   uint32_t nsid);
/* Returns the most blocks of a source range of Copy. */
uint16_t adv_nvme_copy_range_max(const struct adv_nvme_namespace *ns);
/* Counts a request that uses the namespace. */
void adv_nvme_namespace_get(struct adv_nvme_namespace *ns);
void adv_nvme_namespace_put(struct adv_nvme_namespace *ns);

#endif
