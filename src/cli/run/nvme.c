/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * adverb nvme: executes adverb-nvme on Adverb's NIC. That program uses verbs by their public
 * interface only, and also runs by itself on other RDMA devices, so this command does not link it.
 * The options are checked here first.
 */
#include "cli/command/command.h"

#include "cli/run/companion.h"
#include "storage/nvme_server/options.h"

#define PROGRAM "adverb-nvme"

static const struct adv_companion companion = {PROGRAM, NULL, NULL};

static int check_and_execute(const struct adv_options *syntax, int argc, char **argv, void *input)
{
	return adv_companion_run(&companion, syntax, argc, argv, input);
}

static int serve_main(int argc, char **argv)
{
	static struct adv_nvme_serve_options o;

	return check_and_execute(&adv_nvme_serve_syntax, argc, argv, &o);
}

static int add_main(int argc, char **argv)
{
	struct adv_nvme_change_options o;

	return check_and_execute(&adv_nvme_add_syntax, argc, argv, &o);
}

static int remove_main(int argc, char **argv)
{
	struct adv_nvme_change_options o;

	return check_and_execute(&adv_nvme_remove_syntax, argc, argv, &o);
}

static int stat_main(int argc, char **argv)
{
	struct adv_kit_stat_options o;

	return check_and_execute(&adv_nvme_stat_syntax, argc, argv, &o);
}

static int host_main(const struct adv_options *syntax, int argc, char **argv)
{
	struct adv_nvme_host_options o;

	return check_and_execute(syntax, argc, argv, &o);
}

static int discover_main(int argc, char **argv)
{
	return host_main(&adv_nvme_discover_syntax, argc, argv);
}

static int identify_main(int argc, char **argv)
{
	return host_main(&adv_nvme_identify_syntax, argc, argv);
}

static int read_main(int argc, char **argv)
{
	return host_main(&adv_nvme_read_syntax, argc, argv);
}

static int write_main(int argc, char **argv)
{
	return host_main(&adv_nvme_write_syntax, argc, argv);
}

static int verify_main(int argc, char **argv)
{
	return host_main(&adv_nvme_verify_syntax, argc, argv);
}

static int bench_main(int argc, char **argv)
{
	return host_main(&adv_nvme_bench_syntax, argc, argv);
}

static const struct adv_command commands[] = {
	{"serve", "Serve files, block devices or memory to hosts", serve_main},
	{"add", "Add a namespace to a running target", add_main},
	{"remove", "Remove a namespace of a running target", remove_main},
	{"stat", "Show what namespaces and hosts of a running target do", stat_main},
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
