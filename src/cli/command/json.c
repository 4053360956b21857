/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/command/json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/command/command.h"

#define SPACED (JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE)

static void exit_without_memory(void)
{
	fprintf(stderr, "adverb: no memory\n");
	exit(ADV_EXIT_FAILED);
}

static struct json_object *require_object(struct json_object *o)
{
	if (!o)
		exit_without_memory();
	return o;
}

size_t adv_utf8_length(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	unsigned char low = 0x80, high = 0xbf;
	size_t len;

	if (*s < 0x80)
		return 1;
	if (*s < 0xc2 || *s > 0xf4)
		return 0;
	len = *s < 0xe0 ? 2 : *s < 0xf0 ? 3 : 4;
	/* Refuses forms that are not the shortest, surrogates, and characters above U+10FFFF. */
	if (*s == 0xe0)
		low = 0xa0;
	else if (*s == 0xed)
		high = 0x9f;
	else if (*s == 0xf0)
		low = 0x90;
	else if (*s == 0xf4)
		high = 0x8f;
	for (size_t i = 1; i < len; i++) {
		if (s[i] < low || s[i] > high)
			return 0;
		low = 0x80;
		high = 0xbf;
	}
	return len;
}

/* ---- values ---- */

struct json_object *adv_json_object(void)
{
	return require_object(json_object_new_object());
}

struct json_object *adv_json_array(void)
{
	return require_object(json_object_new_array());
}

struct json_object *adv_json_number(uint64_t value)
{
	return require_object(json_object_new_uint64(value));
}

struct json_object *adv_json_ratio(uint64_t value)
{
	char text[40];

	snprintf(text, sizeof(text), "%" PRIu64 ".%09" PRIu64, value / ADV_RATIO_ONE,
		 value % ADV_RATIO_ONE);
	return require_object(json_object_new_double_s((double)value / ADV_RATIO_ONE, text));
}

/* Returns the number of bytes at the beginning of `text` that are UTF-8. */
static size_t utf8_prefix(const char *text)
{
	size_t len = 0, character;

	while (text[len] && (character = adv_utf8_length(text + len)) > 0)
		len += character;
	return len;
}

/* Writes UTF-8 as json-c does, without the quotes. */
static void write_characters(FILE *f, const char *text, size_t len)
{
	struct json_object *o = require_object(json_object_new_string_len(text, (int)len));
	const char *quoted = json_object_to_json_string_ext(o, SPACED);

	if (!quoted)
		exit_without_memory();
	fwrite(quoted + 1, strlen(quoted) - 2, 1, f);
	json_object_put(o);
}

/* Sets the text that json-c writes for a string that is not UTF-8. json-c itself would write the
 * bytes unchecked. */
static void set_escaped_text(struct json_object *o, const char *text)
{
	char *escaped = NULL;
	size_t len;
	FILE *f = open_memstream(&escaped, &len);

	if (!f)
		exit_without_memory();
	fputc('"', f);
	while (*text) {
		size_t good = utf8_prefix(text);

		if (good)
			write_characters(f, text, good);
		else
			fprintf(f, "\\udc%02x", (unsigned char)*text);
		text += good ? good : 1;
	}
	fputc('"', f);
	if (fclose(f))
		exit_without_memory();
	json_object_set_serializer(o, json_object_userdata_to_json_string, escaped,
				   json_object_free_userdata);
}

struct json_object *adv_json_text(const char *text)
{
	struct json_object *o = require_object(json_object_new_string(text));

	if (text[utf8_prefix(text)])
		set_escaped_text(o, text);
	return o;
}

/* ---- objects and arrays ---- */

void adv_json_add(struct json_object *to, const char *key, struct json_object *value)
{
	if (json_object_object_add(to, key, value))
		exit_without_memory();
}

void adv_json_append(struct json_object *to, struct json_object *value)
{
	if (json_object_array_add(to, value))
		exit_without_memory();
}

void adv_json_add_number(struct json_object *to, const char *key, uint64_t value)
{
	adv_json_add(to, key, adv_json_number(value));
}

void adv_json_add_text(struct json_object *to, const char *key, const char *text)
{
	adv_json_add(to, key, adv_json_text(text));
}

void adv_json_add_hex(struct json_object *to, const char *key, const uint8_t *bytes, size_t len)
{
	char *text = malloc(2 * len + 1);

	if (!text)
		exit_without_memory();
	text[0] = '\0';
	for (size_t i = 0; i < len; i++)
		sprintf(text + 2 * i, "%02x", bytes[i]);
	adv_json_add_text(to, key, text);
	free(text);
}

void adv_json_add_flag(struct json_object *to, const char *key, bool flag)
{
	adv_json_add(to, key, require_object(json_object_new_boolean(flag)));
}

struct json_object *adv_json_add_object(struct json_object *to, const char *key)
{
	struct json_object *o = adv_json_object();

	adv_json_add(to, key, o);
	return o;
}

struct json_object *adv_json_add_array(struct json_object *to, const char *key)
{
	struct json_object *o = adv_json_array();

	adv_json_add(to, key, o);
	return o;
}

/* ---- writing ---- */

static const char *text_of(struct json_object *o, int flags)
{
	const char *text = json_object_to_json_string_ext(o, flags);

	if (!text)
		exit_without_memory();
	return text;
}

void adv_json_print(FILE *f, struct json_object *o)
{
	fprintf(f, "%s\n", text_of(o, SPACED | JSON_C_TO_STRING_PRETTY));
	json_object_put(o);
}

void adv_json_print_line(FILE *f, struct json_object *o)
{
	fputs(text_of(o, SPACED), f);
	json_object_put(o);
}

void adv_json_print_in_html(FILE *f, struct json_object *o)
{
	/* In JSON only strings contain '<'. An escaped '<' begins neither an end tag nor a comment
	 * of HTML. */
	for (const char *p = text_of(o, JSON_C_TO_STRING_NOSLASHESCAPE); *p; p++)
		if (*p == '<')
			fputs("\\u003c", f);
		else
			fputc(*p, f);
	json_object_put(o);
}
