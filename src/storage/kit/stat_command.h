/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The commands that show the statistics of a running program. */
#ifndef ADV_STORAGE_KIT_STAT_COMMAND_H
#define ADV_STORAGE_KIT_STAT_COMMAND_H

#include <argp.h>

#include "storage/kit/stat.h"

/* The key of the option --control. */
enum { ADV_KIT_STAT_CONTROL = 256 };

struct adv_kit_stat_options {
	const char *control; /* NULL: the default */
	uint64_t seconds;    /* of an interval */
	uint64_t count;	     /* intervals */
	bool json;	     /* the counts since the start */
};

/* Parses the options into a struct adv_kit_stat_options. */
error_t adv_kit_stat_parse(int key, char *arg, struct argp_state *state);

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
