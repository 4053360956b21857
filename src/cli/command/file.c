/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads files for the subcommands. */
#include <stdlib.h>
#include <string.h>

#include "cli/command/command.h"

#define ROOM_FIRST 65536u

/* Returns the contents of f, at most most + 1 bytes. On failure, sets errno and returns NULL. */
static char *read_all(FILE *f, size_t most, size_t *len)
{
	size_t room = most < ROOM_FIRST ? most + 1 : ROOM_FIRST;
	char *text = malloc(room + 1), *larger;

	*len = 0;
	while (text) {
		*len += fread(text + *len, 1, room - *len, f);
		if (*len < room || room > most)
			break;
		room = room > most / 2 ? most + 1 : 2 * room;
		larger = realloc(text, room + 1);
		if (!larger)
			free(text);
		text = larger;
	}
	if (text && ferror(f)) {
		free(text);
		return NULL;
	}
	if (text)
		text[*len] = '\0';
	return text;
}

char *adv_cli_read_file(const char *who, const char *name, size_t most, size_t *len)
{
	FILE *f = strcmp(name, "-") == 0 ? stdin : fopen(name, "rb");
	char *text = f ? read_all(f, most, len) : NULL;

	if (!text)
		fprintf(stderr, "%s: %s: %m\n", who, name);
	if (f && f != stdin)
		fclose(f);
	return text;
}
