/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Parses traces of transfers, and adds them to a simulation. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/shown.h"
#include "fabric/scenario_builder.h"

#define LINE_MAX_LEN 512u
#define COLUMNS	     32
#define DSCP	     26
#define TRACE_MAX    1000000u

enum format { FORMAT_CSV, FORMAT_HPCC, FORMAT_HTSIM };

/* The columns of a CSV file that are read; -1: the file has none. */
enum column { FROM, TO, BYTES, START, PRIORITY, NAMED };
static const char *const names[NAMED] = {"from", "to", "bytes", "start_ps", "dscp"};

struct parser {
	struct adv_scenario *s;
	const char *name;
	uint64_t line;
	enum format format;
	int column[NAMED];
	char *why;
};

static bool fail(const struct parser *p, const char *text, const char *expected)
{
	snprintf(p->why, ADV_SCENARIO_WHY, "%s:%" PRIu64 ": '%s': expected %s", p->name, p->line,
		 adv_show(text, strlen(text), ADV_SHOWN_MOST).text, expected);
	return false;
}

static bool read_number(const char *text, uint64_t most, uint64_t *value)
{
	char why[ADV_UNITS_WHY];

	return adv_units_parse(ADV_UNIT_COUNT, text, strlen(text), value, why) && *value <= most;
}

/* Reads seconds with decimals, as ps. */
static bool read_seconds(const char *text, uint64_t *ps)
{
	char with_unit[40], why[ADV_UNITS_WHY];
	int n = snprintf(with_unit, sizeof(with_unit), "%ss", text);

	return n < (int)sizeof(with_unit) &&
	       adv_units_parse(ADV_UNIT_TIME, with_unit, (size_t)n, ps, why);
}

static bool add_transfer(struct parser *p, const struct adv_scenario_transfer *t)
{
	struct adv_scenario *s = p->s;
	uint32_t n = s->trace_count;

	if (n == TRACE_MAX) {
		snprintf(p->why, ADV_SCENARIO_WHY, "%s:%" PRIu64 ": more than %u transfers",
			 p->name, p->line, TRACE_MAX);
		return false;
	}
	/* If the count is a power of two, the array is full and its size doubles. */
	if ((n & (n - 1)) == 0) {
		void *trace = realloc(s->trace, (n ? 2 * (size_t)n : 1) * sizeof(*s->trace));

		if (!trace) {
			snprintf(p->why, ADV_SCENARIO_WHY, "%s: no memory", p->name);
			return false;
		}
		s->trace = trace;
	}
	s->trace[s->trace_count++] = *t;
	return true;
}

/* ---- CSV ---- */

/* Splits a line at commas. Returns the number of fields. */
static unsigned split(char *line, char *field[COLUMNS])
{
	unsigned n = 0;

	for (; line && n < COLUMNS; n++) {
		field[n] = line;
		line = strchr(line, ',');
		if (line)
			*line++ = '\0';
	}
	return n;
}

static bool read_head(struct parser *p, const char *line)
{
	char copy[LINE_MAX_LEN], *field[COLUMNS];
	unsigned n;

	snprintf(copy, sizeof(copy), "%s", line);
	n = split(copy, field);
	for (unsigned c = 0; c < NAMED; c++) {
		p->column[c] = -1;
		for (unsigned i = 0; i < n; i++)
			if (strcmp(field[i], names[c]) == 0)
				p->column[c] = (int)i;
		if (p->column[c] < 0 && c != PRIORITY)
			return fail(p, line, "the columns from, to, bytes and start_ps");
	}
	return true;
}

