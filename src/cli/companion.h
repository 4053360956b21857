/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The programs beside adverbd that use verbs by their public interface: the command adverb executes
 * them on Adverb's NIC, and does not link them. */
#ifndef ADV_CLI_COMPANION_H
#define ADV_CLI_COMPANION_H

#include <argp.h>

/* Checks the options of a subcommand, and executes `program` with them on Adverb's NIC. argv[0] is
 * "adverb GROUP NAME"; the program gets NAME and the options. `input` is the structure of the
 * table. Returns the exit status if the options are wrong or the program is not installed. */
int adv_companion_run(const char *program, const struct argp *argp, int argc, char **argv,
		      void *input);

#endif
