/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/command/command.h"

#include <limits.h>

#define NAME_MAX_LEN 24
#define FAR_ENOUGH   3

/* Returns the Levenshtein distance. If a name is longer than NAME_MAX_LEN, the distance is larger
 * than any limit. */
static unsigned edit_distance(const char *a, const char *b)
{
	unsigned row[NAME_MAX_LEN + 1];
	size_t la = strlen(a), lb = strlen(b);

	if (la > NAME_MAX_LEN || lb > NAME_MAX_LEN)
		return UINT_MAX;
	for (size_t j = 0; j <= lb; j++)
		row[j] = (unsigned)j;
	for (size_t i = 1; i <= la; i++) {
		unsigned diagonal = row[0];

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= lb; j++) {
			unsigned best = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[lb];
}

const char *adv_command_suggest(const struct adv_command *commands, const char *name)
{
	const char *best = NULL;
	unsigned least = FAR_ENOUGH;

	for (const struct adv_command *c = commands; c->name; c++) {
		unsigned d = edit_distance(name, c->name);

		/* If the distance is the length of the name, all letters may differ. */
		if (d < least && d < strlen(c->name)) {
			least = d;
			best = c->name;
		}
	}
	return best;
}