static bool read_row(struct parser *p, char *line)
{
	static const uint64_t most[NAMED] = {1 << 24, 1 << 24, ADV_QUANTITY_MAX, ADV_QUANTITY_MAX,
					     63};
	uint64_t value[NAMED] = {[PRIORITY] = DSCP};
	char copy[LINE_MAX_LEN], *field[COLUMNS];
	unsigned n;

	snprintf(copy, sizeof(copy), "%s", line);
	n = split(copy, field);
	for (unsigned c = 0; c < NAMED; c++)
		if (p->column[c] >= 0 && ((unsigned)p->column[c] >= n ||
					  !read_number(field[p->column[c]], most[c], &value[c])))
			return fail(p, line, "numbers in the columns from, to, bytes and start_ps");
	return add_transfer(p, &(struct adv_scenario_transfer){.from = (uint32_t)value[FROM],
							       .to = (uint32_t)value[TO],
							       .dscp = (uint8_t)value[PRIORITY],
							       .bytes = value[BYTES],
							       .start = value[START],
							       .line = p->line});
}

/* ---- other simulators ---- */

/* Returns the host with this number in the imported topology, or without one, of this number. */
static bool host_of(const struct adv_scenario *s, uint64_t node, uint32_t *host)
{
	if (s->node && (node >= s->nodes || s->node[node] >= ADV_SCENARIO_SWITCH))
		return false;
	*host = (uint32_t)(s->node ? s->node[node] : node);
	return true;
}

/* "source destination priority port bytes seconds", of ns-3 HPCC's flow.txt. */
static bool read_hpcc(struct parser *p, const char *line)
{
	struct adv_scenario_transfer t = {.line = p->line};
	char from[12], to[12], group[4], bytes[20], start[32];
	uint64_t f, d, g;

	if (sscanf(line, "%11s %11s %3s %*s %19s %31s", from, to, group, bytes, start) != 5 ||
	    !read_number(from, 1 << 24, &f) || !read_number(to, 1 << 24, &d) ||
	    !read_number(group, 7, &g) || !read_number(bytes, ADV_QUANTITY_MAX, &t.bytes) ||
	    !read_seconds(start, &t.start))
		return fail(p, line, "source, destination, priority, port, bytes and seconds");
	if (!host_of(p->s, f, &t.from) || !host_of(p->s, d, &t.to))
		return fail(p, line, "source and destination that are hosts of the topology");
	t.dscp = (uint8_t)(g << 3);
	return add_transfer(p, &t);
}

/* Returns the number behind a word such as "size". */
static bool number_after(const char *line, const char *word, uint64_t *value)
{
	const char *at = strstr(line, word);
	char number[24];

	return at && sscanf(at + strlen(word), " %23s", number) == 1 &&
	       read_number(number, ADV_QUANTITY_MAX, value);
}

/* "1->2 id 7 start 0 size 100000", of htsim's connection matrices; times are ps. */
static bool read_htsim(struct parser *p, const char *line)
{
	struct adv_scenario_transfer t = {.dscp = DSCP, .line = p->line};
	unsigned from, to;

	if (strncmp(line, "Connections ", 12) == 0)
		return true;
	if (sscanf(line, "%8u->%8u", &from, &to) != 2 || !number_after(line, " size", &t.bytes))
		return fail(p, line, "a connection such as 1->2 id 7 start 0 size 100000");
	if (strstr(line, "trigger"))
		return fail(p, line, "a connection without triggers");
	if (strstr(line, " start") && !number_after(line, " start", &t.start))
		return fail(p, line, "start in picoseconds");
	t.from = from;
	t.to = to;
	return add_transfer(p, &t);
}

/* ---- lines ---- */

/* The first line tells the format. */
static bool read_first(struct parser *p, const char *line)
{
	uint64_t count;

	if (strncmp(line, "Nodes ", 6) == 0) {
		p->format = FORMAT_HTSIM;
		return true;
	}
	if (read_number(line, ADV_QUANTITY_MAX, &count)) {
		p->format = FORMAT_HPCC;
		return true;
	}
	p->format = FORMAT_CSV;
	return read_head(p, line);
}

