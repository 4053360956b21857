/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Parses scenario files: sections, keys and values. */
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/shown.h"
#include "fabric/scenario/scenario.h"
#include "fabric/scenario/keys.h"

#define LIST_MAX     1000000u
#define SECTIONS     16
#define SECTION_NAME 32

/* A part of the file without surrounding blanks. */
struct text {
	const char *at;
	size_t len;
};

/* The section that the current lines belong to. */
struct place {
	const struct adv_scenario_section *section;
	char name[SECTION_NAME]; /* as in the file: "priority 3" */
	uint8_t *base;		 /* structure of the section; NULL: before the first section */
	uint64_t said;		 /* keys that were read in the section, a bit each */
	uint64_t *once;		 /* copy of `said` for a section that occurs once, or NULL */
};

struct reader {
	struct adv_scenario *s;
	struct place place;
	uint64_t once[SECTIONS][ADV_PRIORITIES];
	uint64_t line;
	char *why;
};

static bool fail_reading(struct reader *r, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static bool fail_reading(struct reader *r, const char *format, ...)
{
	int n = r->line ? snprintf(r->why, ADV_SCENARIO_WHY, "%s:%llu: ", r->s->name,
				   (unsigned long long)r->line)
			: 0;
	va_list args;

	va_start(args, format);
	vsnprintf(r->why + n, (size_t)(ADV_SCENARIO_WHY - n), format, args);
	va_end(args);
	return false;
}

static struct text trim_text(const char *at, size_t len)
{
	while (len && isspace((unsigned char)*at)) {
		at++;
		len--;
	}
	while (len && isspace((unsigned char)at[len - 1]))
		len--;
	return (struct text){at, len};
}

static bool text_equals(struct text t, const char *word)
{
	return t.len == strlen(word) && memcmp(t.at, word, t.len) == 0;
}

/* Returns the printable form of a text, for messages. */
static struct adv_shown show_text(struct text t)
{
	return adv_show(t.at, t.len, ADV_SHOWN_MOST);
}

static bool read_number(struct text t, uint64_t most, uint64_t *value)
{
	char why[ADV_UNITS_WHY];

	return adv_units_parse(ADV_UNIT_COUNT, t.at, t.len, value, why) && *value <= most;
}

/* ---- values ---- */

static bool words_expected(struct reader *r, const struct adv_scenario_key *k, struct text t)
{
	char list[160] = "";
	size_t n = 0;

	for (unsigned i = 0; k->words && k->words[i]; i++)
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", i ? ", " : "",
				      k->words[i]);
	return fail_reading(r, "[%s] %s = %s: expected %s%s", r->place.name, k->name,
			    show_text(t).text,
			    k->type == ADV_KEY_HOSTS ? "a host's number, a range such as 0-15, or "
						     : "one of: ",
			    list);
}

static bool read_word(struct reader *r, const struct adv_scenario_key *k, struct text t,
		      uint64_t *value)
{
	for (unsigned i = 0; k->words[i]; i++)
		if (text_equals(t, k->words[i])) {
			*value = i;
			return true;
		}
	return words_expected(r, k, t);
}

static bool read_hosts(struct reader *r, const struct adv_scenario_key *k, struct text t,
		       uint64_t *value)
{
	const char *dash = memchr(t.at, '-', t.len);
	uint64_t first, last;

	for (unsigned i = 0; k->words[i]; i++)
		if (text_equals(t, k->words[i])) {
			*value = ADV_SCENARIO_ALL | i;
			return true;
		}
	if (dash) {
		size_t n = (size_t)(dash - t.at);

		if (!read_number((struct text){t.at, n}, 1 << 24, &first) ||
		    !read_number((struct text){dash + 1, t.len - n - 1}, 1 << 24, &last) ||
		    last < first)
			return words_expected(r, k, t);
	} else if (!read_number(t, 1 << 24, &first)) {
		return words_expected(r, k, t);
	} else {
		last = first;
	}
	*value = first << 32 | last;
	return true;
}

static bool read_node(struct reader *r, const struct adv_scenario_key *k, struct text t,
		      uint64_t *value)
{
	if (t.len < 2 || (t.at[0] != 'h' && t.at[0] != 's') ||
	    !read_number((struct text){t.at + 1, t.len - 1}, 1 << 24, value))
		return fail_reading(
			r, "[%s] %s = %s: expected a host such as h3, or a switch such as s0",
			r->place.name, k->name, show_text(t).text);
	if (t.at[0] == 's')
		*value += ADV_SCENARIO_SWITCH;
	return true;
}

/* Writes a limit so that it is exact: a rounded one would seem to permit a refused value. */
static const char *print_limit(enum adv_unit unit, uint64_t limit, char text[ADV_UNITS_TEXT])
{
	char why[ADV_UNITS_WHY];
	uint64_t back;

	adv_units_print(unit, limit, text);
	if (adv_units_parse(unit, text, strlen(text), &back, why) && back == limit)
		return text;
	if (unit == ADV_UNIT_BYTES)
		snprintf(text, ADV_UNITS_TEXT, "%" PRIu64 " B", limit);
	else if (unit == ADV_UNIT_RATIO)
		snprintf(text, ADV_UNITS_TEXT, "%g", (double)limit / ADV_RATIO_ONE);
	return text;
}

