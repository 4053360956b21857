/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb run: sets where the dynamic linker looks for libibverbs and librdmacm, then execs. */
#include "cli/command.h"

#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#define EXIT_OURS      125 /* as env(1): we failed ourselves, */
#define EXIT_NO_EXEC   126 /* the program is there but cannot be run, */
#define EXIT_NOT_FOUND 127 /* there is no such program */

struct options {
	const char *log;
	char **program;
};

static const struct argp_option argp_options[] = {
	{"log", 'l', "LEVEL", 0,
	 "What Adverb writes to standard error: error, warn, info, debug (ADVERB_LOG)", 0},
	{0},
};

static bool is_level(const char *s)
{
	static const char *const levels[] = {"none", "error", "warn", "info", "debug"};

	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
		if (strcmp(s, levels[i]) == 0)
			return true;
	return false;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'l':
		if (!is_level(arg))
			argp_error(state, "--log: '%s' is none of: none, error, warn, info, debug",
				   arg);
		o->log = arg;
		return 0;
	case ARGP_KEY_ARG: /* all that follows is the program's */
		o->program = &state->argv[state->next - 1];
		state->next = state->argc;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "no program to run");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	argp_options,
	parse_option,
	"[--] PROGRAM [ARGUMENT...]",
	"Runs a program written for libibverbs and librdmacm, unchanged, on Adverb's RDMA NIC.\v"
	"Examples:\n"
	"  adverb run ibv_devinfo\n"
	"  adverb run ib_write_bw -x 0 192.0.2.7\n"
	"  adverb run --log info -- rping -s -v\n",
	NULL,
	NULL,
	NULL};

static bool is_file(const char *folder, const char *name)
{
	char path[2 * PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return access(path, R_OK) == 0;
}

/* lib/ beside this program where it was built, else where it is installed. */
static bool find_libraries(char *folder)
{
	ssize_t n = readlink("/proc/self/exe", folder, PATH_MAX - 8);
	char *slash;

	if (n > 0) {
		folder[n] = 0;
		slash = strrchr(folder, '/');
		strcpy(slash ? slash : folder, "/lib");
		if (is_file(folder, "libibverbs.so.1"))
			return true;
	}
	snprintf(folder, PATH_MAX, "%s", ADV_LIBRARY_DIR);
	return is_file(folder, "libibverbs.so.1");
}

/* Ours first; what was there stays behind it. */
static int set_library_path(const char *folder)
{
	const char *before = getenv("LD_LIBRARY_PATH");
	char *path;
	int error;

	if (!before || !*before)
		return setenv("LD_LIBRARY_PATH", folder, 1);
	if (asprintf(&path, "%s:%s", folder, before) < 0)
		return -1;
	error = setenv("LD_LIBRARY_PATH", path, 1);
	free(path);
	return error;
}

static int set_environment(const struct options *o, const char *folder)
{
	char daemon[PATH_MAX];

	if (set_library_path(folder) < 0)
		return -1;
	if (o->log && setenv("ADVERB_LOG", o->log, 1) < 0)
		return -1;
	return adv_control_daemon_path(daemon) == 0 ? setenv("ADVERB_DAEMON", daemon, 0) : 0;
}

int adv_run_main(int argc, char **argv)
{
	struct options o = {0};
	char folder[PATH_MAX];
	int error;

	if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &o) != 0)
		return EXIT_OURS;
	if (!find_libraries(folder)) {
		fprintf(stderr,
			"adverb run: Adverb's libraries are neither in lib/ beside this program "
			"nor "
			"in %s: build or install them\n",
			ADV_LIBRARY_DIR);
		return EXIT_OURS;
	}
	if (set_environment(&o, folder) < 0) {
		perror("adverb run: environment");
		return EXIT_OURS;
	}
	execvp(o.program[0], o.program);
	error = errno;
	fprintf(stderr, "adverb run: %s: %s\n", o.program[0],
		error == ENOENT ? "no such program" : strerror(error));
	return error == ENOENT ? EXIT_NOT_FOUND : EXIT_NO_EXEC;
}
