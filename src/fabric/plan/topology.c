/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The text consists of lines of words, separated by blanks. '#' begins a comment. The first word
 * is the kind of the line. A name has to be declared before it is used. */
#include "fabric/plan/topology.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/shown.h"

#define SHOWN	   32	/* characters of the text that a message shows */
#define WORDS_MAX  1024 /* words of a line */
#define TABLE_SIZE (4 * ADV_PLAN_NODES_MAX)

struct word {
	const char *p;
	size_t len;
};

struct parser {
	struct adv_plan_topology *t;
	struct adv_plan_error *error;
	uint32_t line;
	uint32_t first_flow; /* line of the first flow; 0: none */
	unsigned words;
	struct word word[WORDS_MAX];
	uint32_t table[TABLE_SIZE]; /* hash of names: node + 1; 0: empty */
};

__attribute__((format(printf, 2, 3))) static bool fail_line(struct parser *p, const char *format,
							    ...)
{
	va_list args;

	p->error->line = p->line;
	va_start(args, format);
	vsnprintf(p->error->text, sizeof(p->error->text), format, args);
	va_end(args);
	return false;
}

static bool word_is(struct word w, const char *s)
{
	return strlen(s) == w.len && memcmp(w.p, s, w.len) == 0;
}

static bool word_starts(struct word w, const char *s)
{
	return w.len >= strlen(s) && memcmp(w.p, s, strlen(s)) == 0;
}

/* ---- names ---- */

static bool is_name_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '-' || c == '.' || c == '/';
}

static bool check_name(struct parser *p, struct word w)
{
	bool good = w.len > 0 && w.len <= ADV_PLAN_NAME_MAX;

	for (size_t i = 0; i < w.len && good; i++)
		good = is_name_byte(w.p[i]);
	return good || fail_line(p, "'%s' is not a name: 1 to %d letters, digits, or any of _-./",
				 adv_show(w.p, w.len, SHOWN).text, ADV_PLAN_NAME_MAX);
}

/* Returns the slot of the name in the table, or the free slot for it. */
static uint32_t *slot_of(struct parser *p, struct word w)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < w.len; i++)
		hash = (hash ^ (uint8_t)w.p[i]) * 16777619u;
	for (;; hash++) {
		uint32_t *slot = &p->table[hash % TABLE_SIZE];

		if (*slot == 0 || word_is(w, p->t->node[*slot - 1].name))
			return slot;
	}
}

static bool find_node(struct parser *p, struct word w, uint32_t *node)
{
	uint32_t found = *slot_of(p, w);

	if (!found)
		return fail_line(p, "'%s' is not a host or switch of an earlier line",
				 adv_show(w.p, w.len, SHOWN).text);
	*node = found - 1;
	return true;
}

static bool find_host(struct parser *p, struct word w, uint32_t *node)
{
	if (!find_node(p, w, node))
		return false;
	return !p->t->node[*node].is_switch ||
	       fail_line(p, "'%s' is a switch: flows go from host to host",
			 adv_show(w.p, w.len, SHOWN).text);
}

/* Makes room for one more element in an array. Doubles its size if it is full. */
static bool grow_array(struct parser *p, void *array, uint32_t used, uint32_t max, size_t size,
		       const char *what)
{
	if (used >= max)
		return fail_line(p, "more than %u %s", max, what);
	return adv_grow_by_count(array, used, size) || fail_line(p, "out of memory");
}

/* ---- lines ---- */

/* Reads the number of NAME=NUMBER. word_starts() has matched the name. */
static bool read_number(struct parser *p, struct word w, const char *name, uint32_t max,
			uint32_t *value)
{
	uint32_t v = 0;
	size_t i = strlen(name);

	if (i == w.len)
		v = max + 1;
	for (; i < w.len && v <= max; i++)
		v = w.p[i] >= '0' && w.p[i] <= '9' ? v * 10 + (uint32_t)(w.p[i] - '0') : max + 1;
	if (v > max)
		return fail_line(p, "'%s': expected %s and a number from 0 to %u",
				 adv_show(w.p, w.len, SHOWN).text, name, max);
	*value = v;
	return true;
}

