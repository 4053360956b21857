/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The table of the commands of `adverb`. */
#include "base/version.h"
#include "cli/command/command.h"

#include <argp.h>

__attribute__((visibility("default"))) const char *argp_program_version = "adverb " ADV_VERSION;

static const struct adv_command commands[] = {
	{"run", "Run a program on Adverb's RDMA NIC", adv_run_main},
	{"check", "Run a program and report its misuse of verbs", adv_check_main},
	{"devinfo", "Show the device: port, MTU, GUID, slots", adv_devinfo_main},
	{"gids", "Show the GID table and which index to use", adv_gids_main},
	{"status", "Show the daemon and the processes that use it", adv_status_main},
	{"doctor", "Check this machine and the way to another one", adv_doctor_main},
	{"res", "List the objects of running programs", adv_res_main},
	{"stat", "Show counters and rates of the port or of queue pairs", adv_stat_main},
	{"top", "Show programs and their queue pairs, live", adv_top_main},
	{"exporter", "Export metrics for Prometheus", adv_exporter_main},
	{"capture", "Capture the packets of running programs", adv_capture_main},
	{"explain", "Explain an error or a running program, and what to do", adv_explain_main},
	{"fault", "Inject faults into running programs", adv_fault_main},
	{"plan", "Plan buffers, thresholds and bandwidth of a lossless Ethernet", adv_plan_main},
	{"frame", "Build RoCE frames from fields, and dissect them", adv_frame_main},
	{"sim", "Simulate a lossless Ethernet: PFC, ECN, deadlock", adv_sim_main},
	{"fabric", "Emulate a lossless Ethernet for real programs", adv_fabric_main},
	{"nvme", "Serve and use NVMe over Fabrics (RDMA)", adv_nvme_main},
	{"gateway", "Give storage servers an RDMA transport: NFS, SMB", adv_gateway_main},
	{"completion", "Write the completions of a shell", adv_completion_main},
	{NULL, NULL, NULL},
};

static const char examples[] =
	"Examples:\n"
	"  adverb run ibv_devinfo              the device, as programs see it\n"
	"  adverb gids                         which GID index to use\n"
	"  adverb run ib_write_bw -x 0         a server ...\n"
	"  adverb run ib_write_bw -x 0 SERVER  ... and its client\n"
	"\n"
	"'adverb help COMMAND' describes a command; so does adverb(1).\n"
	"All documentation: " ADV_DOC_DIR "/README.md";

int main(int argc, char **argv)
{
	static const struct adv_command_group group = {
		.name = "adverb",
		.kind = "command",
		.commands = commands,
		.usage = "COMMAND [ARGUMENT...]",
		.about = "Adverb is an RDMA NIC in software. Programs written for libibverbs and "
			 "librdmacm run on it unchanged, on any Linux machine. Its protocol on the "
			 "wire is RoCE v2.\vCommands:",
		.more = examples,
	};

	argp_err_exit_status = ADV_EXIT_USAGE;
	return adv_command_dispatch(&group, argc, argv);
}
