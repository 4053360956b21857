/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb run: sets the folder in which the dynamic linker finds libibverbs and librdmacm, preloads
 * the library that redirects sysfs, and executes the program. */
#include "cli/command/command.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/command/environment.h"
#include "cli/fabric/call.h"
#include "cli/run/program.h"
#include "runtime/control/start.h"
#include "runtime/identity/identity.h"
#include "runtime/identity/iwarp_options.h"
#include "runtime/identity/roce.h"
#include "nic/wire/packet.h"

#define EXIT_OURS      125 /* adverb run itself failed; env(1) uses the same number */
#define EXIT_NO_EXEC   126 /* the program exists but cannot be run */
#define EXIT_NOT_FOUND 127 /* there is no such program */

#define PRELOAD	       "libadverb-sysfs.so"

enum {
	KEY_NO_SYSFS = 256,
	KEY_NO_SHM,
	KEY_NO_ONE_COPY,
	KEY_NO_LATENCY,
	KEY_CC,
	KEY_TRANSPORT,
	KEY_ROCE,
	KEY_IWARP,
	KEY_HOST
};

struct options {
	const char *log;
	const char *fault;
	const char *cc;
	const char *transport;
	const char *roce;
	const char *iwarp;
	const char *host;
	bool no_sysfs;
	bool no_shm;
	bool no_one_copy;
	bool no_latency;
	char **program;
};

static const struct argp_option argp_options[] = {
	{"log", 'l', "LEVEL", 0,
	 "Set what Adverb writes to standard error: error, warn, info, debug (ADVERB_LOG)", 0},
	{"fault", 'f', "PLAN", 0,
	 "Inject faults: 'drop=1%; delay=2ms' (ADVERB_FAULT); see " ADV_DOC_DIR "/faults.md", 0},
	{"cc", KEY_CC, "CONTROL", 0,
	 "Set the congestion control: none, dcqcn, dctcp, timely, swift, or 'dcqcn rpg_ai_rate=20 "
	 "...' (ADVERB_CC); see " ADV_DOC_DIR "/congestion-control.md",
	 0},
	{"transport", KEY_TRANSPORT, "NAME", 0,
	 "Set what the device speaks: roce, or iwarp (ADVERB_TRANSPORT); see " ADV_DOC_DIR
	 "/iwarp.md",
	 0},
	{"iwarp", KEY_IWARP, "OPTIONS", 0,
	 "Set what iWARP's streams have: 'crc=require markers=yes' (ADVERB_IWARP); see " ADV_DOC_DIR
	 "/iwarp.md",
	 0},
	{"roce", KEY_ROCE, "VERSION", 0,
	 "Set the versions of RoCE: v2, v1, or both (ADVERB_ROCE); v1 needs CAP_NET_RAW; "
	 "see " ADV_DOC_DIR "/rocev1.md",
	 0},
	{"host", KEY_HOST, "NAME", 0,
	 "Run the program on a host of the emulated fabric, such as h3, or on the next free host "
	 "that a pattern such as 'h[0-7]' matches; see " ADV_DOC_DIR "/emulation.md",
	 0},
	{"no-sysfs", KEY_NO_SYSFS, NULL, 0,
	 "Do not preload the library that shows adverb0 in /sys/class/infiniband and "
	 "/dev/infiniband",
	 0},
	{"no-shm", KEY_NO_SHM, NULL, 0,
	 "Send packets to other processes of this machine by UDP, so that captures show them "
	 "(ADVERB_NO_SHM)",
	 0},
	{"no-one-copy", KEY_NO_ONE_COPY, NULL, 0,
	 "Do not let processes of the same user read payload from each other's memory "
	 "(ADVERB_NO_ONE_COPY)",
	 0},
	{"no-latency", KEY_NO_LATENCY, NULL, 0,
	 "Do not measure how long requests take, for adverb top and stat (ADVERB_NO_LATENCY)", 0},
	{0},
};