static bool read_quantity(struct reader *r, const struct adv_scenario_key *k, struct text t,
			  uint64_t *value)
{
	char why[ADV_UNITS_WHY], least[ADV_UNITS_TEXT], most[ADV_UNITS_TEXT];

	if (!adv_units_parse(k->unit, t.at, t.len, value, why))
		return fail_reading(r, "[%s] %s: %s", r->place.name, k->name, why);
	if (*value < k->least || *value > k->most)
		return fail_reading(r, "[%s] %s = %s: expected a value from %s to %s",
				    r->place.name, k->name, show_text(t).text,
				    print_limit(k->unit, k->least, least),
				    print_limit(k->unit, k->most, most));
	return true;
}

static bool read_value(struct reader *r, const struct adv_scenario_key *k, struct text t,
		       uint64_t *value)
{
	switch (k->type) {
	case ADV_KEY_WORD:
		return read_word(r, k, t, value);
	case ADV_KEY_HOSTS:
		return read_hosts(r, k, t, value);
	case ADV_KEY_NODE:
		return read_node(r, k, t, value);
	case ADV_KEY_QUANTITY:
		break;
	}
	return read_quantity(r, k, t, value);
}

/* ---- keys and sections ---- */

static const struct adv_scenario_key *
find_key(struct reader *r, const struct adv_scenario_section *section, struct text name)
{
	char list[560] = "";
	size_t n = 0;

	for (const struct adv_scenario_key *k = section->keys; k->name; k++)
		if (text_equals(name, k->name))
			return k;
	for (const struct adv_scenario_key *k = section->keys; k->name && n < sizeof(list); k++)
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s",
				      k == section->keys ? "" : ", ", k->name);
	fail_reading(r, "[%s] has no key '%s'; it has: %s", r->place.name, show_text(name).text,
		     list);
	return NULL;
}

/* Returns the index of a value in adv_scenario.line. Its section must be one that occurs once. */
static size_t value_at(const struct adv_scenario *s, const uint8_t *value)
{
	return (size_t)(value - (const uint8_t *)s) / sizeof(uint64_t);
}

static bool read_key(struct reader *r, struct text line)
{
	const char *equal = memchr(line.at, '=', line.len);
	const struct adv_scenario_key *k;
	struct text name, value;
	uint64_t bit, v;

	if (!equal)
		return fail_reading(r, "expected `key = value`, or a section such as [flow]");
	name = trim_text(line.at, (size_t)(equal - line.at));
	value = trim_text(equal + 1, line.len - (size_t)(equal + 1 - line.at));
	if (!r->place.base)
		return fail_reading(r, "a section such as [network] must come first");
	k = find_key(r, r->place.section, name);
	if (!k)
		return false;
	bit = 1ull << (k - r->place.section->keys);
	if (r->place.said & bit)
		return fail_reading(r, "%s is given twice in this [%s]", k->name, r->place.name);
	if (!read_value(r, k, value, &v))
		return false;
	memcpy(r->place.base + k->offset, &v, sizeof(v));
	r->place.said |= bit;
	if (r->place.once) {
		*r->place.once = r->place.said;
		r->s->line[value_at(r->s, r->place.base + k->offset)] = r->line;
	}
	return true;
}

void *adv_scenario_append(struct adv_scenario *s, unsigned list)
{
	const struct adv_scenario_section *section = adv_scenario_sections;
	struct adv_scenario_list *l = &s->list[list];
	uint32_t n = l->count;
	void *at;

	while (section->list != (int)list)
		section++;
	if (!adv_grow_by_count(&l->item, n, section->size) ||
	    !adv_grow_by_count(&l->line, n, sizeof(*l->line)))
		return NULL;
	at = (uint8_t *)l->item + n * section->size;
	memcpy(at, section->initial, section->size);
	l->line[n] = 0;
	l->count++;
	return at;
}

static bool add_item(struct reader *r, const struct adv_scenario_section *section)
{
	struct adv_scenario_list *l = &r->s->list[section->list];

	if (l->count == LIST_MAX)
		return fail_reading(r, "more than %u sections [%s]", LIST_MAX, section->name);
	r->place.base = adv_scenario_append(r->s, (unsigned)section->list);
	if (!r->place.base)
		return fail_reading(r, "no memory");
	l->line[l->count - 1] = r->line;
	return true;
}

static bool has_index(const struct adv_scenario_section *section)
{
	return strcmp(section->name, "priority") == 0;
}

/* Reads N of [priority N]. False: it is missing, or the section has no number. */
static bool read_index(const struct adv_scenario_section *section, struct text rest,
		       uint64_t *index)
{
	*index = 0;
	if (!has_index(section))
		return rest.len == 0;
	return read_number(rest, ADV_PRIORITIES - 1, index);
}

