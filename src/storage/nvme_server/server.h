/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The target as a server: it listens, starts workers, and runs until a signal ends it. */
#ifndef ADV_STORAGE_NVME_SERVER_SERVER_H
#define ADV_STORAGE_NVME_SERVER_SERVER_H

#include "storage/nvme_server/config.h"

/* Makes a configuration in which all is given; without a name the control socket has that of the
 * first port. False: prints the reason, and *config is empty. */
typedef bool adv_nvme_load_fn(const void *arg, struct adv_nvme_config *config);

/* Runs the server until SIGINT or SIGTERM. SIGHUP has it load the configuration again. Returns the
 * exit status; prints reasons. */
int adv_nvme_serve(adv_nvme_load_fn *load, const void *arg);

#endif
