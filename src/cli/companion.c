/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/companion.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "host/control_start.h"

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

static int execute(const char *program, int argc, char **argv)
{
	char **run = calloc((size_t)argc + 5, sizeof(char *));
	char path[PATH_MAX];
	int status;

	if (!run || !find_program(program, path)) {
		fprintf(stderr, "%s: %s is not installed beside adverbd\n", argv[0], program);
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

int adv_companion_run(const char *program, const struct argp *argp, int argc, char **argv,
		      void *input)
{
	char **copy = calloc((size_t)argc + 1, sizeof(char *));
	int status = ADV_EXIT_USAGE;

	if (!copy)
		return ADV_EXIT_FAILED;
	/* argp changes the order of the arguments. */
	memcpy(copy, argv, (size_t)argc * sizeof(char *));
	if (adv_command_parse(argp, argc, copy, 0, input) == 0)
		status = execute(program, argc, argv);
	free(copy);
	return status;
}
