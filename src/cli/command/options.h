/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The options of a command as a table. */
#ifndef ADV_CLI_COMMAND_OPTIONS_H
#define ADV_CLI_COMMAND_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/units.h"

#define ADV_COMMAND_OPTIONS_MAX 31

/* What the argument of an option is. */
enum adv_command_value {
	ADV_VALUE_QUANTITY, /* a uint32_t or uint64_t, of `unit`, from `least` to `most` */
	ADV_VALUE_NUMBER,   /* a uint32_t, as of adv_cli_number() */
	ADV_VALUE_TEXT,	    /* a const char * */
};

struct adv_command_option {
	const char *name; /* name without the dashes */
	int letter;	  /* short option; 0: none */
	const char *arg;  /* name of the argument in --help; NULL: the option is a flag */
	const char *help;
	bool needed;
	/* Reads the argument, or notes a flag. `option` is its name for messages. If NULL, the
	 * members below apply. */
	void (*read)(struct argp_state *state, const char *option, const char *arg, void *options);
	enum adv_command_value value;
	enum adv_unit unit;
	uint64_t least; /* smallest quantity, in the base unit */
	uint64_t most;	/* largest quantity; 0: no limit */
	size_t into;	/* offset of the value in the command's `struct options` */
	size_t size;	/* size of the value: a bool for a flag */
};

/* Sets `into` and `size` for a member of the command's `struct options`. */
#define ADV_OPTION_INTO(member)                                                                    \
	.into = offsetof(struct options, member), .size = sizeof(((struct options *)0)->member)

/* The same, for a text or a number. */
#define ADV_OPTION_TEXT(member)	  .value = ADV_VALUE_TEXT, ADV_OPTION_INTO(member)
#define ADV_OPTION_NUMBER(member) .value = ADV_VALUE_NUMBER, ADV_OPTION_INTO(member)

struct adv_command_syntax {
	const struct adv_command_option *option;
	unsigned count;
	const char *about;
	/* Checks that the options are consistent, and sets those that depend on others; or NULL. */
	void (*check)(struct argp_state *state, void *options);
	const char *args; /* of --help; NULL: no arguments but options */
	/* Reads an argument; NULL: there is none, or at most one, which is set in `file`. */
	void (*read)(struct argp_state *state, const char *arg, void *options);
	size_t file;	/* offset of a const char * in the command's `struct options` */
	unsigned flags; /* of argp_parse() */
};

/* Reads the command line into `options` and *json, which --json sets; NULL: no --json. The caller
 * has set the defaults in `options`. If the command line is wrong, prints an error and exits like
 * argp. False if the caller must return without any effect: see adv_command_parse(). */
bool adv_command_read(const struct adv_command_syntax *syntax, int argc, char **argv, void *options,
		      bool *json);

/* As adv_command_read(), for a command that has no arguments and no option but --json. `about` is
 * argp's text on the command. */
bool adv_command_read_json(const char *about, int argc, char **argv, bool *json);

/* Reads a quantity. If `arg` is no quantity, prints an error with the option's name and exits like
 * argp. */
uint64_t adv_command_quantity(struct argp_state *state, const char *option, enum adv_unit unit,
			      const char *arg);

#endif
