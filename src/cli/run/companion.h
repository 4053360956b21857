/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The programs beside adverbd that use verbs by their public interface: the command adverb executes
 * them on Adverb's NIC, and does not link them. */
#ifndef ADV_CLI_RUN_COMPANION_H
#define ADV_CLI_RUN_COMPANION_H

#include "base/options.h"

struct adv_companion {
	const char *program;
	/* What the build needs to make it, and the packages of Debian; NULL: nothing beyond the
	 * rest. */
	const char *library;
	const char *debian_build;
};

/* Checks the options of a subcommand, and executes the program with them on Adverb's NIC. argv[0]
 * is "adverb GROUP NAME"; the program gets NAME and the options. `input` is the structure of the
 * table. Returns the exit status if the options are wrong or the program is not there. */
int adv_companion_run(const struct adv_companion *c, const struct adv_options *syntax, int argc,
		      char **argv, void *input);

#endif
