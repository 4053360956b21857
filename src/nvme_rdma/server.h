/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The target as a server: it listens, starts workers, and runs until a signal ends it. */
#ifndef ADV_NVME_RDMA_SERVER_H
#define ADV_NVME_RDMA_SERVER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/list.h"

#define ADV_NVME_PORT "4420"

struct adv_nvme_server_config {
	const char **listen; /* ADDRESS or ADDRESS:PORT; IPv6 as [ADDRESS]:PORT */
	unsigned listen_count;
	const char **namespaces; /* as adv_nvme_backend_open() */
	unsigned namespace_count;
	const char **hosts; /* NQNs that may connect */
	unsigned host_count;
	const char *nqn;
	bool read_only;
	unsigned workers;
	unsigned block_shift;
	size_t buffer_bytes; /* of each worker */
};

/* Runs the server until SIGINT or SIGTERM. Returns the exit status; prints reasons. */
int adv_nvme_serve(const struct adv_nvme_server_config *config);

#endif
