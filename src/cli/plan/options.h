/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The options of a planner as a table. Every planner also has --json. */
#ifndef ADV_CLI_PLAN_OPTIONS_H
#define ADV_CLI_PLAN_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/units.h"

#define ADV_PLAN_OPTIONS_MAX 31

struct adv_plan_option {
	const char *name; /* name without the dashes */
	int letter;	  /* short option; 0: none */
	const char *arg;  /* name of the argument in --help; NULL: the option is a flag */
	const char *help;
	bool needed;
	/* Reads an argument that is not a single quantity. `option` is its name for messages. If
	 * NULL, the argument is a quantity, and the members below apply. */
	void (*read)(struct argp_state *state, const char *option, const char *arg, void *options);
	enum adv_unit unit;
	uint64_t least; /* smallest quantity, in the base unit */
	uint64_t most;	/* largest quantity; 0: no limit */
	size_t into;	/* offset of the value in the planner's `struct options` */
	size_t size;	/* size of the value: a bool for a flag, otherwise uint32_t or uint64_t */
};

/* Sets `into` and `size` for a member of the planner's `struct options`. */
#define ADV_PLAN_INTO(member)                                                                      \
	.into = offsetof(struct options, member), .size = sizeof(((struct options *)0)->member)

struct adv_plan_syntax {
	const struct adv_plan_option *option;
	unsigned count;
	const char *about;
	/* Checks that the options are consistent, and sets those that depend on others. */
	void (*check)(struct argp_state *state, void *options);
};

/* Reads the command line into `options` and *json. The caller has set the defaults in `options`. If
 * the command line is wrong, prints an error and exits like argp. False if the caller must return
 * without any effect: see adv_command_parse(). */
bool adv_planner_parse(const struct adv_plan_syntax *syntax, int argc, char **argv, void *options,
		       bool *json);

/* Reads a quantity. If `arg` is no quantity, prints an error with the option's name and exits like
 * argp. */
uint64_t adv_planner_quantity(struct argp_state *state, const char *option, enum adv_unit unit,
			      const char *arg);

#endif
