/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The subcommands of `adverb` and their shared functions. */
#ifndef ADV_CLI_COMMAND_COMMAND_H
#define ADV_CLI_COMMAND_COMMAND_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/options.h"
#include "runtime/control/control.h"
#include "nic/fault/plan.h"

/* Exit statuses. `adverb run` also uses those of env(1). */
#define ADV_EXIT_FAILED 1
#define ADV_EXIT_USAGE	2

struct adv_command {
	const char *name;
	const char *summary; /* one line for the list in --help */
	/* argv[0] is "adverb NAME", for messages. Returns the exit status. */
	int (*main)(int argc, char **argv);
};

/* Commands that the first argument selects. */
struct adv_command_group {
	const char *name; /* words before the command, such as "adverb" or "adverb plan" */
	const char *kind; /* a noun for the message "'x' is not a ..." */
	const struct adv_command *commands; /* the last one has a name of NULL */
	const char *usage;		    /* for --help, in argp's form */
	const char *about;		    /* text above the list, after a \v */
	const char *more;		    /* text below the list */
};

/* Runs the command that argv[1] names and returns its exit status. If there is no such command,
 * prints an error and returns ADV_EXIT_USAGE. argp handles options before the command (--help).
 * "help [COMMAND...]" prints the same as "[COMMAND...] --help", and "-h" in place of a command or
 * of its first argument is --help. */
int adv_command_dispatch(const struct adv_command_group *group, int argc, char **argv);

/* Parses the arguments of a command, in place of argp_parse(), which exits after --help and after
 * an error. `flags` are those of argp_parse(). 0: the command runs. Otherwise the command returns
 * without any effect: argp's errno, or ECANCELED while adv_command_describe() runs. */
int adv_command_parse(const struct argp *argp, int argc, char **argv, unsigned flags, void *input);

/* Reads the command line into `options` and *json, which --json sets; NULL: no --json. The caller
 * has set the defaults in `options`. If the command line is wrong, prints an error and exits like
 * argp. False if the caller must return without any effect: see adv_command_parse(). */
bool adv_command_read(const struct adv_options *syntax, int argc, char **argv, void *options,
		      bool *json);

/* As adv_command_read(), for a command that has no arguments and no option but --json. `about` is
 * argp's text on the command. */
bool adv_command_read_json(const char *about, int argc, char **argv, bool *json);

/* The functions that adv_command_describe() calls. `name` is all words, such as "adverb plan ets".
 */
struct adv_command_visitor {
	void (*group)(void *user, const char *name, const struct adv_command_group *group);
	void (*command)(void *user, const char *name, const struct argp *argp);
	void *user;
};

/* Describes all commands to the visitor by their argp tables: the group of the first
 * adv_command_dispatch() of this process, then each of its commands, and theirs. Not for several
 * threads. */
void adv_command_describe(const struct adv_command_visitor *visitor);

int adv_completion_main(int argc, char **argv);
int adv_run_main(int argc, char **argv);
int adv_check_main(int argc, char **argv);
int adv_devinfo_main(int argc, char **argv);
int adv_gids_main(int argc, char **argv);
int adv_status_main(int argc, char **argv);
int adv_doctor_main(int argc, char **argv);
int adv_res_main(int argc, char **argv);
int adv_stat_main(int argc, char **argv);
int adv_top_main(int argc, char **argv);
int adv_exporter_main(int argc, char **argv);
int adv_capture_main(int argc, char **argv);
int adv_explain_main(int argc, char **argv);
int adv_fault_main(int argc, char **argv);
int adv_plan_main(int argc, char **argv);
int adv_frame_main(int argc, char **argv);
int adv_sim_main(int argc, char **argv);
int adv_fabric_main(int argc, char **argv);
int adv_nvme_main(int argc, char **argv);
int adv_gateway_main(int argc, char **argv);

struct argp_state;

/* As adv_option_number(). */
uint32_t adv_cli_number(struct argp_state *state, const char *what, const char *arg);

/* Returns the seconds in arg, from least to most. Otherwise prints a usage error that names `what`,
 * and exits. */
double adv_cli_seconds(struct argp_state *state, const char *what, const char *arg, double least,
		       double most);

/* Returns the size in arg, bytes: a quantity such as 64K or 1MB, or a number of `plain` bytes.
 * Otherwise, or if it is not from least to most, prints a usage error that names `what`, and exits.
 */
uint64_t adv_cli_size(struct argp_state *state, const char *what, const char *arg, uint32_t plain,
		      uint64_t least, uint64_t most);

/* Reads a file ("-": standard input) and adds a 0 byte. If the file is longer than `most`, returns
 * its first most + 1 bytes; the caller then refuses the file. If the file cannot be read, prints an
 * error that begins with `who` and returns NULL. The caller frees the text. */
char *adv_cli_read_file(const char *who, const char *name, size_t most, size_t *len);

/* Reads a fault plan, and gives it a random seed if it has none. If the plan is wrong, prints an
 * error that begins with `adverb WHO` and returns false. */
bool adv_cli_read_plan(const char *who, const char *text, struct adv_fault_plan *plan);

/* Reads a fault plan, prints it to standard error and puts it into the environment. If the plan is
 * wrong, prints an error and returns false. */
bool adv_cli_set_faults(const char *text);

/* Reads a congestion control and puts it into the environment. If the text is wrong, prints an
 * error and returns false. */
bool adv_cli_set_congestion(const char *text);

/* Returns the command whose name resembles `name`, or NULL. */
const char *adv_command_suggest(const struct adv_command *commands, const char *name);

/* Connects to adverbd. If `start` is true, starts adverbd if it does not run. On failure, prints an
 * error and returns NULL. */
struct adv_control *adv_cli_connect(bool start);

/* Writes why adv_control_connect() failed, from its errno and its reason: names the adverbd of
 * another user, or another program, that holds the port. */
void adv_cli_absence(int error, const char *reason, char *text, size_t len);

/* Prints a line, which begins with `who`, if ADVERB_PKEYS has no effect because adverbd ran
 * already.
 */
void adv_cli_warn_of_pkeys(struct adv_control *c, const char *who);

/* True if the adverbd of another user, or another program, holds the port, and no wait changes
 * that; text says so. */
bool adv_cli_port_conflict(char *text, size_t len);

/* Copies a consistent state of the GID table. If there is no table, prints an error and returns
 * false. */
bool adv_cli_gids(struct adv_control *c, struct adv_gid_table *copy);

#define ADV_GID_TEXT 40

/* Writes a GID as eight groups of four hexadecimal digits, like ibv_devinfo. */
void adv_format_gid(char text[ADV_GID_TEXT], const struct adv_gid *gid);
/* Returns the type of an entry, as the kernel writes it: "RoCE v2", "IB/RoCE v1". */
const char *adv_format_gid_type(const struct adv_gid_entry *entry);

/* Writes a GUID in network order as four groups of four hexadecimal digits, like ibv_devinfo. */
void adv_format_guid(char text[20], uint64_t guid);

#endif
