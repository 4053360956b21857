/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/frame/input.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "base/number.h"
#include "cli/command/command.h"

char *adv_input_read_file(const char *who, const char *name, size_t *len)
{
	char *text = adv_cli_read_file(who, name, ADV_INPUT_FILE_MAX - 1, len);

	if (!text || *len < ADV_INPUT_FILE_MAX)
		return text;
	fprintf(stderr, "%s: %s: %s\n", who, name, strerror(EFBIG));
	free(text);
	return NULL;
}

bool adv_input_each_line(const char *name, const char *text, size_t len, adv_input_line_fn *fn,
			 void *user)
{
	unsigned line = 0;
	char where[160];

	for (size_t i = 0; i < len;) {
		const char *end = memchr(text + i, '\n', len - i);
		size_t n = end ? (size_t)(end - text) - i : len - i;

		snprintf(where, sizeof(where), "%.120s:%u", name, ++line);
		if (!fn(user, where, text + i, n))
			return false;
		i += n + 1;
	}
	return true;
}

long adv_input_read_hex(const char *s, size_t len, unsigned char *out, size_t room)
{
	size_t n = 0;

	for (size_t i = 0; i < len;) {
		if (s[i] == ':' || isspace((unsigned char)s[i])) {
			i++;
			continue;
		}
		int byte = i + 1 < len ? adv_number_hex_byte(s + i) : -1;

		if (byte < 0 || n == room)
			return -1;
		out[n++] = (unsigned char)byte;
		i += 2;
	}
	return (long)n;
}
