/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The options of the subcommands as argp tables, which initialize their structures. adverb-nvme and
 * the command adverb both parse them, so no header of verbs is included here.
 */
#ifndef ADV_NVME_RDMA_OPTIONS_H
#define ADV_NVME_RDMA_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "nvme_rdma/server.h"

#define ADV_NVME_LIST_ARGS 1024 /* of a repeated option */

struct adv_nvme_serve_options {
	struct adv_nvme_server_config config;
	const char *listen[ADV_NVME_LIST_ARGS];
	const char *namespaces[ADV_NVME_LIST_ARGS];
	const char *hosts[ADV_NVME_LIST_ARGS];
};

extern const struct argp adv_nvme_serve_argp; /* struct adv_nvme_serve_options */

/* Options of the commands of the host. */
struct adv_nvme_host_options {
	const char *address, *port;
	const char *nqn; /* NULL: not given */
	const char *host_nqn;
	bool json;
	uint32_t nsid;
	uint16_t queues, depth;
	uint64_t offset, length; /* bytes; length 0: to the end of the namespace */
	uint32_t block;		 /* bytes of a command */
	uint64_t seconds;
	uint64_t seed;
	unsigned writes; /* percent of the commands of a benchmark */
	bool sequential;
	const char *file; /* to read to or write from; NULL: standard output or input */
};

extern const struct argp adv_nvme_discover_argp; /* all: struct adv_nvme_host_options */
extern const struct argp adv_nvme_identify_argp;
extern const struct argp adv_nvme_read_argp;
extern const struct argp adv_nvme_write_argp;
extern const struct argp adv_nvme_verify_argp;
extern const struct argp adv_nvme_bench_argp;

#endif
