/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Graphs of operations in the text format GOAL of LogGOPSim (Hoefler, Siebert and Lumsdaine, Group
 * Operation Assembly Language, ICPP 2009): sends, receives and computations of ranks, which start
 * when those that they require have ended. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/shown.h"
#include "fabric/scenario/builder.h"

#define LINE_MOST  512u
#define LABEL_MOST 32
#define OPS_MOST   4000000u
#define EDGES_MOST 16000000u
#define NONE	   UINT32_MAX
#define DSCP	   26
/* Operations of a cycle that a message names, and the room for their lines. */
#define CYCLE_MOST 8
#define CYCLE_TEXT 240

/* ---- reading ---- */

/* A label of the rank that is being read. */
struct label {
	char name[LABEL_MOST];
	uint32_t op;
};

struct parser {
	struct adv_scenario_goal *g;
	const char *name;
	uint64_t line;
	uint32_t rank;	     /* NONE: outside of a rank */
	struct label *label; /* hash table of the rank; op NONE: free */
	uint32_t labels;
	uint32_t label_room; /* power of two, or 0 */
	char *why;
};

static bool fail_text(const struct parser *p, const char *text, const char *expected)
{
	snprintf(p->why, ADV_SCENARIO_WHY, "%s:%" PRIu64 ": '%s': expected %s", p->name, p->line,
		 adv_show(text, strlen(text), ADV_SHOWN_MOST).text, expected);
	return false;
}

/* Returns the place of a label, which is free if it is new. The table has a free place. */
static struct label *find_label(const struct parser *p, const char *name)
{
	uint32_t hash = 2166136261u;

	for (const char *c = name; *c; c++)
		hash = (hash ^ (uint8_t)*c) * 16777619u;
	for (uint32_t i = hash;; i++) {
		struct label *l = &p->label[i & (p->label_room - 1)];

		if (l->op == NONE || strcmp(l->name, name) == 0)
			return l;
	}
}

static bool grow_labels(struct parser *p)
{
	struct parser wider = *p;

	if (p->label_room && p->labels < p->label_room / 2)
		return true;
	wider.label_room = p->label_room ? 2 * p->label_room : 64;
	wider.label = malloc(wider.label_room * sizeof(*wider.label));
	if (!wider.label)
		return false;
	for (uint32_t i = 0; i < wider.label_room; i++)
		wider.label[i].op = NONE;
	for (uint32_t i = 0; i < p->label_room; i++)
		if (p->label[i].op != NONE)
			*find_label(&wider, p->label[i].name) = p->label[i];
	free(p->label);
	*p = wider;
	return true;
}

static void forget_labels(struct parser *p)
{
	free(p->label);
	p->label = NULL;
	p->labels = p->label_room = 0;
}

static bool no_memory(const struct parser *p)
{
	snprintf(p->why, ADV_SCENARIO_WHY, "%s: no memory", p->name);
	return false;
}

static bool add_label(struct parser *p, const char *name, const char *line)
{
	struct label *l;

	if (!grow_labels(p))
		return no_memory(p);
	l = find_label(p, name);
	if (l->op != NONE)
		return fail_text(p, line, "a label that the rank does not have yet");
	snprintf(l->name, sizeof(l->name), "%s", name);
	l->op = p->g->ops - 1;
	p->labels++;
	return true;
}

/* Lets operation `after` wait for the end, or the start, of operation `before`. */
static bool add_edge(struct parser *p, uint32_t after, uint32_t before, bool of_start)
{
	struct adv_scenario_goal *g = p->g;

	if (g->edges == EDGES_MOST)
		return fail_text(p, "", "fewer dependencies");
	if (!adv_grow_by_count(&g->edge, g->edges, sizeof(*g->edge)))
		return no_memory(p);
	g->edge[g->edges] = (struct adv_scenario_goal_edge){before, g->op[after].edges, of_start};
	g->op[after].edges = g->edges++;
	return true;
}

/* "l2 requires l1" or "l2 irequires l1". */
static bool read_edge(struct parser *p, const char *line, const char *after, const char *how,
		      const char *before)
{
	const struct label *a = p->labels ? find_label(p, after) : NULL;
	const struct label *b = p->labels ? find_label(p, before) : NULL;
	bool start = strcmp(how, "irequires") == 0;

	if (!start && strcmp(how, "requires") != 0)
		return fail_text(p, line, "an operation, or `requires` or `irequires`");
	if (!a || !b || a->op == NONE || b->op == NONE)
		return fail_text(p, line, "labels of operations above it");
	return add_edge(p, a->op, b->op, start);
}