static void check_iwarp_options(const char *text, const struct argp_state *state)
{
	struct adv_iwarp_options options = {0};
	char why[160];

	if (!adv_iwarp_options_parse(text, &options, why, sizeof(why)))
		argp_error(state, "--iwarp: %s", why);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'l':
		if (adv_log_level_named(arg) < 0)
			argp_error(state, "--log: '%s' is none of: " ADV_LOG_LEVELS, arg);
		o->log = arg;
		return 0;
	case 'f':
		o->fault = arg;
		return 0;
	case KEY_CC:
		o->cc = arg;
		return 0;
	case KEY_TRANSPORT:
		if (adv_transport_named(arg) < 0)
			argp_error(state, "--transport: '%s' is none of: " ADV_TRANSPORT_NAMES,
				   arg);
		o->transport = arg;
		return 0;
	case KEY_IWARP:
		check_iwarp_options(arg, state);
		o->iwarp = arg;
		return 0;
	case KEY_ROCE:
		if (adv_roce_named(arg) == ADV_ROCE_UNKNOWN)
			argp_error(state, "--roce: '%s' is none of: " ADV_ROCE_NAMES, arg);
		o->roce = arg;
		return 0;
	case KEY_HOST:
		o->host = arg;
		return 0;
	case KEY_NO_SYSFS:
		o->no_sysfs = true;
		return 0;
	case KEY_NO_LATENCY:
		o->no_latency = true;
		return 0;
	case KEY_NO_SHM:
		o->no_shm = true;
		return 0;
	case KEY_NO_ONE_COPY:
		o->no_one_copy = true;
		return 0;
	case ARGP_KEY_ARG: /* the remaining arguments belong to the program */
		o->program = &state->argv[state->next - 1];
		state->next = state->argc;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "no program to run: expected adverb run [OPTION...] PROGRAM");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	argp_options,
	parse_option,
	"[--] PROGRAM [ARGUMENT...]",
	"Run a program written for libibverbs and librdmacm, unchanged, on Adverb's RDMA NIC.\v"
	"Examples:\n"
	"  adverb run ibv_devinfo\n"
	"  adverb run ib_write_bw -x 0 192.0.2.7\n"
	"  adverb run --log info -- rping -s -v\n",
	NULL,
	NULL,
	NULL};

static int set_environment(const struct options *o, const char *folder)
{
	char daemon[PATH_MAX];

	if (adv_cli_set_library_path(folder) < 0 ||
	    (!o->no_sysfs && adv_cli_preload(folder, PRELOAD) < 0))
		return -1;
	/* Without a level the program would not tell why it finds no device. */
	if (setenv("ADVERB_LOG", o->log ? o->log : "error", o->log != NULL) < 0)
		return -1;
	if (o->transport && setenv(ADV_TRANSPORT_VARIABLE, o->transport, 1) < 0)
		return -1;
	if (o->iwarp && setenv(ADV_IWARP_VARIABLE, o->iwarp, 1) < 0)
		return -1;
	if (o->roce && setenv(ADV_ROCE_VARIABLE, o->roce, 1) < 0)
		return -1;
	if (o->no_shm && setenv("ADVERB_NO_SHM", "1", 1) < 0)
		return -1;
	if (o->no_latency && setenv("ADVERB_NO_LATENCY", "1", 1) < 0)
		return -1;
	if (o->no_one_copy && setenv("ADVERB_NO_ONE_COPY", "1", 1) < 0)
		return -1;
	return adv_control_daemon_path(daemon) == 0 ? setenv("ADVERB_DAEMON", daemon, 0) : 0;
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

	if (adv_command_parse(&argp, argc, argv, ARGP_IN_ORDER, &o) != 0)
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
	warn_of_conflicts();
	adv_run_warn(o.program[0]);
	execvp(o.program[0], o.program);
	error = errno;
	fprintf(stderr, "adverb run: %s: %s\n", o.program[0],
		error == ENOENT ? "no such program" : strerror(error));
	return error == ENOENT ? EXIT_NOT_FOUND : EXIT_NO_EXEC;
}
