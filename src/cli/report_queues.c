/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The report's queues, and who was paused. */
#include <stdlib.h>
#include <string.h>

#include "cli/report_page.h"
#include "cli/report_plot.h"
#include "fabric/calendar.h"

#define PANELS 6
#define LEAST  50 /* a queue that was never a 50th of the longest has no panel */
#define ROWS   24
#define ROW    13.0 /* height */
#define REACH  3.0  /* times what was used: levels beyond are told, not drawn */

/* What a panel shows, as numbers to be drawn. */
struct panel {
	uint32_t n;
	double at[ADV_RECORD_COLUMNS + 1];
	double most[ADV_RECORD_COLUMNS];
	double least[ADV_RECORD_COLUMNS];
	double input[ADV_RECORD_COLUMNS];
	double limit[ADV_RECORD_COLUMNS];
	double xon[ADV_RECORD_COLUMNS];
	double top; /* of what was used */
};

static int by_peak(const void *a, const void *b)
{
	const struct adv_record_queue *x = *(const struct adv_record_queue *const *)a;
	const struct adv_record_queue *y = *(const struct adv_record_queue *const *)b;

	if (x->peak != y->peak)
		return x->peak < y->peak ? 1 : -1;
	return x->sw != y->sw ? (x->sw > y->sw) - (x->sw < y->sw)
			      : (x->priority > y->priority) - (x->priority < y->priority);
}

/* ---- one panel ---- */

static void fill(struct panel *d, const struct adv_record *r, const struct adv_record_queue *q,
		 const struct adv_scenario_priority *class)
{
	d->n = r->columns;
	d->top = 0;
	for (uint32_t i = 0; i < d->n; i++) {
		d->at[i] = (double)adv_record_begins(r, i);
		d->most[i] = (double)q->most[i];
		d->least[i] = (double)q->least[i];
		d->input[i] = (double)q->input[i];
		d->limit[i] = (double)q->limit[i];
		d->xon[i] = d->limit[i] - (double)class->xon_offset;
		d->top = d->most[i] > d->top ? d->most[i] : d->top;
		d->top = d->input[i] > d->top ? d->input[i] : d->top;
	}
	d->at[d->n] = (double)adv_record_ends(r, d->n - 1);
}

/* Higher than what was used, but not so far that this could not be seen any more. */
static void reach(double *most, const struct panel *d, double level)
{
	if (level > *most && level <= REACH * d->top)
		*most = level;
}

/* The lowest limit by alpha. */
static double lowest_limit(const struct panel *d)
{
	double least = 0;

	for (uint32_t i = 0; i < d->n; i++)
		if (d->limit[i] > 0 && (least == 0 || d->limit[i] < least))
			least = d->limit[i];
	return least;
}

/* A line that has no place below the top of the picture is hidden there. */
static void hide_beyond(double *value, uint32_t n, double most)
{
	for (uint32_t i = 0; i < n; i++)
		if (value[i] <= 0 || value[i] > most)
			value[i] = -1;
}

static void tell_level(const struct adv_report_part *p, const char *name, double value, double most)
{
	char text[ADV_PLOT_TEXT];

	if (value > most)
		fprintf(p->out, " %s, %s, is beyond the plot.", name,
			adv_plot_number(ADV_PLOT_BYTES, value, text));
}

static void levels(const struct adv_report_part *p, struct adv_plot *plot, struct panel *d,
		   const struct adv_scenario_priority *c)
{
	if (c->ecn_max) {
		adv_plot_level(plot, "kmin", 1, (double)c->ecn_min, "K_min");
		adv_plot_level(plot, "kmax", 0, (double)c->ecn_max, "K_max");
	}
	if (!c->lossless)
		return;
	if (c->xoff) {
		adv_plot_level(plot, "xoff", 2, (double)c->xoff, "xoff");
		if (c->xoff > c->xon_offset)
			adv_plot_level(plot, "xon", 3, (double)(c->xoff - c->xon_offset), "xon");
		return;
	}
	hide_beyond(d->limit, d->n, plot->y.most);
	hide_beyond(d->xon, d->n, plot->y.most);
	adv_plot_steps(plot, "limit xoff", "xoff, by alpha", d->n, d->at, d->limit);
	adv_plot_steps(plot, "limit xon", "xon", d->n, d->at, d->xon);
}