static bool add_node(struct parser *p, struct word w, bool is_switch)
{
	struct adv_plan_topology *t = p->t;
	struct adv_plan_node *n;
	uint32_t *slot;

	if (!check_name(p, w))
		return false;
	slot = slot_of(p, w);
	if (*slot)
		return fail_line(p, "'%s' is already defined in line %u",
				 adv_show(w.p, w.len, SHOWN).text, t->node[*slot - 1].line);
	if (!grow_array(p, &t->node, t->nodes, ADV_PLAN_NODES_MAX, sizeof(*n),
			"hosts and switches"))
		return false;
	n = &t->node[t->nodes++];
	memset(n, 0, sizeof(*n));
	memcpy(n->name, w.p, w.len);
	n->is_switch = is_switch;
	n->line = p->line;
	*slot = t->nodes;
	return true;
}

static bool parse_nodes(struct parser *p, bool is_switch)
{
	uint32_t first = p->t->nodes, level = 0;
	bool has_level = p->words > 1 && word_starts(p->word[p->words - 1], "level=");

	if (has_level && !is_switch)
		return fail_line(p, "hosts have no level");
	if (has_level && !read_number(p, p->word[--p->words], "level=", ADV_PLAN_LEVEL_MAX, &level))
		return false;
	if (p->words < 2)
		return fail_line(p, "expected: %s",
				 is_switch ? "switch NAME... [level=N]" : "host NAME...");
	for (unsigned i = 1; i < p->words; i++)
		if (!add_node(p, p->word[i], is_switch))
			return false;
	for (uint32_t i = first; i < p->t->nodes && has_level; i++) {
		p->t->node[i].has_level = true;
		p->t->node[i].level = level;
	}
	return true;
}

/* Parses an end of a link: NAME or NAME:PORT. */
static bool parse_end(struct parser *p, struct word w, struct adv_plan_cable *l, unsigned end)
{
	const char *colon = memchr(w.p, ':', w.len);
	struct word name = {w.p, colon ? (size_t)(colon - w.p) : w.len};
	struct adv_plan_node *n;
	struct word port;

	if (!find_node(p, name, &l->node[end]))
		return false;
	n = &p->t->node[l->node[end]];
	n->ports++;
	if (!colon) {
		snprintf(l->port[end], sizeof(l->port[end]), "p%u", n->ports);
	} else {
		port = (struct word){colon + 1, w.len - name.len - 1};
		if (!check_name(p, port))
			return false;
		memcpy(l->port[end], port.p, port.len);
	}
	for (uint32_t i = 0; i < p->t->links; i++)
		for (unsigned e = 0; e < 2; e++)
			if (p->t->link[i].node[e] == l->node[end] &&
			    strcmp(p->t->link[i].port[e], l->port[end]) == 0)
				return fail_line(p, "port %s of %s already has a link",
						 l->port[end], n->name);
	return true;
}

static bool parse_link(struct parser *p)
{
	struct adv_plan_topology *t = p->t;
	struct adv_plan_cable l = {.down = p->words == 4 && word_is(p->word[3], "down")};

	if (p->words != (l.down ? 4u : 3u))
		return fail_line(p, "expected: link NAME[:PORT] NAME[:PORT] [down]");
	if (!parse_end(p, p->word[1], &l, 0) || !parse_end(p, p->word[2], &l, 1))
		return false;
	if (l.node[0] == l.node[1])
		return fail_line(p, "a link from %s to itself", t->node[l.node[0]].name);
	if (!grow_array(p, &t->link, t->links, ADV_PLAN_LINKS_MAX, sizeof(l), "links"))
		return false;
	t->link[t->links++] = l;
	return true;
}

static bool are_linked(const struct adv_plan_topology *t, uint32_t a, uint32_t b)
{
	for (uint32_t i = 0; i < t->links; i++) {
		const struct adv_plan_cable *l = &t->link[i];

		if (!l->down &&
		    ((l->node[0] == a && l->node[1] == b) || (l->node[0] == b && l->node[1] == a)))
			return true;
	}
	return false;
}

