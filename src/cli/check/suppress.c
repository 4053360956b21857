/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/check/suppress.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/check/rules.h"
#include "cli/command/command.h"

#define MOST_BYTES (1 << 20)
#define MOST_LINES 10000

struct adv_suppressions {
	char *text; /* the file, with 0 bytes at the ends of words */
	unsigned count;
	struct {
		const char *rule, *pattern;
	} line[MOST_LINES];
};

/* True if at least one rule has a name that the pattern matches. */
static bool names_a_rule(const char *pattern)
{
	for (unsigned i = 0; i < ADV_RULES; i++)
		if (fnmatch(pattern, adv_check_rules[i].name, 0) == 0)
			return true;
	return false;
}

/* Adds a line. Prints an error and returns false if the line is wrong. */
static bool add_line(struct adv_suppressions *s, const char *name, unsigned number, char *line)
{
	char *rule, *pattern, *rest, *state;

	line[strcspn(line, "#")] = 0;
	rule = strtok_r(line, " \t\r", &state);
	if (!rule)
		return true;
	pattern = strtok_r(NULL, " \t\r", &state);
	rest = pattern ? strtok_r(NULL, " \t\r", &state) : NULL;
	if (!pattern || rest || !names_a_rule(rule) || s->count == MOST_LINES) {
		fprintf(stderr, "adverb check: %s:%u: %s\n", name, number,
			s->count == MOST_LINES ? "too many lines"
			: !pattern || rest     ? "expected: RULE PATTERN"
					       : "no rule has this name; see --list-rules");
		return false;
	}
	s->line[s->count].rule = rule;
	s->line[s->count++].pattern = pattern;
	return true;
}

struct adv_suppressions *adv_suppressions_read(const char *name)
{
	struct adv_suppressions *s = calloc(1, sizeof(*s));
	char *line, *next;
	size_t length;
	unsigned number = 0;

	if (!s || !name)
		return s;
	s->text = adv_cli_read_file("adverb check", name, MOST_BYTES, &length);
	if (s->text && (length > MOST_BYTES || strlen(s->text) != length)) {
		fprintf(stderr, "adverb check: %s is longer than %d bytes, or no text\n", name,
			MOST_BYTES);
		adv_suppressions_free(s);
		return NULL;
	}
	for (line = s->text; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		if (!add_line(s, name, ++number, line)) {
			adv_suppressions_free(s);
			return NULL;
		}
	}
	if (s->text)
		return s;
	free(s);
	return NULL;
}

void adv_suppressions_free(struct adv_suppressions *s)
{
	free(s->text);
	free(s);
}

bool adv_suppressions_match(const struct adv_suppressions *s, const char *rule, const char *name)
{
	for (unsigned i = 0; i < s->count; i++)
		if (fnmatch(s->line[i].rule, rule, 0) == 0 &&
		    fnmatch(s->line[i].pattern, name, 0) == 0)
			return true;
	return false;
}