static bool read_number(const char *text, const char *unit, uint64_t most, uint64_t *value)
{
	char *end;

	if (text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	*value = strtoull(text, &end, 10);
	return !errno && *value <= most && strcmp(end, unit) == 0;
}

/* Reads the words behind an operation: "tag 2" (unless tag is NULL), "cpu 0", "nic 0". False: there
 * are others. */
static bool read_options(const char *at, uint64_t *tag)
{
	char word[8], number[24];
	uint64_t value;
	int n;

	for (; sscanf(at, "%7s %23s%n", word, number, &n) == 2; at += n) {
		bool is_tag = tag && strcmp(word, "tag") == 0;

		if ((!is_tag && strcmp(word, "cpu") != 0 && strcmp(word, "nic") != 0) ||
		    !read_number(number, "", UINT32_MAX, &value))
			return false;
		if (is_tag)
			*tag = value;
	}
	return at[strspn(at, " \t")] == '\0';
}

/* "send 10b to 1 tag 2", "recv 10b from 0 tag 2", "calc 100". */
static bool read_operation(struct parser *p, const char *line, const char *text)
{
	static const char expected[] = "send BYTESb to RANK [tag N], recv BYTESb from RANK [tag "
				       "N], or calc NANOSECONDS, [cpu N] [nic N]";
	struct adv_scenario_goal_op op = {.rank = p->rank, .edges = NONE, .line = p->line};
	char verb[8] = "", amount[24], way[8], peer[12];
	struct adv_scenario_goal *g = p->g;
	uint64_t number = 0, tag = 0;
	int at = 0, more = 0;

	if (sscanf(text, "%7s %23s%n", verb, amount, &at) != 2)
		return fail_text(p, line, expected);
	if (strcmp(verb, "calc") == 0) {
		op.kind = ADV_GOAL_CALC;
		if (!read_number(amount, "", UINT64_C(1000000000000000), &op.amount) ||
		    !read_options(text + at, NULL))
			return fail_text(p, line, expected);
	} else {
		bool send = strcmp(verb, "send") == 0;

		if ((!send && strcmp(verb, "recv") != 0) ||
		    sscanf(text + at, "%7s %11s%n", way, peer, &more) != 2 ||
		    strcmp(way, send ? "to" : "from") != 0 ||
		    !read_number(amount, "b", ADV_QUANTITY_MAX, &op.amount) ||
		    !read_number(peer, "", g->ranks - 1, &number) ||
		    !read_options(text + at + more, &tag))
			return fail_text(p, line, expected);
		op.kind = send ? ADV_GOAL_SEND : ADV_GOAL_RECV;
		op.peer = (uint32_t)number;
		op.tag = (uint32_t)tag;
		if (op.peer == p->rank)
			return fail_text(p, line, "another rank: a host does not send to itself");
	}
	if (g->ops == OPS_MOST)
		return fail_text(p, line, "at most 4,000,000 operations");
	if (!adv_grow_by_count(&g->op, g->ops, sizeof(*g->op)))
		return no_memory(p);
	g->op[g->ops++] = op;
	return true;
}

static bool read_in_rank(struct parser *p, const char *line)
{
	char first[LABEL_MOST], second[12], third[LABEL_MOST], more[2];
	const char *colon = strchr(line, ':');
	size_t length;

	if (strcmp(line, "}") == 0) {
		p->rank = NONE;
		forget_labels(p);
		return true;
	}
	if (colon) {
		length = (size_t)(colon - line);
		if (length == 0 || length >= sizeof(first))
			return fail_text(p, line, "a label of at most 31 characters");
		memcpy(first, line, length);
		first[length] = '\0';
		return read_operation(p, line, colon + 1) && add_label(p, first, line);
	}
	if (strncmp(line, "send ", 5) == 0 || strncmp(line, "recv ", 5) == 0 ||
	    strncmp(line, "calc ", 5) == 0)
		return read_operation(p, line, line);
	if (sscanf(line, "%31s %11s %31s %1s", first, second, third, more) != 3)
		return fail_text(
			p, line,
			"an operation, or one label, `requires` or `irequires`, and one label");
	return read_edge(p, line, first, second, third);
}

static bool read_outside(struct parser *p, const char *line)
{
	char number[12], brace[2];
	uint64_t rank;

	if (p->g->ranks == 0) {
		if (sscanf(line, "num_ranks %11s", number) != 1 ||
		    !read_number(number, "", 1 << 16, &rank) || rank == 0)
			return fail_text(p, line, "num_ranks, from 1 to 65536");
		p->g->ranks = (uint32_t)rank;
		return true;
	}
	if (sscanf(line, "rank %11s %1s", number, brace) != 2 || brace[0] != '{' ||
	    !read_number(number, "", p->g->ranks - 1, &rank))
		return fail_text(p, line, "rank N {, with N below num_ranks");
	p->rank = (uint32_t)rank;
	return true;
}

static bool read_line(struct parser *p, const char *at, size_t len)
{
	char line[LINE_MOST];

	while (len && strchr(" \t\r", at[len - 1]))
		len--;
	for (; len && strchr(" \t", *at); len--)
		at++;
	if (len == 0 || at[0] == '#' || (len > 1 && at[0] == '/' && at[1] == '/'))
		return true;
	if (len >= sizeof(line) || memchr(at, '\0', len)) {
		snprintf(p->why, ADV_SCENARIO_WHY,
			 "%s:%" PRIu64 ": '%s': expected a line of text of at most 511 characters",
			 p->name, p->line, adv_show(at, len, ADV_SHOWN_MOST).text);
		return false;
	}
	memcpy(line, at, len);
	line[len] = '\0';
	return p->rank == NONE ? read_outside(p, line) : read_in_rank(p, line);
}

bool adv_scenario_goal(struct adv_scenario *s, const char *name, const char *text, size_t len,
		       char *why)
{
	struct parser p = {.g = &s->goal, .name = name, .rank = NONE, .why = why};
	const char *end = text + len;
	bool good = true;

	while (good && text < end) {
		const char *eol = memchr(text, '\n', (size_t)(end - text));

		p.line++;
		good = read_line(&p, text, (size_t)((eol ? eol : end) - text));
		text = eol ? eol + 1 : end;
	}
	forget_labels(&p);
	if (good && p.rank != NONE)
		return fail_text(&p, "the end of the file", "} at the end of the rank");
	if (good && s->goal.ops == 0) {
		snprintf(why, ADV_SCENARIO_WHY, "%s: no operation", name);
		return false;
	}
	return good;
}

/* ---- building ---- */

struct graph {
	struct adv_scenario_builder *b;
	struct adv_scenario_flow *flow;
	const struct adv_scenario_goal *g;
	uint32_t *job;	   /* by operation: whose end is its end */
	uint32_t *started; /* by operation: job whose end is its start; NONE: nobody waits for it */
	uint32_t *match;   /* by receive: the send */
	uint32_t *waits;   /* by operation: operations that are not built and that it waits for */
	uint32_t *order;   /* operations, in the order of dependencies */
	uint32_t *first;   /* by operation: index in `after` */
	uint32_t *after;   /* operations that wait for it */
	uint32_t *need;	   /* jobs that one operation waits for */
};

static bool fail_op(const struct graph *x, uint32_t op, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static bool fail_op(const struct graph *x, uint32_t op, const char *format, ...)
{
	int n = snprintf(x->b->why, ADV_SCENARIO_WHY, "%s:%" PRIu64 ": ", x->b->s->trace_name,
			 x->g->op[op].line);
	va_list args;

	va_start(args, format);
	vsnprintf(x->b->why + n, (size_t)(ADV_SCENARIO_WHY - n), format, args);
	va_end(args);
	return false;
}

/* The ends of a message. */
struct ends {
	uint32_t from;
	uint32_t to;
	uint32_t tag;
};

static struct ends ends_of(const struct adv_scenario_goal_op *op)
{
	bool send = op->kind == ADV_GOAL_SEND;

	return (struct ends){send ? op->rank : op->peer, send ? op->peer : op->rank, op->tag};
}

/* Orders sends and receives by their ends and tag, then sends first, then as in the file. */
static int compare_ops(const void *a, const void *b, void *graph)
{
	const struct adv_scenario_goal_op *op = ((const struct graph *)graph)->g->op;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	struct ends x = ends_of(&op[i]), y = ends_of(&op[k]);
	int order = memcmp(&x, &y, sizeof(x));

	if (order == 0 && op[i].kind != op[k].kind)
		return op[i].kind == ADV_GOAL_SEND ? -1 : 1;
	return order ? order : i < k ? -1 : i > k;
}

static bool same_ends(const struct graph *x, uint32_t i, uint32_t k)
{
	struct ends a = ends_of(&x->g->op[i]), b = ends_of(&x->g->op[k]);

	return memcmp(&a, &b, sizeof(a)) == 0;
}

/* Matches the messages order[from] to order[to - 1], which have the same ends and tag. */
static bool match_group(struct graph *x, uint32_t from, uint32_t to)
{
	uint32_t sends = 0;

	while (from + sends < to && x->g->op[x->order[from + sends]].kind == ADV_GOAL_SEND)
		sends++;
	if (2 * sends != to - from) {
		struct ends e = ends_of(&x->g->op[x->order[from]]);

		return fail_op(x, x->order[from],
			       "%u sends and %u receives from rank %u to rank %u with tag %u: "
			       "expected as many of each",
			       sends, to - from - sends, e.from, e.to, e.tag);
	}
	for (uint32_t i = 0; i < sends; i++) {
		uint32_t send = x->order[from + i], recv = x->order[from + sends + i];

		if (x->g->op[send].amount != x->g->op[recv].amount)
			return fail_op(
				x, recv,
				"recv %" PRIu64 "b: its send in line %" PRIu64 " has %" PRIu64 "b",
				x->g->op[recv].amount, x->g->op[send].line, x->g->op[send].amount);
		x->match[recv] = send;
	}
	return true;
}

static bool match_all(struct graph *x)
{
	uint32_t count = 0, from = 0;

	for (uint32_t i = 0; i < x->g->ops; i++)
		if (x->g->op[i].kind != ADV_GOAL_CALC)
			x->order[count++] = i;
	qsort_r(x->order, count, sizeof(*x->order), compare_ops, x);
	for (uint32_t i = 1; i <= count; i++)
		if (i == count || !same_ends(x, x->order[from], x->order[i])) {
			if (!match_group(x, from, i))
				return false;
			from = i;
		}
	return true;
}

/* Calls use(x, before, after) for each dependency. */
static void each_edge(struct graph *x,
		      void (*use)(struct graph *x, uint32_t before, uint32_t after))
{
	for (uint32_t i = 0; i < x->g->ops; i++) {
		for (uint32_t e = x->g->op[i].edges; e != NONE; e = x->g->edge[e].next)
			use(x, x->g->edge[e].before, i);
		if (x->g->op[i].kind == ADV_GOAL_RECV)
			use(x, x->match[i], i);
	}
}

static void count_edge(struct graph *x, uint32_t before, uint32_t after)
{
	x->first[before + 1]++;
	x->waits[after]++;
}

static void note_edge(struct graph *x, uint32_t before, uint32_t after)
{
	x->after[x->first[before]++] = after;
}

/* Returns an operation that operation i waits for and that could not be ordered. */
static uint32_t stuck_before(const struct graph *x, uint32_t i)
{
	for (uint32_t e = x->g->op[i].edges; e != NONE; e = x->g->edge[e].next)
		if (x->waits[x->g->edge[e].before])
			return x->g->edge[e].before;
	return x->match[i];
}

/* Names the operations of a cycle. Operation i could not be ordered: it waits for a cycle, or is in
 * it. */
static bool refuse_cycle(const struct graph *x, uint32_t i)
{
	char lines[CYCLE_TEXT] = "";
	uint32_t first, n = 0, k;
	size_t at = 0;

	for (k = 0; k < x->g->ops; k++)
		i = stuck_before(x, i);
	first = i;
	for (k = stuck_before(x, i); k != i; k = stuck_before(x, k))
		first = k < first ? k : first;
	for (k = stuck_before(x, first); k != first && n < CYCLE_MOST; k = stuck_before(x, k))
		at += (size_t)snprintf(lines + at, sizeof(lines) - at, "%s%" PRIu64,
				       n++ ? ", " : ", by lines ", x->g->op[k].line);
	return fail_op(x, first, "the operation waits for itself%s%s", lines,
		       k == first ? "" : ", ...");
}

/* Orders the operations so that each follows those that it waits for. False: there is a cycle. */
static bool order_all(struct graph *x)
{
	uint32_t n = x->g->ops, head = 0, tail = 0;

	each_edge(x, count_edge);
	for (uint32_t i = 0; i < n; i++)
		x->first[i + 1] += x->first[i];
	each_edge(x, note_edge);
	/* first[i] is now the end of the list of i, and so the begin of that of i + 1. */
	for (uint32_t i = 0; i < n; i++)
		if (x->waits[i] == 0)
			x->order[tail++] = i;
	for (; head < tail; head++) {
		uint32_t op = x->order[head];

		for (uint32_t k = op ? x->first[op - 1] : 0; k < x->first[op]; k++)
			if (--x->waits[x->after[k]] == 0)
				x->order[tail++] = x->after[k];
	}
	for (uint32_t i = 0; tail < n && i < n; i++)
		if (x->waits[i])
			return refuse_cycle(x, i);
	return true;
}

/* Writes the jobs that an operation waits for to x->need. Returns their number. */
static uint32_t gather_needs(const struct graph *x, uint32_t i)
{
	uint32_t count = 0;

	for (uint32_t e = x->g->op[i].edges; e != NONE; e = x->g->edge[e].next) {
		uint32_t before = x->g->edge[e].before;

		x->need[count++] = x->g->edge[e].of_start ? x->started[before] : x->job[before];
	}
	return count;
}

static bool note_job(struct graph *x, int64_t job, uint32_t *number)
{
	*number = (uint32_t)job;
	return adv_scenario_note(x->b, x->flow, 0, job);
}

static bool build_op(struct graph *x, uint32_t i)
{
	const struct adv_scenario_goal_op *op = &x->g->op[i];
	uint32_t count = gather_needs(x, i);
	struct adv_fabric *f = x->b->f;
	int64_t c;

	/* Its start is the end of a computation without duration. */
	if (x->started[i] != NONE) {
		if (!note_job(x, adv_fabric_compute_after(f, 0, x->need, count), &x->started[i]))
			return false;
		x->need[0] = x->started[i];
		count = 1;
	}
	if (op->kind == ADV_GOAL_CALC)
		return note_job(
			x, adv_fabric_compute_after(f, op->amount * ADV_PS_PER_NS, x->need, count),
			&x->job[i]);
	if (op->kind == ADV_GOAL_RECV) {
		x->need[count++] = x->job[x->match[i]];
		return note_job(x, adv_fabric_compute_after(f, 0, x->need, count), &x->job[i]);
	}
	c = adv_scenario_pair(x->b, x->flow, 0, op->rank, op->peer);
	/* A message without data is a packet; a transfer has a byte at least. */
	return c >= 0 &&
	       note_job(x,
			adv_fabric_transfer_after(f, (uint32_t)c, op->amount ? op->amount : 1,
						  x->need, count),
			&x->job[i]);
}

static bool open_graph(struct graph *x)
{
	size_t n = x->g->ops, edges = n + x->g->edges + 1;

	x->job = calloc(n, sizeof(*x->job));
	x->started = malloc(n * sizeof(*x->started));
	x->match = calloc(n, sizeof(*x->match));
	x->waits = calloc(n, sizeof(*x->waits));
	x->order = calloc(n, sizeof(*x->order));
	x->first = calloc(n + 1, sizeof(*x->first));
	x->after = calloc(edges, sizeof(*x->after));
	x->need = calloc(edges, sizeof(*x->need));
	if (!x->job || !x->started || !x->match || !x->waits || !x->order || !x->first ||
	    !x->after || !x->need)
		return false;
	memset(x->started, 0xff, n * sizeof(*x->started));
	/* Any value but NONE: the job is made when the operation is built. */
	for (uint32_t e = 0; e < x->g->edges; e++)
		if (x->g->edge[e].of_start)
			x->started[x->g->edge[e].before] = 0;
	return true;
}

static void close_graph(struct graph *x)
{
	free(x->job);
	free(x->started);
	free(x->match);
	free(x->waits);
	free(x->order);
	free(x->first);
	free(x->after);
	free(x->need);
}

bool adv_scenario_build_goal(struct adv_scenario_builder *b, struct adv_scenario_flow *flow)
{
	struct graph x = {.b = b, .flow = flow, .g = &b->s->goal};
	bool good;

	flow->jobs = flow->transfers = 0;
	flow->dscp = DSCP;
	if (x.g->ranks > b->t->hosts)
		return adv_scenario_fail(b, 0, "%s: num_ranks %u: the network has %u hosts",
					 b->s->trace_name, x.g->ranks, b->t->hosts);
	if (!adv_scenario_afford_flow(b, flow, 0, 0, 2 * (uint64_t)x.g->ops) ||
	    !adv_scenario_pairs(b, 0))
		return false;
	good = open_graph(&x) || adv_scenario_fail(b, 0, "no memory");
	good = good && match_all(&x) && order_all(&x);
	for (uint32_t i = 0; good && i < x.g->ops; i++)
		good = build_op(&x, x.order[i]);
	close_graph(&x);
	return good;
}
