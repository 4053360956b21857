/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb run: sets the folder in which the dynamic linker finds libibverbs and librdmacm, preloads
 * the library that redirects sysfs, and executes the program. */
#include "cli/command/command.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "base/log.h"
#include "cli/command/environment.h"
#include "cli/fabric/call.h"
#include "cli/run/program.h"
#include "runtime/control/start.h"
#include "runtime/identity/iwarp_options.h"
#include "runtime/identity/rails.h"
#include "runtime/identity/roce.h"
#include "nic/wire/packet.h"

#define EXIT_OURS      125 /* adverb run itself failed; env(1) uses the same number */
#define EXIT_NO_EXEC   126 /* the program exists but cannot be run */
#define EXIT_NOT_FOUND 127 /* there is no such program */

#define PRELOAD	       "libadverb-sysfs.so"

struct options {
	const char *log;
	const char *fault;
	const char *cc;
	const char *transport;
	const char *roce;
	const char *iwarp;
	const char *host;
	const char *devices;
	bool no_sysfs;
	bool no_shm;
	bool no_one_copy;
	bool no_latency;
	char **program;
};

static void read_log(struct argp_state *state, const char *option, const char *arg, void *options)
{
	struct options *o = options;

	if (adv_log_level_named(arg) < 0)
		argp_error(state, "%s: '%s' is none of: " ADV_LOG_LEVELS, option, arg);
	o->log = arg;
}

static void read_transport(struct argp_state *state, const char *option, const char *arg,
			   void *options)
{
	struct options *o = options;

	if (adv_transport_named(arg) < 0)
		argp_error(state, "%s: '%s' is none of: " ADV_TRANSPORT_NAMES, option, arg);
	o->transport = arg;
}

static void read_iwarp(struct argp_state *state, const char *option, const char *arg, void *options)
{
	struct adv_iwarp_options parsed = {0};
	struct options *o = options;
	char why[160];

	if (!adv_iwarp_options_parse(arg, &parsed, why, sizeof(why)))
		argp_error(state, "%s: %s", option, why);
	o->iwarp = arg;
}

static void read_roce(struct argp_state *state, const char *option, const char *arg, void *options)
{
	struct options *o = options;

	if (adv_roce_named(arg) == ADV_ROCE_UNKNOWN)
		argp_error(state, "%s: '%s' is none of: " ADV_ROCE_NAMES, option, arg);
	o->roce = arg;
}

static void check_program(struct argp_state *state, void *options)
{
	const struct options *o = options;

	if (!o->program)
		argp_error(state, "no program to run: expected adverb run [OPTION...] PROGRAM");
}

static const struct adv_option option_table[] = {
	{"log", 'l', "LEVEL",
	 "Set what Adverb writes to standard error: error, warn, info, debug (ADVERB_LOG)",
	 .read = read_log},
	{"fault", 'f', "PLAN",
	 "Inject faults: 'drop=1%; delay=2ms' (ADVERB_FAULT); see " ADV_DOC_DIR "/faults.md",
	 ADV_OPTION_TEXT(fault)},
	{"cc", 0, "CONTROL",
	 "Set the congestion control: none, dcqcn, dctcp, timely, swift, or 'dcqcn rpg_ai_rate=20 "
	 "...' (ADVERB_CC); see " ADV_DOC_DIR "/congestion-control.md",
	 ADV_OPTION_TEXT(cc)},
	{"transport", 0, "NAME",
	 "Set what the device speaks: roce, or iwarp (ADVERB_TRANSPORT); see " ADV_DOC_DIR
	 "/iwarp.md",
	 .read = read_transport},
	{"iwarp", 0, "OPTIONS",
	 "Set what iWARP's streams have: 'crc=require markers=yes' (ADVERB_IWARP); see " ADV_DOC_DIR
	 "/iwarp.md",
	 .read = read_iwarp},
	{"roce", 0, "VERSION",
	 "Set the versions of RoCE: v2, v1, or both (ADVERB_ROCE); v1 needs CAP_NET_RAW; "
	 "see " ADV_DOC_DIR "/rocev1.md",
	 .read = read_roce},
	{"host", 0, "NAME",
	 "Run the program on a host of the emulated fabric, such as h3, or on the next free host "
	 "that a pattern such as 'h[0-7]' matches; see " ADV_DOC_DIR "/emulation.md",
	 ADV_OPTION_TEXT(host)},
	{"devices", 0, "LIST",
	 "Give the program several devices: 'eth0,eth1', 'rail0=10.0.0.1,rail1=10.0.1.1', all, or "
	 "a "
	 "number (ADVERB_DEVICES); see " ADV_DOC_DIR "/rails.md",
	 ADV_OPTION_TEXT(devices)},
	{"no-sysfs", 0, NULL,
	 "Do not preload the library that shows the devices in /sys/class/infiniband and "
	 "/dev/infiniband",
	 ADV_OPTION_INTO(no_sysfs)},
	{"no-shm", 0, NULL,
	 "Send packets to other processes of this machine by UDP, so that captures show them "
	 "(ADVERB_NO_SHM)",
	 ADV_OPTION_INTO(no_shm)},
	{"no-one-copy", 0, NULL,
	 "Do not let processes of the same user read payload from each other's memory "
	 "(ADVERB_NO_ONE_COPY)",
	 ADV_OPTION_INTO(no_one_copy)},
	{"no-latency", 0, NULL,
	 "Do not measure how long requests take, for adverb top and stat (ADVERB_NO_LATENCY)",
	 ADV_OPTION_INTO(no_latency)},
};

