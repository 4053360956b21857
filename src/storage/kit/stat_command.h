/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The commands that show the statistics of a running program. */
#ifndef ADV_STORAGE_KIT_STAT_COMMAND_H
#define ADV_STORAGE_KIT_STAT_COMMAND_H

#include "base/options.h"
#include "storage/kit/stat.h"

struct adv_kit_stat_options {
	const char *control; /* NULL: the default */
	uint64_t seconds;    /* of an interval */
	uint64_t count;	     /* intervals */
	bool json;	     /* the counts since the start */
};

/* --interval, --count and --output-format; and the default values of all members. */
extern const struct adv_options adv_kit_stat_intervals;
extern const struct adv_kit_stat_options adv_kit_stat_defaults;

/* Returns whether the argument of --output-format is json. If it is not normal either, prints an
 * error and exits. */
bool adv_kit_option_json(struct argp_state *state, const char *option, const char *arg);

/* How the rates of a list are printed. */
struct adv_kit_stat_printer {
	void (*head)(const char *title);
	/* last: the same row before; NULL: none. */
	void (*row)(const struct adv_kit_stat_row *now, const struct adv_kit_stat_row *last,
		    double seconds);
};

/* Prints the statistics of the program with this control name. Returns the exit status. */
int adv_kit_stat_show(const struct adv_kit_stat_kind *kind, const struct adv_kit_stat_options *o,
		      const char *program, const struct adv_kit_stat_printer *printer);

#endif
