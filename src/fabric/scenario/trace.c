/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Parses traces of transfers, and adds them to a simulation. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/shown.h"
#include "fabric/scenario/builder.h"

#define LINE_MAX_LEN 512u
#define COLUMNS	     32
#define DSCP	     26
#define TRACE_MAX    1000000u
#define HTSIM_LINE   "a connection such as 1->2 id 7 start 0 size 100000"

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
	uint64_t promised; /* transfers that the head of the file announces */
	uint64_t promise;  /* line of the head; 0: none */
	uint64_t nodes;	   /* of htsim's head: hosts are below it */
	char *why;
};

static bool fail_text(const struct parser *p, const char *text, const char *expected)
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
	if (!adv_grow_by_count(&s->trace, n, sizeof(*t))) {
		snprintf(p->why, ADV_SCENARIO_WHY, "%s: no memory", p->name);
		return false;
	}
	s->trace[s->trace_count++] = *t;
	return true;
}

/* ---- CSV ---- */

static void cut_blanks(char *text)
{
	size_t len = strlen(text);

	while (len && strchr(" \t", text[len - 1]))
		text[--len] = '\0';
}

/* Splits a line at commas, without the blanks around them. Returns the number of fields. */
static unsigned split_line(char *line, char *field[COLUMNS])
{
	unsigned n = 0;

	for (; line && n < COLUMNS; n++) {
		field[n] = line + strspn(line, " \t");
		line = strchr(line, ',');
		if (line)
			*line++ = '\0';
		cut_blanks(field[n]);
	}
	return n;
}

static bool fail_column(const struct parser *p, enum column c, const char *text, uint64_t most)
{
	if (!text)
		snprintf(p->why, ADV_SCENARIO_WHY, "%s:%" PRIu64 ": the line has no %s", p->name,
			 p->line, names[c]);
	else
		snprintf(p->why, ADV_SCENARIO_WHY,
			 "%s:%" PRIu64 ": %s = '%s': expected a whole number up to %" PRIu64,
			 p->name, p->line, names[c],
			 adv_show(text, strlen(text), ADV_SHOWN_MOST).text, most);
	return false;
}

static bool read_head(struct parser *p, const char *line)
{
	char copy[LINE_MAX_LEN], *field[COLUMNS];
	unsigned n;

	snprintf(copy, sizeof(copy), "%s", line);
	n = split_line(copy, field);
	for (unsigned c = 0; c < NAMED; c++) {
		p->column[c] = -1;
		for (unsigned i = 0; i < n; i++) {
			if (strcmp(field[i], names[c]) != 0)
				continue;
			if (p->column[c] >= 0)
				return fail_text(p, field[i], "each column once");
			p->column[c] = (int)i;
		}
		if (p->column[c] < 0 && c != PRIORITY)
			return fail_text(p, line, "the columns from, to, bytes and start_ps");
	}
	return true;
}

static bool read_row(struct parser *p, char *line)
{
	static const uint64_t most[NAMED] = {1 << 24, 1 << 24, ADV_QUANTITY_MAX - 1,
					     ADV_QUANTITY_MAX - 1, 63};
	uint64_t value[NAMED] = {[PRIORITY] = DSCP};
	char copy[LINE_MAX_LEN], *field[COLUMNS];
	unsigned n;

	snprintf(copy, sizeof(copy), "%s", line);
	n = split_line(copy, field);
	for (unsigned c = 0; c < NAMED; c++) {
		int at = p->column[c];
		const char *text = at >= 0 && at < (int)n ? field[at] : NULL;

		if (at >= 0 && (!text || !read_number(text, most[c], &value[c])))
			return fail_column(p, c, text, most[c]);
	}
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
		return fail_text(p, line, "source, destination, priority, port, bytes and seconds");
	if (!host_of(p->s, f, &t.from) || !host_of(p->s, d, &t.to))
		return fail_text(p, line, "source and destination that are hosts of the topology");
	t.dscp = (uint8_t)(g << 3);
	return add_transfer(p, &t);
}

/* Reads a line "word number" of the head of a connection matrix. */
static bool read_htsim_head(struct parser *p, const char *line)
{
	char word[16], number[24];
	uint64_t n;

	if (sscanf(line, "%15s %23s", word, number) != 2 ||
	    !read_number(number, ADV_QUANTITY_MAX, &n))
		return fail_text(p, line, "a number");
	if (strcmp(word, "Connections") == 0) {
		p->promised = n;
		p->promise = p->line;
		return true;
	}
	return n == 0 || fail_text(p, line, "a connection matrix without triggers and failures");
}

/* Reads the words behind "1->2". */
static bool read_htsim_words(struct parser *p, const char *line, const char *at,
			     struct adv_scenario_transfer *t)
{
	bool start = false, size = false;
	char word[24], number[24];
	int n;