static void panel(const struct adv_report_part *p, const struct adv_record_queue *q,
		  struct panel *d)
{
	const struct adv_scenario_priority *c = &p->sim->scenario.priority[q->priority];
	double xoff, most;
	char title[96], text[ADV_PLOT_TEXT];
	struct adv_plot plot = {.out = p->out,
				.kind = "queue",
				.title = title,
				.x = {.name = "time"},
				.y = {.unit = ADV_PLOT_BYTES, .name = "bytes"}};

	fill(d, p->record, q, c);
	xoff = c->xoff ? (double)c->xoff : lowest_limit(d);
	most = d->top;
	if (c->ecn_max) {
		reach(&most, d, (double)c->ecn_min);
		reach(&most, d, (double)c->ecn_max);
	}
	if (c->lossless)
		reach(&most, d, xoff);
	plot.x.most = d->at[d->n];
	plot.y.most = most * 1.04;
	snprintf(title, sizeof(title), "Switch %u, priority %u", q->sw, q->priority);
	fprintf(p->out,
		"<figure data-switch=\"%u\" data-priority=\"%u\" data-peak=\"%llu\"><h3>%s</h3>\n",
		q->sw, q->priority, (unsigned long long)q->peak, title);
	adv_plot_begin(&plot);
	adv_plot_band(&plot, "s0", d->n, d->at, d->least, d->most);
	adv_plot_steps(&plot, "s1", "one port's share of the buffer", d->n, d->at, d->input);
	adv_plot_steps(&plot, "s0", "the longest output queue", d->n, d->at, d->most);
	levels(p, &plot, d, c);
	adv_plot_end(&plot);
	fprintf(p->out, "<figcaption>Longest: %s, at port %u.",
		adv_plot_number(ADV_PLOT_BYTES, (double)q->peak, text), q->port);
	if (c->ecn_max) {
		tell_level(p, "K_min", (double)c->ecn_min, plot.y.most);
		tell_level(p, "K_max", (double)c->ecn_max, plot.y.most);
	}
	if (c->lossless)
		tell_level(p, c->xoff ? "xoff" : "xoff (by alpha, at its lowest)", xoff,
			   plot.y.most);
	fprintf(p->out, "</figcaption></figure>\n");
}

/* What the lines are; the levels are named in the plots as far as they are level. */
static void queue_legend(FILE *out)
{
	fprintf(out,
		"<ul class=\"legend\"><li><i class=\"k s0\"></i>the longest output queue of the "
		"switch: ECN</li><li><i class=\"k s1\"></i>the most that came in by one port "
		"and is in the buffer: PFC</li>");
	fprintf(out,
		"<li><i class=\"k kmax\"></i>K_max</li><li><i class=\"k kmin\"></i>K_min</li>"
		"<li><i class=\"k xoff\"></i>xoff</li><li><i class=\"k xon\"></i>xon</li></ul>\n");
}

bool adv_report_queues(const struct adv_report_part *p)
{
	const struct adv_record *r = p->record;
	const struct adv_record_queue **all = calloc(r->queues + 1ul, sizeof(const void *));
	struct panel *d = malloc(sizeof(*d));
	bool good = all && d;
	uint32_t n = 0, panels = 0;
	char text[ADV_PLOT_TEXT];

	for (uint32_t i = 0; good && i < r->queues; i++)
		if (r->queue[i] && r->queue[i]->peak)
			all[n++] = r->queue[i];
	if (good && n == 0)
		fprintf(p->out, "<p>No frame waited in a switch.</p>\n");
	if (n) {
		qsort(all, n, sizeof(const void *), by_peak);
		queue_legend(p->out);
		fprintf(p->out, "<div class=\"figures\">\n");
		for (; panels < n && panels < PANELS && all[panels]->peak * LEAST >= all[0]->peak;
		     panels++)
			panel(p, all[panels], d);
		fprintf(p->out, "</div>\n");
		if (n > panels)
			fprintf(p->out,
				"<p class=\"dim\">%u more, of other switches and priorities, were "
				"never longer than %s.</p>\n",
				n - panels,
				adv_plot_number(ADV_PLOT_BYTES, (double)all[panels]->peak, text));
	}
	free(all);
	free(d);
	return good;
}

/* ---- pauses ---- */

/* Longest first; equal ones in the order of nodes and ports. */
static int by_time(const void *a, const void *b)
{
	const struct adv_record_pause *x = *(const struct adv_record_pause *const *)a;
	const struct adv_record_pause *y = *(const struct adv_record_pause *const *)b;

	if (x->before != y->before)
		return x->before < y->before ? 1 : -1;
	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return x->port != y->port ? (x->port < y->port ? -1 : 1)
				  : (x->priority > y->priority) - (x->priority < y->priority);
}

