/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The target as a server: it listens, starts workers, and runs until a signal ends it. */
#ifndef ADV_NVME_RDMA_SERVER_H
#define ADV_NVME_RDMA_SERVER_H

#include "nvme_rdma/config.h"

/* Runs the server until SIGINT or SIGTERM, with a configuration in which all is given; without a
 * name the control socket has that of the first port. Returns the exit status; prints reasons. */
int adv_nvme_serve(const struct adv_nvme_config *config);

#endif