static const struct adv_options syntax = {
	ADV_OPTION_TABLE(option_table),
	.about = "Run a program written for libibverbs and librdmacm, unchanged, on Adverb's RDMA "
		 "NIC.\v"
		 "Examples:\n"
		 "  adverb run ibv_devinfo\n"
		 "  adverb run ib_write_bw -x 0 192.0.2.7\n"
		 "  adverb run --log info -- rping -s -v\n",
	.check = check_program,
	.args = "[--] PROGRAM [ARGUMENT...]",
	.file = offsetof(struct options, program),
	.rest = true};

static int set_environment(const struct options *o, const char *folder)
{
	const struct {
		const char *name;
		const char *value; /* NULL: it stays */
	} variables[] = {
		{ADV_TRANSPORT_VARIABLE, o->transport},
		{ADV_IWARP_VARIABLE, o->iwarp},
		{ADV_ROCE_VARIABLE, o->roce},
		{"ADVERB_NO_SHM", o->no_shm ? "1" : NULL},
		{"ADVERB_NO_LATENCY", o->no_latency ? "1" : NULL},
		{"ADVERB_NO_ONE_COPY", o->no_one_copy ? "1" : NULL},
	};
	char daemon[PATH_MAX];

	if (adv_cli_set_library_path(folder) < 0 ||
	    (!o->no_sysfs && adv_cli_preload(folder, PRELOAD) < 0))
		return -1;
	/* Without a level the program would not tell why it finds no device. */
	if (setenv("ADVERB_LOG", o->log ? o->log : "error", o->log != NULL) < 0)
		return -1;
	for (size_t i = 0; i < ADV_ARRAY_SIZE(variables); i++)
		if (variables[i].value && setenv(variables[i].name, variables[i].value, 1) < 0)
			return -1;
	return adv_control_daemon_path(daemon) == 0 ? setenv("ADVERB_DAEMON", daemon, 0) : 0;
}

/* Sets the devices of --devices, with those of "all" by name: all processes of the run see the same
 * ones, also if an interface comes later. False: an error was printed. */
static bool set_devices(const char *list)
{
	static struct adv_gid_table table;
	static struct adv_rail_list rails;
	char text[ADV_RAILS_TEXT], why[ADV_RAILS_WHY];
	struct adv_control *c = adv_control_connect(true, why, sizeof(why));
	bool good = c && adv_gid_table_read(adv_control_gids(c), &table);

	adv_control_close(c);
	if (c && !good)
		snprintf(why, sizeof(why), "the GID table is being written");
	good = good && adv_rail_list_parse(&rails, list, &table, why, sizeof(why));
	if (good && !adv_rail_list_print(&rails, text, sizeof(text))) {
		snprintf(why, sizeof(why), "the list is too long");
		good = false;
	}
	if (!good)
		fprintf(stderr, "adverb run: --devices: %s\n", why);
	return good && setenv(ADV_RAILS_VARIABLE, text, 1) == 0;
}

/* If --log is not given, checks ADVERB_LOG, which applies then. */
static bool check_log_level(const struct options *o)
{
	const char *level = getenv("ADVERB_LOG");

	if (o->log || !level || !*level || adv_log_level_named(level) >= 0)
		return true;
	fprintf(stderr, "adverb run: ADVERB_LOG: '%s' is none of: " ADV_LOG_LEVELS "\n", level);
	return false;
}

/* Checks that ADVERB_LOG_FILE, if it is set, can be written. If not, prints an error. */
static bool check_log_file(void)
{
	const char *path = getenv("ADVERB_LOG_FILE");
	int fd;

	if (!path || !*path)
		return true;
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0) {
		fprintf(stderr, "adverb run: ADVERB_LOG_FILE: %s cannot be written: %s\n", path,
			strerror(errno));
		return false;
	}
	close(fd);
	return true;
}

/* Warns if no daemon can start, since the program then finds no device, and if the daemon that runs
 * has another P_Key table. Many programs print no reason themselves. */
static void warn_of_conflicts(void)
{
	char why[1024];
	struct adv_control *c = adv_control_connect(false, why, sizeof(why));

	if (!c && errno == ECONNREFUSED && adv_cli_port_conflict(why, sizeof(why)))
		fprintf(stderr, "adverb run: the program will find no device: %s\n", why);
	if (c)
		adv_cli_warn_of_pkeys(c, "adverb run");
	adv_control_close(c);
}

int adv_run_main(int argc, char **argv)
{
	struct options o = {0};
	char folder[PATH_MAX];
	int error;

	if (!adv_command_read(&syntax, argc, argv, &o, NULL))
		return EXIT_OURS;
	if (!check_log_level(&o) || !check_log_file())
		return EXIT_OURS;
	if (o.fault && !adv_cli_set_faults(o.fault))
		return EXIT_OURS;
	if (o.cc && !adv_cli_set_congestion(o.cc))
		return EXIT_OURS;
	if (!adv_cli_find_libraries(folder)) {
		fprintf(stderr,
			"adverb run: Adverb's libraries are neither in lib/ beside this program "
			"nor in %s: build or install them\n",
			ADV_LIBRARY_DIR);
		return EXIT_OURS;
	}
	if (set_environment(&o, folder) < 0) {
		perror("adverb run: environment");
		return EXIT_OURS;
	}
	if (o.host && !adv_call_enter_host("adverb run", o.host))
		return EXIT_OURS;
	if (o.devices && !set_devices(o.devices))
		return EXIT_OURS;
	warn_of_conflicts();
	adv_run_warn(o.program[0]);
	execvp(o.program[0], o.program);
	error = errno;
	fprintf(stderr, "adverb run: %s: %s\n", o.program[0],
		error == ENOENT ? "no such program" : strerror(error));
	return error == ENOENT ? EXIT_NOT_FOUND : EXIT_NO_EXEC;
}