static void node_name(const struct adv_sim *sim, uint32_t node, char text[16])
{
	uint32_t hosts = sim->topology.hosts;

	snprintf(text, 16, "%c%u", node < hosts ? 'h' : 's', node < hosts ? node : node - hosts);
}

static void row(const struct adv_report_part *p, struct adv_plot *plot,
		const struct adv_record_pause *w, unsigned index, const double *at)
{
	static const char *const shades[] = {"p1", "p2", "p3", "p4"};
	uint32_t peer = adv_topology_peer(&p->sim->topology, w->node, w->port);
	bool take[ADV_RECORD_COLUMNS];
	char from[16], to[16], label[64], time[ADV_PLOT_TEXT];
	double top = index * ROW;

	node_name(p->sim, w->node, from);
	node_name(p->sim, peer, to);
	snprintf(label, sizeof(label), "%s → %s, %u", from, to, w->priority);
	fprintf(p->out,
		"<g data-node=\"%s\" data-port=\"%u\" data-priority=\"%u\" data-count=\"%llu\" "
		"data-ps=\"%llu\"><title>",
		from, w->port, w->priority, (unsigned long long)w->count,
		(unsigned long long)w->before);
	fprintf(p->out, "%s, priority %u: %llu pauses, %s in all</title>", from, w->priority,
		(unsigned long long)w->count,
		adv_plot_number(ADV_PLOT_TIME, (double)w->before, time));
	adv_plot_row_label(plot, top, ROW, label);
	for (unsigned k = 0; k < 4; k++) {
		for (uint32_t i = 0; i < p->record->columns; i++) {
			double share = (double)w->time[i] / (at[i + 1] - at[i]);

			take[i] = share > 0.25 * k && (k == 3 || share <= 0.25 * (k + 1));
		}
		adv_plot_row(plot, shades[k], top + 1, ROW - 2, p->record->columns, at, take);
	}
	fprintf(p->out, "</g>\n");
}

static void pause_rows(const struct adv_report_part *p, const struct adv_record_pause **all,
		       unsigned n)
{
	unsigned rows = n < ROWS ? n : ROWS;
	double at[ADV_RECORD_COLUMNS + 1];
	struct adv_plot plot = {.out = p->out,
				.kind = "pauses",
				.title = "Who was paused, and when",
				.x = {.name = "time"},
				.height = 50 + rows * ROW,
				.left = 112,
				.labels = true};

	for (uint32_t i = 0; i < p->record->columns; i++)
		at[i] = (double)adv_record_begins(p->record, i);
	at[p->record->columns] = (double)p->record->end;
	plot.x.most = (double)p->record->end;
	plot.y.most = 1;
	fprintf(p->out, "<figure>\n");
	adv_plot_begin(&plot);
	for (unsigned i = 0; i < rows; i++)
		row(p, &plot, all[i], i, at);
	adv_plot_end(&plot);
	fprintf(p->out,
		"<figcaption>A row is a sender, to whom, and the priority. Paused for <i class=\"b "
		"p1\"></i> up to 25 %%, <i class=\"b p2\"></i> 50 %%, <i class=\"b p3\"></i> 75 "
		"%%, "
		"<i class=\"b p4\"></i> 100 %% of each moment (%s).",
		adv_plot_number(ADV_PLOT_TIME, (double)p->record->interval,
				(char[ADV_PLOT_TEXT]){0}));
	if (n > rows)
		fprintf(p->out, " The %u that were paused longest, of %u.", rows, n);
	fprintf(p->out, "</figcaption></figure>\n");
}

bool adv_report_pauses(const struct adv_report_part *p)
{
	const struct adv_record *r = p->record;
	size_t room = (size_t)r->ports * ADV_PRIORITIES;
	const struct adv_record_pause **all = calloc(room + 1, sizeof(const void *));
	bool good = all != NULL;
	unsigned n = 0;

	for (size_t i = 0; all && i < room; i++)
		if (r->pause[i])
			all[n++] = r->pause[i];
	if (all && n == 0)
		fprintf(p->out, "<p>Nobody was paused.</p>\n");
	if (n) {
		qsort(all, n, sizeof(const void *), by_time);
		pause_rows(p, all, n);
	}
	free(all);
	return good;
}