	for (; sscanf(at, " %23s %23s%n", word, number, &n) == 2; at += n) {
		uint64_t value, *to = &value;

		if (strstr(word, "trigger"))
			return fail_text(p, line, "a connection without triggers");
		if (strcmp(word, "start") == 0) {
			to = &t->start;
			start = true;
		} else if (strcmp(word, "size") == 0) {
			to = &t->bytes;
			size = true;
		} else if (strcmp(word, "id") != 0) {
			return fail_text(p, word, "id, start or size");
		}
		if (!read_number(number, ADV_QUANTITY_MAX, to))
			return fail_text(p, line,
					 to == &t->start ? "start in picoseconds" : HTSIM_LINE);
	}
	if (!start || !size || at[strspn(at, " \t")])
		return fail_text(p, line, HTSIM_LINE);
	if (t->bytes == 0)
		t->bytes = UINT64_MAX; /* endless, there and in the simulation here */
	return true;
}

/* "1->2 id 7 start 0 size 100000", of htsim's connection matrices; times are ps. */
static bool read_htsim(struct parser *p, const char *line)
{
	struct adv_scenario_transfer t = {.dscp = DSCP, .line = p->line};
	char from[9], to[9];
	uint64_t f, d;
	int n;

	if (strncmp(line, "Connections ", 12) == 0 || strncmp(line, "Triggers ", 9) == 0 ||
	    strncmp(line, "Failures ", 9) == 0)
		return read_htsim_head(p, line);
	if (sscanf(line, "%8[0-9]->%8[0-9]%n", from, to, &n) != 2)
		return fail_text(p, line, HTSIM_LINE);
	if (!read_number(from, p->nodes - 1, &f) || !read_number(to, p->nodes - 1, &d))
		return fail_text(p, line, "hosts below the number of Nodes");
	t.from = (uint32_t)f;
	t.to = (uint32_t)d;
	return read_htsim_words(p, line, line + n, &t) && add_transfer(p, &t);
}

/* ---- lines ---- */

/* The first line tells the format. */
static bool read_first(struct parser *p, const char *line)
{
	if (strncmp(line, "Nodes ", 6) == 0) {
		p->format = FORMAT_HTSIM;
		return (read_number(line + 6, 1 << 24, &p->nodes) && p->nodes > 0) ||
		       fail_text(p, line, "a number of nodes");
	}
	if (read_number(line, ADV_QUANTITY_MAX, &p->promised)) {
		p->format = FORMAT_HPCC;
		p->promise = p->line;
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
	if (len >= sizeof(line) || memchr(at, '\0', len)) {
		snprintf(p->why, ADV_SCENARIO_WHY,
			 "%s:%" PRIu64 ": '%s': expected a line of text of at most 511 characters",
			 p->name, p->line, adv_show(at, len, ADV_SHOWN_MOST).text);
		return false;
	}
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

/* True if a flow.txt has had as many flows as its head says. ns-3 HPCC does not read the rest,
 * which in its own example is a description of the format. */
static bool is_complete(const struct parser *p)
{
	return p->format == FORMAT_HPCC && p->promise && p->s->trace_count == p->promised;
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
	while (text < end && !is_complete(&p)) {
		const char *eol = memchr(text, '\n', (size_t)(end - text));

		p.line++;
		if (!read_line(&p, text, (size_t)((eol ? eol : end) - text), &first))
			return false;
		text = eol ? eol + 1 : end;
	}
	if (s->trace_count == 0) {
		snprintf(why, ADV_SCENARIO_WHY, "%s: no transfer", name);
		return false;
	}
	if (p.promise && p.promised != s->trace_count) {
		snprintf(why, ADV_SCENARIO_WHY,
			 "%s:%" PRIu64 ": the count is %" PRIu64 ", and %u transfers follow", name,
			 p.promise, p.promised, s->trace_count);
		return false;
	}
	return true;
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

static bool replay_transfer(struct adv_scenario_builder *b, struct adv_scenario_flow *flow,
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

/* Checks that a transfer begins within the run. */
static bool check_starts(struct adv_scenario_builder *b)
{
	uint64_t first = UINT64_MAX, duration = b->s->run.duration;
	char start[ADV_UNITS_TEXT], end[ADV_UNITS_TEXT];

	for (uint32_t i = 0; i < b->s->trace_count; i++)
		if (b->s->trace[i].start < first)
			first = b->s->trace[i].start;
	if (first <= duration)
		return true;
	snprintf(b->why, ADV_SCENARIO_WHY,
		 "%s: the first transfer starts at %s, after the end of the run: [run] duration = "
		 "%s",
		 b->s->trace_name, adv_units_print(ADV_UNIT_TIME, first, start),
		 adv_units_print(ADV_UNIT_TIME, duration, end));
	return false;
}

bool adv_scenario_build_trace(struct adv_scenario_builder *b, struct adv_scenario_flow *flow)
{
	const struct adv_scenario *s = b->s;

	if (s->goal.ops)
		return adv_scenario_build_goal(b, flow);
	flow->jobs = flow->transfers = 0;
	if (!check_starts(b) ||
	    !adv_scenario_afford_flow(b, flow, 0, s->trace_count, s->trace_count))
		return false;
	for (uint32_t i = 0; i < s->trace_count; i++)
		if (!replay_transfer(b, flow, &s->trace[i]))
			return false;
	flow->dscp = DSCP;
	return true;
}