static bool read_line(struct parser *p, const char *at, size_t len, bool *first)
{
	char line[LINE_MAX_LEN];

	while (len && strchr(" \t\r", at[len - 1]))
		len--;
	if (len == 0 || at[0] == '#')
		return true;
	if (len >= sizeof(line) || memchr(at, '\0', len))
		return fail(p, "a line", "at most 511 characters of text");
	memcpy(line, at, len);
	line[len] = '\0';
	if (*first) {
		*first = false;
		return read_first(p, line);
	}
	switch (p->format) {
	case FORMAT_CSV:
		return read_row(p, line);
	case FORMAT_HPCC:
		return read_hpcc(p, line);
	case FORMAT_HTSIM:
		break;
	}
	return read_htsim(p, line);
}

/* True if the first line that is not empty or a comment begins with "num_ranks". */
static bool is_goal(const char *text, size_t len)
{
	static const char word[] = "num_ranks";
	const char *end = text + len;

	while (text < end) {
		const char *eol;

		if (*text != '#' && *text != '/' && !strchr(" \t\r\n", *text))
			return (size_t)(end - text) > sizeof(word) &&
			       memcmp(text, word, sizeof(word) - 1) == 0;
		eol = memchr(text, '\n', (size_t)(end - text));
		text = eol ? eol + 1 : end;
	}
	return false;
}

bool adv_scenario_trace(struct adv_scenario *s, const char *name, const char *text, size_t len,
			char why[ADV_SCENARIO_WHY])
{
	struct parser p = {.s = s, .name = name, .why = why};
	const char *end = text + len;
	bool first = true;

	snprintf(s->trace_name, sizeof(s->trace_name), "%s", name);
	if (is_goal(text, len))
		return adv_scenario_goal(s, name, text, len, why);
	while (text < end) {
		const char *eol = memchr(text, '\n', (size_t)(end - text));

		p.line++;
		if (!read_line(&p, text, (size_t)((eol ? eol : end) - text), &first))
			return false;
		text = eol ? eol + 1 : end;
	}
	if (s->trace_count)
		return true;
	snprintf(why, ADV_SCENARIO_WHY, "%s: no transfer", name);
	return false;
}

/* ---- transfers ---- */

static bool fail_transfer(struct adv_scenario_builder *b, const struct adv_scenario_transfer *t,
			  const char *reason)
{
	snprintf(b->why, ADV_SCENARIO_WHY,
		 "%s:%" PRIu64 ": from = %u, to = %u, bytes = %" PRIu64 ": %s", b->s->trace_name,
		 t->line, t->from, t->to, t->bytes, reason);
	return false;
}

static bool replay(struct adv_scenario_builder *b, struct adv_scenario_flow *flow,
		   const struct adv_scenario_transfer *t)
{
	int64_t c;

	if (t->from >= b->t->hosts || t->to >= b->t->hosts)
		return fail_transfer(b, t, "a host does not exist");
	if (t->from == t->to)
		return fail_transfer(b, t, "a host does not send to itself");
	if (t->bytes == 0)
		return fail_transfer(b, t, "nothing is sent");
	flow->dscp = t->dscp;
	c = adv_scenario_connect(b, flow, 0, t->from, t->to);
	return c >= 0 &&
	       adv_scenario_note(b, flow, 0,
				 adv_fabric_transfer(b->f, (uint32_t)c, t->bytes, t->start));
}

bool adv_scenario_build_trace(struct adv_scenario_builder *b, struct adv_scenario_flow *flow)
{
	const struct adv_scenario *s = b->s;

	if (s->goal.ops)
		return adv_scenario_build_goal(b, flow);
	flow->jobs = flow->transfers = 0;
	if (!adv_scenario_afford_flow(b, flow, 0, s->trace_count, s->trace_count))
		return false;
	for (uint32_t i = 0; i < s->trace_count; i++)
		if (!replay(b, flow, &s->trace[i]))
			return false;
	flow->dscp = DSCP;
	return true;
}
