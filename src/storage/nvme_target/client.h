/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The hosts that a target knows by their names, with what they have done. */
#ifndef ADV_STORAGE_NVME_TARGET_CLIENT_H
#define ADV_STORAGE_NVME_TARGET_CLIENT_H

#include "storage/nvme_target/state.h"

/* Returns the client with this name, which is new if the target does not know it, and counts one
 * more controller of it. NULL: there are too many, or there is no memory. */
struct adv_nvme_client *adv_nvme_client_get(struct adv_nvme_target *target, const char *nqn);
/* Counts one less. NULL: nothing. */
void adv_nvme_client_put(struct adv_nvme_target *target, struct adv_nvme_client *client);

/* Counts a command whose response the host has. */
void adv_nvme_client_count(const struct adv_nvme_request *request, uint64_t now);

#endif