static bool add_hop(struct parser *p, struct word w, bool end)
{
	struct adv_plan_topology *t = p->t;
	struct adv_plan_flow *f = &t->flow[t->flows];
	uint32_t node = 0, before = f->hops ? t->hop[t->hops - 1] : ADV_PLAN_NONE;

	if (end ? !find_host(p, w, &node) : !find_node(p, w, &node))
		return false;
	if (!end && !t->node[node].is_switch)
		return fail_line(p, "'%s' is a host, which does not forward packets",
				 adv_show(w.p, w.len, SHOWN).text);
	if (before != ADV_PLAN_NONE && !are_linked(t, before, node))
		return fail_line(p, "no active link from %s to %s", t->node[before].name,
				 t->node[node].name);
	if (!grow_array(p, &t->hop, t->hops, ADV_PLAN_HOPS_MAX, sizeof(*t->hop), "hops of routes"))
		return false;
	t->hop[t->hops++] = node;
	f->hops++;
	return true;
}

/* Parses "flow HOST HOST" or "route HOST SWITCH... HOST". */
static bool parse_flow(struct parser *p, bool is_route)
{
	struct adv_plan_topology *t = p->t;
	uint32_t priority = ADV_PLAN_PRIORITY;
	struct adv_plan_flow *f;

	if (p->words > 1 && word_starts(p->word[p->words - 1], "priority=") &&
	    !read_number(p, p->word[--p->words], "priority=", 7, &priority))
		return false;
	if (is_route ? p->words < 4 : p->words != 3)
		return fail_line(p, "expected: %s [priority=N]",
				 is_route ? "route HOST SWITCH... HOST" : "flow HOST HOST");
	if (!grow_array(p, &t->flow, t->flows, ADV_PLAN_FLOWS_MAX, sizeof(*f), "flows and routes"))
		return false;
	f = &t->flow[t->flows];
	*f = (struct adv_plan_flow){
		.line = p->line, .first_hop = t->hops, .priority = (uint8_t)priority};
	for (unsigned i = 1; i < p->words && is_route; i++)
		if (!add_hop(p, p->word[i], i == 1 || i == p->words - 1))
			return false;
	if (!find_host(p, p->word[1], &f->src) || !find_host(p, p->word[p->words - 1], &f->dst))
		return false;
	if (f->src == f->dst)
		return fail_line(p, "from %s to itself", t->node[f->src].name);
	if (!is_route && !p->first_flow)
		p->first_flow = p->line;
	t->flows++;
	return true;
}

/* Parses a setting such as "routing = shortest" or "root = NAME". Blanks around '=' are optional.
 */
static bool parse_setting(struct parser *p, const char *name, struct word *value)
{
	const struct word *w = p->word;
	size_t n = strlen(name);

	if (p->words == 3 && word_is(w[1], "="))
		*value = w[2];
	else if (p->words == 2 && w[1].p[0] == '=' && w[0].len == n)
		*value = (struct word){w[1].p + 1, w[1].len - 1};
	else if (p->words == 2 && w[0].len == n + 1)
		*value = w[1];
	else if (p->words == 1 && w[0].len > n)
		*value = (struct word){w[0].p + n + 1, w[0].len - n - 1};
	else
		return fail_line(p, "expected: %s = VALUE", name);
	return true;
}

static bool is_setting(const struct parser *p, const char *name)
{
	struct word w = p->word[0];

	return word_starts(w, name) && (w.len == strlen(name) || w.p[strlen(name)] == '=');
}

static bool parse_routing(struct parser *p)
{
	struct word w;

	if (!parse_setting(p, "routing", &w))
		return false;
	if (p->t->routing != ADV_PLAN_ROUTING_NONE)
		return fail_line(p, "routing is given twice");
	if (word_is(w, "shortest"))
		p->t->routing = ADV_PLAN_SHORTEST;
	else if (word_is(w, "updown"))
		p->t->routing = ADV_PLAN_UPDOWN;
	else
		return fail_line(p, "'%s' is not a routing: expected shortest or updown",
				 adv_show(w.p, w.len, SHOWN).text);
	return true;
}

static bool parse_root(struct parser *p)
{
	struct word w;

	if (!parse_setting(p, "root", &w) || !find_node(p, w, &p->t->root))
		return false;
	return p->t->node[p->t->root].is_switch ||
	       fail_line(p, "'%s' is a host: the root is a switch",
			 adv_show(w.p, w.len, SHOWN).text);
}

