/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/capture/filter.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "nic/wire/headers.h"
#include "nic/wire/opcode.h"

#define WORD_MOST 64 /* bytes of a word of an expression */

/* Offsets in the BTH. Over IPv4, it begins at udp[8]. Over IPv6, libpcap knows no place in UDP, but
 * the frames have no extension headers: it begins at ip6[48]. TCP segments have no BTH. */
#define OPCODE_AT 0
#define QPN_AT	  4
#define PSN_AT	  8

/* ---- words for the BTH ---- */

struct expansion {
	char *out;
	size_t used;
	bool full;
};

__attribute__((format(printf, 2, 3))) static void append_text(struct expansion *e,
							      const char *format, ...)
{
	size_t room = ADV_FILTER_TEXT - e->used;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(e->out + e->used, room, format, args);
	va_end(args);
	e->full = e->full || n < 0 || (size_t)n >= room;
	if (!e->full)
		e->used += (size_t)n;
}

/* Reads a number of at most `most`. False: it is none. */
static bool read_number(const char *word, uint32_t most, uint32_t *value)
{
	char *end;
	unsigned long v;

	if (!isdigit((unsigned char)word[0]))
		return false;
	errno = 0;
	v = strtoul(word, &end, 0);
	*value = (uint32_t)v;
	return !errno && !*end && v <= most;
}

/* True if `word` is the name of the opcode, or its end after the service. */
static bool is_name_of(const char *word, const char *name)
{
	const char *space = strchr(name, ' ');
	char whole[WORD_MOST];

	snprintf(whole, sizeof(whole), "%s", name);
	for (char *p = whole; *p; p++)
		if (*p == ' ')
			*p = '_';
	return strcasecmp(word, whole) == 0 || (space && strcasecmp(word, space + 1) == 0);
}

static bool expand_opcode(struct expansion *e, const char *word)
{
	const char *before = "(";
	uint32_t number = 0;
	bool is_number = read_number(word, UINT8_MAX, &number);

	for (uint32_t i = 0; i <= UINT8_MAX; i++) {
		const char *name = adv_opcode_table[i].name;

		if (is_number ? i != number : !name || !is_name_of(word, name))
			continue;
		append_text(e, "%sudp[%d] = %u or (ip6[6] = 17 and ip6[%d] = %u)", before,
			    8 + OPCODE_AT, i, 48 + OPCODE_AT, i);
		before = " or ";
	}
	if (*before == '(')
		return false;
	append_text(e, ")");
	return true;
}

static bool expand_field(struct expansion *e, const char *word, int at)
{
	uint32_t value;

	if (!read_number(word, ADV_QPN_MASK, &value))
		return false;
	append_text(e, "(udp[%d:4] & 0xffffff = %u or (ip6[6] = 17 and ip6[%d:4] & 0xffffff = %u))",
		    8 + at, value, 48 + at, value);
	return true;
}

/* Copies the word at *text, and moves *text behind it. False: there is no word. */
static bool take_word(const char **text, char word[WORD_MOST])
{
	size_t n = 0;

	while (n + 1 < WORD_MOST && (isalnum((unsigned char)(*text)[n]) || (*text)[n] == '_'))
		n++;
	memcpy(word, *text, n);
	word[n] = '\0';
	*text += n;
	return n != 0;
}

/* As take_word(), of the next word: other characters before it are appended to the expansion. */
static bool next_word(struct expansion *e, const char **text, char word[WORD_MOST])
{
	while (**text && !isalnum((unsigned char)**text) && **text != '_')
		append_text(e, "%c", *(*text)++);
	return take_word(text, word);
}

/* Expands the word and its argument. False: an error. */
static bool expand_word(struct expansion *e, const char *word, const char **text,
			char why[ADV_FILTER_WHY])
{
	bool opcode = strcmp(word, "opcode") == 0, qp = strcmp(word, "qp") == 0;
	char argument[WORD_MOST];
	bool good;

	if (!opcode && !qp && strcmp(word, "psn") != 0) {
		append_text(e, "%s", word);
		return true;
	}
	*text += strspn(*text, " \t\n");
	(void)take_word(text, argument);
	good = opcode ? expand_opcode(e, argument)
		      : expand_field(e, argument, qp ? QPN_AT : PSN_AT);
	if (!good && opcode)
		snprintf(why, ADV_FILTER_WHY,
			 "'%s' is no opcode: give a number up to 255 or a name such as "
			 "RC_SEND_ONLY or ACKNOWLEDGE",
			 argument);
	else if (!good)
		snprintf(why, ADV_FILTER_WHY, "'%s %s': expected a number of 24 bits", word,
			 argument);
	return good;
}

bool adv_filter_expand(const char *text, char out[ADV_FILTER_TEXT], char why[ADV_FILTER_WHY])
{
	struct expansion e = {.out = out};
	char word[WORD_MOST];

	out[0] = '\0';
	while (next_word(&e, &text, word))
		if (!expand_word(&e, word, &text, why))
			return false;
	if (e.full)
		snprintf(why, ADV_FILTER_WHY, "the expression is too long");
	return !e.full;
}
