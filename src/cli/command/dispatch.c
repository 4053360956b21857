/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds a command in a table and runs it, for `adverb` and for commands with subcommands. */
#include "cli/command/command.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The group of the first adv_command_dispatch(), for adv_command_describe(). */
static const struct adv_command_group *top_group;

/* Who gets the tables of commands; NULL: the commands run. */
static const struct adv_command_visitor *visitor_now;

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

/* Passes a group and its commands to the visitor. */
static void describe_group(const struct adv_command_group *g)
{
	char name[64];
	char *argv[] = {name, NULL};

	visitor_now->group(visitor_now->user, g->name, g);
	for (const struct adv_command *c = g->commands; c->name; c++) {
		snprintf(name, sizeof(name), "%s %s", g->name, c->name);
		(void)c->main(1, argv);
	}
}

void adv_command_describe(const struct adv_command_visitor *visitor)
{
	visitor_now = visitor;
	describe_group(top_group);
	visitor_now = NULL;
}

int adv_command_parse(const struct argp *argp, int argc, char **argv, unsigned flags, void *input)
{
	if (!visitor_now)
		return argp_parse(argp, argc, argv, flags, NULL, input);
	visitor_now->command(visitor_now->user, argv[0], argp);
	return ECANCELED;
}

bool adv_command_read(const struct adv_options *syntax, int argc, char **argv, void *options,
		      bool *json)
{
	struct adv_options_parser p;

	adv_options_prepare(&p, syntax, options, json);
	return adv_command_parse(&p.argp, argc, argv, syntax->rest ? ARGP_IN_ORDER : 0, &p) == 0;
}

bool adv_command_read_json(const char *about, int argc, char **argv, bool *json)
{
	const struct adv_options syntax = {.about = about};

	return adv_command_read(&syntax, argc, argv, NULL, json);
}

/* Moves "help" in argv[1] behind the other words, as --help. */
static void move_help(int argc, char **argv)
{
	for (int i = 1; i < argc - 1; i++)
		argv[i] = argv[i + 1];
	argv[argc - 1] = (char *)(uintptr_t) "--help";
}

/* Replaces -h, which argp does not have, in place of a command or of its first argument. */
static void replace_short_help(int argc, char **argv)
{
	for (int i = 1; i < argc && i < 3; i++)
		if (strcmp(argv[i], "-h") == 0 && (i == 1 || argv[1][0] != '-'))
			argv[i] = (char *)(uintptr_t) "--help";
}

int adv_command_dispatch(const struct adv_command_group *g, int argc, char **argv)
{
	const struct argp argp = {NULL, parse_option, g->usage, g->about, NULL, help_filter, NULL};
	struct parsing p = {.group = g};
	const struct adv_command *command;
	char name[64];

	if (visitor_now) {
		describe_group(g);
		return 0;
	}
	if (!top_group)
		top_group = g;
	if (argc > 1 && strcmp(argv[1], "help") == 0)
		move_help(argc, argv);
	replace_short_help(argc, argv);
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
