/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Subsystems and namespaces of the target, for the other files of the target. */
#ifndef ADV_STORAGE_NVME_TARGET_SUBSYSTEM_H
#define ADV_STORAGE_NVME_TARGET_SUBSYSTEM_H

#include "storage/nvme_target/state.h"

/* Makes a subsystem. The discovery subsystem is made by the target itself. ENOMEM. */
int adv_nvme_subsystem_create(struct adv_nvme_target *target, const char *nqn, const char *serial,
			      bool discovery, struct adv_nvme_subsystem **out);
/* Frees a subsystem with its namespaces. It has no controllers. */
void adv_nvme_subsystem_destroy(struct adv_nvme_subsystem *subsystem);

bool adv_nvme_subsystem_allows(const struct adv_nvme_subsystem *subsystem, const char *host_nqn);

/* Raises the generation of the discovery log and notifies the hosts. */
void adv_nvme_target_discovery_changed(struct adv_nvme_target *target);

#endif
