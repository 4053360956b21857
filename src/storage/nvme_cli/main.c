/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb-nvme: NVMe over Fabrics on verbs. `adverb nvme` executes it on Adverb's NIC; called by
 * itself it uses the system's RDMA device. */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/nvme_cli/command.h"

enum { EXIT_USAGE = 2 };

static const struct {
	const char *name;
	int (*main)(int argc, char **argv);
	const char *summary;
} commands[] = {
	{"serve", adv_nvme_serve_main, "Serve files, block devices or memory"},
	{"add", adv_nvme_add_main, "Add a namespace to a running target"},
	{"remove", adv_nvme_remove_main, "Remove a namespace of a running target"},
	{"stat", adv_nvme_stat_main, "Show what namespaces and hosts of a running target do"},
	{"discover", adv_nvme_discover_main, "List the subsystems of a target"},
	{"list", adv_nvme_list_main, "List the namespaces of a target"},
	{"identify", adv_nvme_identify_main, "Show a controller and a namespace"},
	{"read", adv_nvme_read_main, "Read a namespace to a file"},
	{"write", adv_nvme_write_main, "Write a file to a namespace"},
	{"verify", adv_nvme_verify_main, "Write a namespace, read it and compare"},
	{"bench", adv_nvme_bench_main, "Measure IOPS, throughput and latency"},
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void print_help(FILE *out)
{
	fprintf(out, "Usage: adverb nvme COMMAND [OPTION...]\n"
		     "NVMe over Fabrics (RDMA): a target, and a host.\n\n");
	for (unsigned i = 0; i < COMMANDS; i++)
		fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
	fprintf(out, "\n'adverb nvme COMMAND --help' lists the options of a command.\n");
}

int main(int argc, char **argv)
{
	static char name[64];

	argp_err_exit_status = EXIT_USAGE;
	if (argc < 2) {
		print_help(stderr);
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
		print_help(stdout);
		return EXIT_SUCCESS;
	}
	for (unsigned i = 0; i < COMMANDS; i++) {
		if (strcmp(argv[1], commands[i].name) != 0)
			continue;
		snprintf(name, sizeof(name), "adverb nvme %s", commands[i].name);
		argv[1] = name; /* for messages */
		return commands[i].main(argc - 1, argv + 1);
	}
	fprintf(stderr, "adverb nvme: '%s' is not a command (adverb nvme --help lists them)\n",
		argv[1]);
	return EXIT_USAGE;
}
