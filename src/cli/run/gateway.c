/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb gateway: executes adverb-gateway on Adverb's NIC. The options are checked here first. */
#include "cli/command/command.h"
#include "cli/run/companion.h"
#include "storage/gateway_cli/options.h"

#define PROGRAM "adverb-gateway"

static const struct adv_companion gateway = {PROGRAM, "libtirpc and rpcgen",
					     "libtirpc-dev rpcsvc-proto"};

static int nfs_main(int argc, char **argv)
{
	struct adv_gateway_options o;

	return adv_companion_run(&gateway, &adv_gateway_nfs_syntax, argc, argv, &o);
}

static int smb_main(int argc, char **argv)
{
	struct adv_gateway_options o;

	return adv_companion_run(&gateway, &adv_gateway_smb_syntax, argc, argv, &o);
}

static int stat_main(int argc, char **argv)
{
	struct adv_kit_stat_options o;

	return adv_companion_run(&gateway, &adv_gateway_stat_syntax, argc, argv, &o);
}

static const struct adv_command commands[] = {
	{"nfs", "NFS over RDMA to an NFS server over TCP", nfs_main},
	{"smb", "SMB Direct to an SMB server over TCP", smb_main},
	{"stat", "Show what clients and the server of a running gateway do", stat_main},
	{NULL, NULL, NULL},
};

int adv_gateway_main(int argc, char **argv)
{
	static const struct adv_command_group group = {
		.name = "adverb gateway",
		.kind = "command",
		.commands = commands,
		.usage = "COMMAND [ARGUMENT...]",
		.about = "Storage protocols over RDMA, on Adverb's NIC, for servers without "
			 "RDMA.\vCommands:",
		.more = "On another RDMA device, execute the program " PROGRAM " itself.",
	};

	return adv_command_dispatch(&group, argc, argv);
}
