/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb: finds the subcommand in a table and hands over. */
#include "cli/command.h"

#include <argp.h>
#include <stdlib.h>

__attribute__((visibility("default"))) const char *argp_program_version = "adverb " ADV_VERSION;

const struct adv_command adv_commands[] = {
	{"run", "Run a program on Adverb's RDMA NIC", adv_run_main},
	{"devinfo", "Show the device: port, MTU, GUID, slots", adv_devinfo_main},
	{"gids", "Show the GID table and which index to use", adv_gids_main},
	{"status", "Show the daemon and who uses it", adv_status_main},
	{"explain", "Say what an error means, and what to do", adv_explain_main},
	{"fault", "Lose, delay, damage packets, fail requests of programs that run",
	 adv_fault_main},
	{NULL, NULL, NULL},
};

static const char examples[] =
	"Examples:\n"
	"  adverb run ibv_devinfo              the device, as programs see it\n"
	"  adverb gids                         which GID index to use\n"
	"  adverb run ib_write_bw -x 0         a server ...\n"
	"  adverb run ib_write_bw -x 0 SERVER  ... and its client\n"
	"\n"
	"'adverb COMMAND --help' says more on a command; so does adverb(1).";

static const struct adv_command *find(const char *name)
{
	for (const struct adv_command *c = adv_commands; c->name; c++)
		if (strcmp(c->name, name) == 0)
			return c;
	return NULL;
}

static void unknown(const char *name)
{
	const char *meant = adv_command_suggest(name);

	fprintf(stderr, "adverb: '%s' is not a command", name);
	if (meant)
		fprintf(stderr, "; did you mean '%s'?\n", meant);
	else
		fprintf(stderr, " (adverb --help lists them)\n");
}

static char *help_filter(int key, const char *text, void *input)
{
	size_t len = 0;
	char *all = NULL;
	FILE *f;

	if (key != ARGP_KEY_HELP_POST_DOC)
		return (char *)(uintptr_t)text;
	f = open_memstream(&all, &len);
	if (!f)
		return (char *)(uintptr_t)text;
	fprintf(f, "Commands:\n");
	for (const struct adv_command *c = adv_commands; c->name; c++)
		fprintf(f, "  %-10s %s\n", c->name, c->summary);
	fprintf(f, "\n%s", examples);
	fclose(f);
	return all;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	int *command = state->input;

	switch (key) {
	case ARGP_KEY_ARG: /* the command: what follows is its own */
		*command = state->next - 1;
		state->next = state->argc;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_usage(state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	NULL,
	parse_option,
	"COMMAND [ARGUMENT...]",
	"Adverb is an RDMA NIC in software: programs written for libibverbs and librdmacm run "
	"unchanged on any Linux machine, and talk RoCE v2 to others.\v ",
	NULL,
	help_filter,
	NULL};

int main(int argc, char **argv)
{
	const struct adv_command *command;
	char name[64];
	int at = 0;

	argp_err_exit_status = ADV_EXIT_USAGE;
	if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &at) != 0 || at == 0)
		return ADV_EXIT_USAGE;
	command = find(argv[at]);
	if (!command) {
		unknown(argv[at]);
		return ADV_EXIT_USAGE;
	}
	/* argp writes argv[0] in front of its messages. */
	snprintf(name, sizeof(name), "adverb %s", command->name);
	argv[at] = name;
	return command->main(argc - at, argv + at);
}
