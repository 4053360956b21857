/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds a command in a table and runs it, for `adverb` and for commands with subcommands. */
#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"

struct parsing {
	const struct adv_command_group *group;
	int at; /* index of the command in argv; 0: none */
};

static const struct adv_command *find_command(const struct adv_command_group *g, const char *name)
{
	for (const struct adv_command *c = g->commands; c->name; c++)
		if (strcmp(c->name, name) == 0)
			return c;
	return NULL;
}

static void report_unknown_command(const struct adv_command_group *g, const char *name)
{
	const char *meant = adv_command_suggest(g->commands, name);

	fprintf(stderr, "%s: '%s' is not a %s", g->name, name, g->kind);
	if (meant)
		fprintf(stderr, "; did you mean '%s'?\n", meant);
	else
		fprintf(stderr, " (%s --help lists them)\n", g->name);
}

static char *help_filter(int key, const char *text, void *input)
{
	const struct adv_command_group *g = ((struct parsing *)input)->group;
	size_t len = 0;
	char *all = NULL;
	FILE *f;

	if (key != ARGP_KEY_HELP_POST_DOC)
		return (char *)(uintptr_t)text;
	f = open_memstream(&all, &len);
	if (!f)
		return (char *)(uintptr_t)text;
	fprintf(f, "%s\n", text);
	for (const struct adv_command *c = g->commands; c->name; c++)
		fprintf(f, "  %-10s %s\n", c->name, c->summary);
	fprintf(f, "\n%s", g->more);
	fclose(f);
	return all;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct parsing *p = state->input;

	switch (key) {
	case ARGP_KEY_ARG: /* the command; it parses the arguments after its name */
		p->at = state->next - 1;
		state->next = state->argc;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_usage(state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int adv_command_dispatch(const struct adv_command_group *g, int argc, char **argv)
{
	const struct argp argp = {NULL, parse_option, g->usage, g->about, NULL, help_filter, NULL};
	struct parsing p = {.group = g};
	const struct adv_command *command;
	char name[64];

	if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &p) != 0 || p.at == 0)
		return ADV_EXIT_USAGE;
	command = find_command(g, argv[p.at]);
	if (!command) {
		report_unknown_command(g, argv[p.at]);
		return ADV_EXIT_USAGE;
	}
	/* argp begins its messages with argv[0]. */
	snprintf(name, sizeof(name), "%s %s", g->name, command->name);
	argv[p.at] = name;
	return command->main(argc - p.at, argv + p.at);
}
