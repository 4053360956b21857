/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb-gateway: storage protocols over RDMA for servers without RDMA. `adverb gateway` executes
 * it on Adverb's NIC; called by itself it uses the system's RDMA device. */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/gateway_cli/command.h"

enum { EXIT_USAGE = 2 };

static void print_help(FILE *out)
{
	fprintf(out, "Usage: adverb gateway COMMAND [OPTION...]\n"
		     "Storage protocols over RDMA for servers without RDMA.\n\n"
		     "  nfs        NFS over RDMA to an NFS server over TCP\n"
		     "  smb        SMB Direct to an SMB server over TCP\n"
		     "  stat       What clients and the server of a running gateway do\n\n"
		     "'adverb gateway COMMAND --help' lists the options of a command.\n");
}

static const struct {
	const char *name;
	char *whole; /* for messages */
	int (*main)(int argc, char **argv);
} commands[] = {
	{"nfs", (char[]){"adverb gateway nfs"}, adv_gateway_nfs_main},
	{"smb", (char[]){"adverb gateway smb"}, adv_gateway_smb_main},
	{"stat", (char[]){"adverb gateway stat"}, adv_gateway_stat_main},
};

int main(int argc, char **argv)
{
	argp_err_exit_status = EXIT_USAGE;
	if (argc < 2) {
		print_help(stderr);
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
		print_help(stdout);
		return EXIT_SUCCESS;
	}
	for (unsigned i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(argv[1], commands[i].name) == 0) {
			argv[1] = commands[i].whole;
			return commands[i].main(argc - 1, argv + 1);
		}
	}
	fprintf(stderr,
		"adverb gateway: '%s' is not a command (adverb gateway --help lists them)\n",
		argv[1]);
	return EXIT_USAGE;
}
