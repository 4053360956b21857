/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The options of the subcommands as tables, which initialize their structures. adverb-gateway
 * and the command adverb both parse them, so no header of verbs is included here.
 */
#ifndef ADV_STORAGE_GATEWAY_CLI_OPTIONS_H
#define ADV_STORAGE_GATEWAY_CLI_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "storage/kit/stat_command.h"

struct adv_gateway_options {
	bool reverse;	     /* TCP clients, an RDMA server */
	const char *listen;  /* ADDRESS[:PORT] */
	const char *to;	     /* HOST[:PORT] */
	const char *control; /* name of the control socket; NULL: the port */
	uint64_t buffer_bytes;
	unsigned connections;
	unsigned timeout_ms;
};

extern const struct adv_options adv_gateway_nfs_syntax, adv_gateway_smb_syntax;

extern const struct adv_options adv_gateway_stat_syntax; /* struct adv_kit_stat_options */

#endif
