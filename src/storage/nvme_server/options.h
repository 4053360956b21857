/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The options of the subcommands as tables, which initialize their structures. adverb-nvme and
 * the command adverb both parse them, so no header of verbs is included here.
 */
#ifndef ADV_STORAGE_NVME_SERVER_OPTIONS_H
#define ADV_STORAGE_NVME_SERVER_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "storage/kit/stat_command.h"

#define ADV_NVME_PORT	   "4420"
#define ADV_NVME_LIST_ARGS 1024 /* of a repeated option */

struct adv_nvme_list {
	const char *at[ADV_NVME_LIST_ARGS];
	unsigned count;
};

/* Of a namespace. The structures below begin with it. */
struct adv_nvme_namespace_options {
	bool read_only;
	bool buffered;
	uint8_t block_shift;
};

/* With a file, NULL, 0 and empty lists leave the file's values; and it has the subsystems. */
struct adv_nvme_serve_options {
	struct adv_nvme_namespace_options options; /* of all namespaces */
	const char *file;			   /* NULL: the options are the configuration */
	const char *control;
	const char *nqn;
	unsigned workers;
	size_t buffer_bytes;
	unsigned address_share;
	struct adv_nvme_list listen, referrals, namespaces, hosts;
};

extern const struct adv_options adv_nvme_serve_syntax; /* struct adv_nvme_serve_options, all 0 */

/* Of a change to a running target. */
struct adv_nvme_change_options {
	struct adv_nvme_namespace_options options;
	const char *control;
	const char *nqn;  /* NULL: the only one */
	const char *path; /* of add */
	uint32_t nsid;	  /* 0: the lowest free one */
};

extern const struct adv_options adv_nvme_add_syntax; /* both: struct adv_nvme_change_options */
extern const struct adv_options adv_nvme_remove_syntax;

extern const struct adv_options adv_nvme_stat_syntax; /* struct adv_kit_stat_options */

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
	unsigned loss_seconds; /* reconnect so long after a loss; 0: do not */
	bool invalidate;       /* a key for each command, which its response invalidates */
	uint64_t seed;
	unsigned writes; /* percent of the commands of a benchmark */
	bool sequential;
	const char *file; /* to read to or write from; NULL: standard output or input */
};

extern const struct adv_options adv_nvme_discover_syntax; /* all: struct adv_nvme_host_options */
extern const struct adv_options adv_nvme_identify_syntax;
extern const struct adv_options adv_nvme_read_syntax;
extern const struct adv_options adv_nvme_write_syntax;
extern const struct adv_options adv_nvme_verify_syntax;
extern const struct adv_options adv_nvme_bench_syntax;

#endif
