/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The options of a command as a table, for argp. */
#ifndef ADV_BASE_OPTIONS_H
#define ADV_BASE_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/units.h"

#define ADV_OPTIONS_MAX 31

/* What the argument of an option is. */
enum adv_option_value {
	ADV_VALUE_QUANTITY, /* a number of `unit`, from `least` to `most` */
	ADV_VALUE_PLAIN,    /* the same; bytes need no unit */
	ADV_VALUE_NUMBER,   /* a uint32_t, as of adv_option_number() */
	ADV_VALUE_TEXT,	    /* a const char * */
};

struct adv_option {
	const char *name; /* name without the dashes */
	int letter;	  /* short option; 0: none */
	const char *arg;  /* name of the argument in --help; NULL: the option is a flag */
	const char *help;
	bool needed;
	/* Reads the argument, or notes a flag. `option` is its name for messages. If NULL, the
	 * members below apply. */
	void (*read)(struct argp_state *state, const char *option, const char *arg, void *values);
	enum adv_option_value value;
	enum adv_unit unit;
	uint64_t least; /* smallest quantity, in the base unit */
	uint64_t most;	/* largest quantity; 0: no limit */
	size_t into;	/* offset of the value in the command's structure */
	size_t size;	/* size of the value: a bool for a flag; of a quantity 2, 4 or 8 */
};

/* Sets `into` and `size` for a member of a structure. */
#define ADV_OPTION_OF(type, member)                                                                \
	.into = offsetof(type, member), .size = sizeof(((type *)0)->member)

/* For a member of `struct options`: a flag or a quantity, a text, a number. */
#define ADV_OPTION_INTO(member)	  ADV_OPTION_OF(struct options, member)
#define ADV_OPTION_TEXT(member)	  .value = ADV_VALUE_TEXT, ADV_OPTION_INTO(member)
#define ADV_OPTION_NUMBER(member) .value = ADV_VALUE_NUMBER, ADV_OPTION_INTO(member)

/* Sets the first two members below. */
#define ADV_OPTION_TABLE(table) table, ADV_ARRAY_SIZE(table)

struct adv_options {
	const struct adv_option *option;
	unsigned count;
	const char *about;
	/* Checks that the options are consistent, and sets those that depend on others; or NULL. */
	void (*check)(struct argp_state *state, void *values);
	const char *args; /* of --help; NULL: no arguments but options */
	/* Reads an argument; NULL: there is none, or at most one, which is set in `file`. */
	void (*read)(struct argp_state *state, const char *arg, void *values);
	size_t file; /* offset of a const char * in the command's structure */
	/* The first argument and all that follow are those of another command; `file` is of a
	 * char **. */
	bool rest;
	const struct adv_options *more; /* further options, with a check of their own; or NULL */
	const void *defaults;		/* the structure at first; NULL: the caller has set it */
	size_t size;			/* of `defaults` */
};

/* Makes argp's table, and parses. The input of `argp` is the structure itself. */
struct adv_options_parser {
	struct argp argp;
	struct argp_option option[ADV_OPTIONS_MAX + 2];
	const struct adv_options *options;
	void *values;
	bool *json;	/* set by --json; NULL: there is no --json */
	uint32_t given; /* options that were given, a bit each */
};

void adv_options_prepare(struct adv_options_parser *p, const struct adv_options *o, void *values,
			 bool *json);

/* Reads a command line. If it is wrong, prints an error and exits like argp. */
void adv_options_parse(const struct adv_options *o, int argc, char **argv, void *values);

/* Reads a quantity. If `arg` is no quantity, prints an error with the option's name and exits like
 * argp. */
uint64_t adv_option_quantity(struct argp_state *state, const char *option, enum adv_unit unit,
			     const char *arg);

/* Returns the quantity in arg, from least to most. Bytes need no unit. Otherwise prints an error
 * with the option's name, and exits like argp. */
uint64_t adv_option_plain(struct argp_state *state, const char *option, enum adv_unit unit,
			  const char *arg, uint64_t least, uint64_t most);

/* Returns the decimal or (0x...) hexadecimal number in arg, 1 to 2^31 - 1. Otherwise prints an
 * error with the option's name, and exits like argp. */
uint32_t adv_option_number(struct argp_state *state, const char *option, const char *arg);

#endif
