/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * adverb nvme: executes adverb-nvme on Adverb's NIC. That program uses verbs by their public
 * interface only, and also runs by itself on other RDMA devices, so this command does not link it.
 * The options are checked here first.
 */
#include "cli/command.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "host/control_start.h"
#include "nvme_rdma/options.h"

#define PROGRAM "adverb-nvme"

/* Writes the path of adverb-nvme, which is in the folder of adverbd. */
static bool find_program(char path[PATH_MAX])
{
	char *slash;

	if (adv_control_daemon_path(path) != 0)
		return false;
	slash = strrchr(path, '/');
	if (!slash || (size_t)(slash + 1 - path) + sizeof(PROGRAM) > PATH_MAX)
		return false;
	strcpy(slash + 1, PROGRAM);
	return true;
}

/* Executes a subcommand; argv[0] is "adverb nvme NAME". */
static int execute(int argc, char **argv)
{
	char **run = calloc((size_t)argc + 5, sizeof(char *));
	char path[PATH_MAX];
	int status;

	if (!run || !find_program(path)) {
		fprintf(stderr, "%s: %s is not installed beside adverbd\n", argv[0], PROGRAM);
		free(run);
		return ADV_EXIT_FAILED;
	}
	run[0] = argv[0];
	run[1] = (char *)(uintptr_t) "--";
	run[2] = path;
	run[3] = strrchr(argv[0], ' ') + 1;
	memcpy(run + 4, argv + 1, (size_t)(argc - 1) * sizeof(char *));
	status = adv_run_main(argc + 3, run);
	free(run);
	return status;
}

/* Checks the options of a subcommand, and executes it. `input` is the structure of its table. */
static int check_and_execute(const struct argp *argp, int argc, char **argv, void *input)
{
	char **copy = calloc((size_t)argc + 1, sizeof(char *));
	int status = ADV_EXIT_USAGE;

	if (!copy)
		return ADV_EXIT_FAILED;
	/* argp changes the order of the arguments. */
	memcpy(copy, argv, (size_t)argc * sizeof(char *));
	if (adv_command_parse(argp, argc, copy, 0, input) == 0)
		status = execute(argc, argv);
	free(copy);
	return status;
}

static int serve_main(int argc, char **argv)
{
	static struct adv_nvme_serve_options o;

	return check_and_execute(&adv_nvme_serve_argp, argc, argv, &o);
}

static int add_main(int argc, char **argv)
{
	struct adv_nvme_change_options o;

	return check_and_execute(&adv_nvme_add_argp, argc, argv, &o);
}

static int remove_main(int argc, char **argv)
{
	struct adv_nvme_change_options o;

	return check_and_execute(&adv_nvme_remove_argp, argc, argv, &o);
}

static int host_main(const struct argp *argp, int argc, char **argv)
{
	struct adv_nvme_host_options o;

	return check_and_execute(argp, argc, argv, &o);
}

static int discover_main(int argc, char **argv)
{
	return host_main(&adv_nvme_discover_argp, argc, argv);
}

static int identify_main(int argc, char **argv)
{
	return host_main(&adv_nvme_identify_argp, argc, argv);
}

static int read_main(int argc, char **argv)
{
	return host_main(&adv_nvme_read_argp, argc, argv);
}

static int write_main(int argc, char **argv)
{
	return host_main(&adv_nvme_write_argp, argc, argv);
}

static int verify_main(int argc, char **argv)
{
	return host_main(&adv_nvme_verify_argp, argc, argv);
}

static int bench_main(int argc, char **argv)
{
	return host_main(&adv_nvme_bench_argp, argc, argv);
}

static const struct adv_command commands[] = {
	{"serve", "Serve files, block devices or memory to hosts", serve_main},
	{"add", "Add a namespace to a running target", add_main},
	{"remove", "Remove a namespace of a running target", remove_main},
	{"discover", "List the subsystems of a target", discover_main},
	{"list", "List the namespaces of a target", discover_main},
	{"identify", "Show a controller and a namespace", identify_main},
	{"read", "Read a namespace to a file", read_main},
	{"write", "Write a file to a namespace", write_main},
	{"verify", "Write a namespace, read it and compare", verify_main},
	{"bench", "Measure IOPS, throughput and latency", bench_main},
	{NULL, NULL, NULL},
};

int adv_nvme_main(int argc, char **argv)
{
	static const struct adv_command_group group = {
		.name = "adverb nvme",
		.kind = "command",
		.commands = commands,
		.usage = "COMMAND [ARGUMENT...]",
		.about = "NVMe over Fabrics (RDMA) on Adverb's NIC: a target, and a "
			 "host.\vCommands:",
		.more = "On another RDMA device, execute the program " PROGRAM " itself.",
	};

	return adv_command_dispatch(&group, argc, argv);
}
