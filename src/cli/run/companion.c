/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/run/companion.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command/command.h"
#include "runtime/control/start.h"

/* Writes the path of a program in the folder of adverbd. */
static bool find_program(const char *program, char path[PATH_MAX])
{
	char *slash;

	if (adv_control_daemon_path(path) != 0)
		return false;
	slash = strrchr(path, '/');
	if (!slash || (size_t)(slash + 1 - path) + strlen(program) >= PATH_MAX)
		return false;
	strcpy(slash + 1, program);
	return true;
}

static void explain_missing(const struct adv_companion *c, const char *who, const char *path)
{
	if (c->library)
		fprintf(stderr,
			"%s: no file %s: Adverb was built without %s; install them (Debian: %s) "
			"and build Adverb again\n",
			who, path, c->library, c->debian_build);
	else
		fprintf(stderr, "%s: no file %s: install it beside adverbd\n", who, path);
}

static int execute_companion(const struct adv_companion *c, int argc, char **argv)
{
	char **run = calloc((size_t)argc + 5, sizeof(char *));
	char path[PATH_MAX] = "";
	int status;

	if (!run || !find_program(c->program, path) || access(path, F_OK) != 0) {
		explain_missing(c, argv[0], *path ? path : c->program);
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

int adv_companion_run(const struct adv_companion *c, const struct adv_options *syntax, int argc,
		      char **argv, void *input)
{
	char **copy = calloc((size_t)argc + 1, sizeof(char *));
	int status = ADV_EXIT_USAGE;

	if (!copy)
		return ADV_EXIT_FAILED;
	/* argp changes the order of the arguments. */
	memcpy(copy, argv, (size_t)argc * sizeof(char *));
	if (adv_command_read(syntax, argc, copy, input, NULL))
		status = execute_companion(c, argc, argv);
	free(copy);
	return status;
}