static const struct adv_scenario_section *find_section(struct reader *r, struct text name,
						       uint64_t *index)
{
	char list[200] = "";
	size_t n = 0;

	for (const struct adv_scenario_section *c = adv_scenario_sections; c->name; c++) {
		size_t len = strlen(c->name);

		if (name.len < len || memcmp(name.at, c->name, len) != 0 ||
		    (name.len > len && name.at[len] != ' '))
			continue;
		if (read_index(c, trim_text(name.at + len, name.len - len), index)) {
			snprintf(r->place.name, sizeof(r->place.name),
				 has_index(c) ? "%s %u" : "%s", c->name, (unsigned)*index);
			return c;
		}
	}
	for (const struct adv_scenario_section *c = adv_scenario_sections; c->name; c++)
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s%s", n ? ", " : "", c->name,
				      has_index(c) ? " 0 to priority 7" : "");
	fail_reading(r, "no section '%s'; the sections are: %s", show_text(name).text, list);
	return NULL;
}

static void *base_of(struct adv_scenario *s, const struct adv_scenario_section *section,
		     uint64_t index)
{
	return (uint8_t *)s + section->offset + index * sizeof(struct adv_scenario_priority);
}

static bool read_section(struct reader *r, struct text line)
{
	uint64_t index;

	if (line.at[line.len - 1] != ']')
		return fail_reading(r, "a section's line ends with ]");
	r->place = (struct place){.base = NULL};
	r->place.section = find_section(r, trim_text(line.at + 1, line.len - 2), &index);
	if (!r->place.section)
		return false;
	if (r->place.section->list >= 0)
		return add_item(r, r->place.section);
	r->place.base = base_of(r->s, r->place.section, index);
	r->place.once = &r->once[r->place.section - adv_scenario_sections][index];
	r->place.said = *r->place.once;
	return true;
}

static bool read_line(struct reader *r, const char *at, size_t len)
{
	const char *comment = memchr(at, '#', len);
	struct text line = trim_text(at, comment ? (size_t)(comment - at) : len);

	if (line.len == 0)
		return true;
	return line.at[0] == '[' ? read_section(r, line) : read_key(r, line);
}

bool adv_scenario_read(struct adv_scenario *s, const char *name, const char *text, size_t len,
		       char why[ADV_SCENARIO_WHY])
{
	struct reader r = {.s = s, .why = why};
	const char *end = text + len;

	adv_scenario_defaults(s);
	snprintf(s->name, sizeof(s->name), "%s", name);
	if (len > ADV_SCENARIO_FILE_MAX)
		return fail_reading(&r, "%s: more than %u bytes", s->name, ADV_SCENARIO_FILE_MAX);
	while (text < end) {
		const char *eol = memchr(text, '\n', (size_t)(end - text));
		size_t n = (size_t)((eol ? eol : end) - text);

		r.line++;
		if (!read_line(&r, text, n))
			return false;
		text = eol ? eol + 1 : end;
	}
	return true;
}

void adv_scenario_free(struct adv_scenario *s)
{
	free(s->node);
	s->node = NULL;
	s->nodes = 0;
	free(s->trace);
	s->trace = NULL;
	s->trace_count = 0;
	free(s->goal.op);
	free(s->goal.edge);
	s->goal = (struct adv_scenario_goal){.ranks = 0};
	for (unsigned i = 0; i < ADV_SCENARIO_LIST_COUNT; i++) {
		free(s->list[i].item);
		free(s->list[i].line);
		s->list[i] = (struct adv_scenario_list){.item = NULL};
	}
}

/* ---- the command line ---- */

bool adv_scenario_set(struct adv_scenario *s, const char *text, char why[ADV_SCENARIO_WHY])
{
	struct reader r = {.s = s, .why = why};
	const char *dot = strchr(text, '.'), *equal = strchr(text, '=');
	const struct adv_scenario_section *section;
	const struct adv_scenario_key *k;
	struct text value;
	uint64_t index, v;

	if (!dot || !equal || dot > equal)
		return fail_reading(&r, "%s: expected section.key=value, such as run.seed=3",
				    show_text(trim_text(text, strlen(text))).text);
	section = find_section(&r, trim_text(text, (size_t)(dot - text)), &index);
	if (!section)
		return false;
	r.place.section = section;
	k = find_key(&r, section, trim_text(dot + 1, (size_t)(equal - dot - 1)));
	value = trim_text(equal + 1, strlen(equal + 1));
	if (!k || !read_value(&r, k, value, &v))
		return false;
	if (section->list < 0) {
		uint8_t *at = (uint8_t *)base_of(s, section, index) + k->offset;

		memcpy(at, &v, sizeof(v));
		s->line[value_at(s, at)] = 0;
		return true;
	}
	if (s->list[section->list].count == 0)
		return fail_reading(&r, "%s: the file has no section [%s]",
				    show_text(trim_text(text, strlen(text))).text, section->name);
	for (uint32_t i = 0; i < s->list[section->list].count; i++)
		memcpy((uint8_t *)s->list[section->list].item + i * section->size + k->offset, &v,
		       sizeof(v));
	return true;
}
