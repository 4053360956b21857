/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Changes a running target to what a configuration says. */
#ifndef ADV_STORAGE_NVME_SERVER_RELOAD_H
#define ADV_STORAGE_NVME_SERVER_RELOAD_H

#include "storage/nvme_server/subsystems.h"

/* Makes the subsystems, their namespaces and allowed hosts those of the configuration. Namespaces
 * that were added by a request to the control socket stay. What has not changed goes on
 * undisturbed. Then gives each namespace the size of its file, unless that is smaller. Writes each
 * change, and what could not be changed, to the log: the rest is carried out. */
void adv_nvme_reload(struct adv_nvme_subsystems *s, const struct adv_nvme_config *config);

#endif
