/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The subcommands of `adverb`, and what they share. */
#ifndef ADV_CLI_COMMAND_H
#define ADV_CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "host/control.h"
#include "fault/plan.h"

/* Exit statuses; `run` has those of env(1) besides. */
#define ADV_EXIT_FAILED 1
#define ADV_EXIT_USAGE	2

struct adv_command {
	const char *name;
	const char *summary; /* for the list in --help */
	/* argv[0] is "adverb NAME", for messages. Returns the exit status. */
	int (*main)(int argc, char **argv);
};

/* Commands that are chosen by the first argument. */
struct adv_command_group {
	const char *name; /* "adverb", "adverb plan": what is written before them */
	const char *kind; /* what each is, in "'x' is not a ..." */
	const struct adv_command *commands; /* ends with a name of NULL */
	const char *usage;		    /* for --help, as argp has them */
	const char *about;		    /* what stands above the list, behind a \v */
	const char *more;		    /* below it */
};

/* Hands over to the command that argv[1] names and returns its exit status; ADV_EXIT_USAGE, and
 * said on standard error, where there is none. Options before it are argp's (--help). */
int adv_command_dispatch(const struct adv_command_group *group, int argc, char **argv);

int adv_run_main(int argc, char **argv);
int adv_devinfo_main(int argc, char **argv);
int adv_gids_main(int argc, char **argv);
int adv_status_main(int argc, char **argv);
int adv_explain_main(int argc, char **argv);
int adv_fault_main(int argc, char **argv);
int adv_plan_main(int argc, char **argv);
int adv_frame_main(int argc, char **argv);
int adv_sim_main(int argc, char **argv);

/*
 * A file, "-" for standard input, with a 0 byte behind it; of one that is longer than `most` its
 * first most + 1 bytes, for the caller to refuse. NULL, and said on standard error as `who`: it
 * cannot be read. The caller frees it.
 */
char *adv_cli_read_file(const char *who, const char *name, size_t most, size_t *len);

/* Reads a plan, with a seed of its own where it has none; false, and what is wrong said on standard
 * error as `adverb WHO`. */
bool adv_cli_read_plan(const char *who, const char *text, struct adv_fault_plan *plan);

/* Reads the plan, says it on standard error and puts it into the environment;
 * false (and said) where it cannot be read. */
bool adv_cli_set_faults(const char *text);

/* Puts congestion control into the environment, as it was read; false (and said) where it cannot be
 * read. */
bool adv_cli_set_congestion(const char *text);

/* The one of the commands that `name` was perhaps meant to be, or NULL. */
const char *adv_command_suggest(const struct adv_command *commands, const char *name);

/* Connects, or says on standard error what is wrong and returns NULL. */
struct adv_control *adv_cli_connect(bool start);

/* A consistent copy of the table; false (and said on standard error) where there is none. */
bool adv_cli_gids(struct adv_control *c, struct adv_gid_table *copy);

#define ADV_GID_TEXT 40

/* All eight groups of four digits, as ibv_devinfo writes GIDs. */
void adv_format_gid(char text[ADV_GID_TEXT], const struct adv_gid *gid);

/* The IP address in its shortest form. */
void adv_format_address(char text[ADV_GID_TEXT + 8], const struct adv_gid *gid);

/* A GUID in network order as ibv_devinfo writes it: four groups of four digits. */
void adv_format_guid(char text[20], uint64_t guid);

#endif
