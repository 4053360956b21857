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
	const char *name; /* without the dashes */
	int letter;	  /* 0: none */
	const char *arg;  /* name of the argument in --help; NULL: a flag without one */
	const char *help;
	bool needed;
	/* Reads an argument that is not a single quantity; `option` is for messages. NULL: the
	 * argument is a quantity, and the members below apply. */
	void (*read)(struct argp_state *state, const char *option, const char *arg, void *options);
	enum adv_unit unit;
	uint64_t least; /* smallest quantity, in the base unit */
	uint64_t most;	/* 0: no limit */
	size_t into;	/* offset in the planner's options, of a bool for a flag, otherwise... */
	size_t size;	/* ... of a uint32_t or uint64_t of this size */
};

/* Sets the last two members for a member of the planner's `struct options`. */
#define ADV_PLAN_INTO(member)                                                                      \
	.into = offsetof(struct options, member), .size = sizeof(((struct options *)0)->member)

struct adv_plan_syntax {
	const struct adv_plan_option *option;
	unsigned count;
	const char *about;
	/* Checks options against each other and completes them. */
	void (*check)(struct argp_state *state, void *options);
};

/* Reads the command line into `options`, which has the defaults, and *json. If the command line is
 * wrong, prints an error and exits as argp does. */
void adv_plan_parse(const struct adv_plan_syntax *syntax, int argc, char **argv, void *options,
		    bool *json);

/* Reads a quantity. If `arg` is not one, prints an error with the option's name and exits as argp
 * does. */
uint64_t adv_plan_quantity(struct argp_state *state, const char *option, enum adv_unit unit,
			   const char *arg);

#endif
