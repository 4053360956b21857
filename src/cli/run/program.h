/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whether the dynamic linker gives Adverb's libraries to a program. */
#ifndef ADV_CLI_RUN_PROGRAM_H
#define ADV_CLI_RUN_PROGRAM_H

/* If the program that execvp() would execute cannot use Adverb's libraries, prints a warning with
 * the reason and the remedy: the program is statically linked; or it is set-user-ID, set-group-ID
 * or has file capabilities that this user does not have, so that the dynamic linker ignores
 * LD_LIBRARY_PATH. Prints nothing if the program cannot be found or read. */
void adv_run_warn(const char *name);

#endif
