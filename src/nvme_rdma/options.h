/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The options of the subcommands as argp tables, which initialize their structures. adverb-nvme and
 * the command adverb both parse them, so no header of verbs is included here.
 */
#ifndef ADV_NVME_RDMA_OPTIONS_H
#define ADV_NVME_RDMA_OPTIONS_H

#include <argp.h>

#include "nvme_rdma/server.h"

#define ADV_NVME_LIST_ARGS 1024 /* of a repeated option */

struct adv_nvme_serve_options {
	struct adv_nvme_server_config config;
	const char *listen[ADV_NVME_LIST_ARGS];
	const char *namespaces[ADV_NVME_LIST_ARGS];
	const char *hosts[ADV_NVME_LIST_ARGS];
};

extern const struct argp adv_nvme_serve_argp; /* struct adv_nvme_serve_options */

#endif