static bool parse_words(struct parser *p)
{
	if (p->words == 0)
		return true;
	if (word_is(p->word[0], "host") || word_is(p->word[0], "switch"))
		return parse_nodes(p, word_is(p->word[0], "switch"));
	if (word_is(p->word[0], "link"))
		return parse_link(p);
	if (word_is(p->word[0], "flow") || word_is(p->word[0], "route"))
		return parse_flow(p, word_is(p->word[0], "route"));
	if (is_setting(p, "routing"))
		return parse_routing(p);
	if (is_setting(p, "root"))
		return parse_root(p);
	return fail_line(
		p,
		"'%s' is not a keyword: expected host, switch, link, flow, route, routing or root",
		adv_show(p->word[0].p, p->word[0].len, SHOWN).text);
}

static bool split_line(struct parser *p, const char *s, size_t len)
{
	size_t i = 0;

	p->words = 0;
	while (i < len && s[i] != '#') {
		size_t begin = i;

		if (s[i] == ' ' || s[i] == '\t' || s[i] == '\r') {
			i++;
			continue;
		}
		while (i < len && s[i] != ' ' && s[i] != '\t' && s[i] != '\r' && s[i] != '#')
			i++;
		if (p->words == WORDS_MAX)
			return fail_line(p, "more than %d words in a line", WORDS_MAX);
		p->word[p->words++] = (struct word){s + begin, i - begin};
	}
	return true;
}

/* Checks that are possible only after the whole text was read. */
static bool check_whole(struct parser *p)
{
	struct adv_plan_topology *t = p->t;
	bool levels = false, none = false;

	for (uint32_t i = 0; i < t->nodes; i++) {
		levels |= t->node[i].is_switch && t->node[i].has_level;
		none |= t->node[i].is_switch && !t->node[i].has_level;
	}
	for (uint32_t i = 0; i < t->nodes && levels && none; i++) {
		p->line = t->node[i].line;
		if (t->node[i].is_switch && !t->node[i].has_level)
			return fail_line(p, "switch %s has no level, and others have",
					 t->node[i].name);
	}
	p->line = p->first_flow;
	if (t->routing == ADV_PLAN_ROUTING_NONE && p->first_flow)
		return fail_line(p,
				 "a flow without a route needs 'routing = shortest' or 'updown'");
	p->line = 0;
	if (t->routing == ADV_PLAN_ROUTING_NONE && t->flows == 0)
		return fail_line(p, "the text has no routes: expected 'routing = shortest' or "
				    "'updown', or routes");
	t->all_pairs = t->routing != ADV_PLAN_ROUTING_NONE && !p->first_flow;
	return true;
}

static bool parse_text(struct parser *p, const char *text, size_t len)
{
	if (len > ADV_PLAN_TEXT_MAX)
		return fail_line(p, "the text is longer than %d bytes", ADV_PLAN_TEXT_MAX);
	for (size_t i = 0; i < len;) {
		const char *end = memchr(text + i, '\n', len - i);
		size_t n = end ? (size_t)(end - text) - i : len - i;

		p->line++;
		if (!split_line(p, text + i, n) || !parse_words(p))
			return false;
		i += n + 1;
	}
	return check_whole(p);
}

struct adv_plan_topology *adv_plan_topology_parse(const char *text, size_t len,
						  struct adv_plan_error *error)
{
	struct parser *p = calloc(1, sizeof(*p));
	struct adv_plan_topology *t = calloc(1, sizeof(*t));

	*error = (struct adv_plan_error){0, "out of memory"};
	if (t)
		t->root = ADV_PLAN_NONE;
	if (p && t) {
		p->t = t;
		p->error = error;
	}
	if (!p || !t || !parse_text(p, text, len)) {
		adv_plan_topology_free(t);
		t = NULL;
	}
	free(p);
	return t;
}

void adv_plan_topology_free(struct adv_plan_topology *t)
{
	if (!t)
		return;
	free(t->node);
	free(t->link);
	free(t->flow);
	free(t->hop);
	free(t);
}
