/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Suppressions of `adverb check`. Each line of the file has a rule and a pattern, both with the
 * wildcards of fnmatch(3). The pattern is compared with the program's name, and with the function,
 * the source file and the loaded file of each level of the finding's stacks, without folders. '#'
 * begins a comment.
 */
#ifndef ADV_CLI_CHECK_SUPPRESS_H
#define ADV_CLI_CHECK_SUPPRESS_H

#include <stdbool.h>

struct adv_suppressions;

/* Reads a file, or none if `name` is NULL. If it cannot be read or a line is wrong, prints an error
 * and returns NULL. */
struct adv_suppressions *adv_suppressions_read(const char *name);
void adv_suppressions_free(struct adv_suppressions *s);

/* True if a line names this rule and this name. */
bool adv_suppressions_match(const struct adv_suppressions *s, const char *rule, const char *name);

#endif
