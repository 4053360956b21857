/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The report's rates, completion times, marks. */
#include <inttypes.h>
#include <stdlib.h>

#include "cli/report_page.h"
#include "cli/report_plot.h"
#include "fabric/calendar.h"

#define BINS	128
#define FEWEST	8
#define FRAMES	32 /* that a bin is long, at least where there are enough */
#define COLOURS 8
#define LINES	40
#define POINTS	400 /* of a distribution */

/* ---- bins: several columns ---- */

/* Some frames long, that one more or less makes little of a difference; but in a short run there
 * are a few bins all the same. */
static uint32_t columns_a_bin(const struct adv_report_part *p)
{
	const struct adv_scenario *s = &p->sim->scenario;
	uint64_t frames = FRAMES * s->host.mtu * 8 * ADV_PS_PER_S / s->network.speed;
	uint32_t columns = p->record->columns;
	uint32_t each = (columns + BINS - 1) / BINS, most = (columns + FEWEST - 1) / FEWEST;
	uint64_t wanted = (frames + p->record->interval - 1) / p->record->interval;

	if (wanted <= each)
		return each;
	return wanted < most ? (uint32_t)wanted : most;
}

/* Sums by bin, and where they begin; returns how many. */
static uint32_t bin(const struct adv_report_part *p, const uint64_t *column, double *at,
		    double *sum)
{
	const struct adv_record *r = p->record;
	uint32_t n = 0, each = columns_a_bin(p);

	for (uint32_t i = 0; i < r->columns; i += each, n++) {
		at[n] = (double)adv_record_begins(r, i);
		sum[n] = 0;
		for (uint32_t k = i; k < i + each && k < r->columns; k++)
			sum[n] += (double)column[k];
	}
	at[n] = (double)r->end;
	/* The run ended soon after: so short a time says little on a rate. */
	if (n > 1 && at[n] - at[n - 1] < (at[n - 1] - at[n - 2]) / 2) {
		sum[n - 2] += sum[n - 1];
		at[n - 1] = at[n];
		n--;
	}
	return n;
}

/* Bytes to b/s. */
static void to_rates(uint32_t n, const double *at, double *value, double *most)
{
	for (uint32_t i = 0; i < n; i++) {
		value[i] = value[i] * 8e12 / (at[i + 1] - at[i]);
		*most = value[i] > *most ? value[i] : *most;
	}
}

/* ---- rates ---- */

static int by_total(const void *a, const void *b)
{
	const struct adv_record_flow *x = *(const struct adv_record_flow *const *)a;
	const struct adv_record_flow *y = *(const struct adv_record_flow *const *)b;

	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return x < y ? -1 : x > y; /* of one array */
}

static void flow_name(const struct adv_report_part *p, const struct adv_record_flow *f,
		      char text[96])
{
	const struct adv_fabric_connection *c =
		adv_fabric_get_connection(p->sim->fabric, f->connection);

	if (!c)
		snprintf(text, 96, "flow %u%s", f->flow,
			 p->record->flows == ADV_RECORD_CONNECTIONS &&
					 f == &p->record->flow[p->record->flows - 1]
				 ? " and later ones"
				 : "");
	else if (c->operation == ADV_FABRIC_READ)
		snprintf(text, 96, "flow %u: h%u reads h%u", f->flow, c->initiator, c->target);
	else
		snprintf(text, 96, "flow %u: h%u to h%u", f->flow, c->initiator, c->target);
}

static double mean_rate(const struct adv_record *r, uint64_t bytes)
{
	return r->end ? (double)bytes * 8e12 / (double)r->end : 0;
}

static void rate_lines(const struct adv_report_part *p, const struct adv_record_flow **all,
		       uint32_t lines)
{
	double at[BINS + 1], value[BINS], most = 0;
	struct adv_plot plot = {.out = p->out,
				.kind = "rates",
				.title = "Rate of each flow",
				.x = {.name = "time", .most = (double)p->record->end},
				.y = {.unit = ADV_PLOT_RATE, .name = "payload"}};
	char name[96], class[16];

	for (uint32_t i = 0; i < lines; i++)
		to_rates(bin(p, all[i]->bytes, at, value), at, value, &most);
	plot.y.most = most;
	adv_plot_begin(&plot);
	for (uint32_t i = lines; i-- > 0;) { /* the biggest are drawn last, on top */
		uint32_t n = bin(p, all[i]->bytes, at, value);

		to_rates(n, at, value, &most);
		flow_name(p, all[i], name);
		snprintf(class, sizeof(class), i < COLOURS ? "s%u" : "other", i);
		adv_plot_steps(&plot, class, name, n, at, value);
	}
	adv_plot_end(&plot);
}

static void rate_legend(const struct adv_report_part *p, const struct adv_record_flow **all,
			uint32_t lines)
{
	char name[96], text[ADV_PLOT_TEXT];

	fprintf(p->out, "<figcaption><ul class=\"legend\">");
	for (uint32_t i = 0; i < lines && i < COLOURS; i++) {
		flow_name(p, all[i], name);
		fprintf(p->out,
			"<li data-flow=\"%u\" data-bytes=\"%llu\"><i class=\"k s%u\"></i>%s, "
			"%s</li>",
			all[i]->flow, (unsigned long long)all[i]->total, i, name,
			adv_plot_number(ADV_PLOT_RATE, mean_rate(p->record, all[i]->total), text));
	}
	if (lines > COLOURS)
		fprintf(p->out, "<li><i class=\"k other\"></i>%u others</li>", lines - COLOURS);
	fprintf(p->out, "</ul>");
	if (p->record->flows > lines)
		fprintf(p->out, "%u more, which moved no more than these, are not drawn. ",
			p->record->flows - lines);
	if (p->record->connections > ADV_RECORD_CONNECTIONS)
		fprintf(p->out, "All %u connections of a [flow] section are one line.",
			p->record->connections);
	fprintf(p->out, "</figcaption>");
}

static void rate_of_all(const struct adv_report_part *p)
{
	const struct adv_record *r = p->record;
	uint64_t column[ADV_RECORD_COLUMNS] = {0}, total = 0;
	double at[BINS + 1], value[BINS];
	char text[ADV_PLOT_TEXT];
	struct adv_plot plot = {.out = p->out,
				.kind = "rate",
				.title = "Rate of all flows together",
				.x = {.name = "time", .most = (double)r->end},
				.y = {.unit = ADV_PLOT_RATE, .name = "payload"}};
	uint32_t n;

	for (uint32_t i = 0; i < r->flows; i++) {
		total += r->flow[i].total;
		for (uint32_t k = 0; k < r->columns; k++)
			column[k] += r->flow[i].bytes[k];
	}
	n = bin(p, column, at, value);
	to_rates(n, at, value, &plot.y.most);
	fprintf(p->out, "<figure data-bytes=\"%llu\"><h3>All together</h3>\n",
		(unsigned long long)total);
	adv_plot_begin(&plot);
	adv_plot_steps(&plot, "s0", "all flows", n, at, value);
	adv_plot_end(&plot);
	fprintf(p->out,
		"<figcaption>%s on average; payload that came in, in its "
		"order.</figcaption></figure>\n",
		adv_plot_number(ADV_PLOT_RATE, mean_rate(r, total), text));
}

bool adv_report_rates(const struct adv_report_part *p)
{
	const struct adv_record *r = p->record;
	const struct adv_record_flow **all = calloc(r->flows + 1ul, sizeof(const void *));
	uint32_t lines = r->flows < LINES ? r->flows : LINES;

	if (!all)
		return false;
	for (uint32_t i = 0; i < r->flows; i++)
		all[i] = &r->flow[i];
	qsort(all, r->flows, sizeof(const void *), by_total);
	fprintf(p->out, "<div class=\"figures\">\n<figure><h3>Each</h3>\n");
	rate_lines(p, all, lines);
	rate_legend(p, all, lines);
	fprintf(p->out, "</figure>\n");
	rate_of_all(p);
	fprintf(p->out, "</div>\n");
	free(all);
	return true;
}

/* ---- completion times ---- */

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Of transfers that ended well, of flows from `first` on, in order; returns how many. */
static size_t times_of(const struct adv_sim *sim, uint32_t first, uint32_t flows, uint64_t *took)
{
	const struct adv_scenario_flow *flow = sim->scenario.list[ADV_SCENARIO_FLOWS].item;
	size_t n = 0;

	for (uint32_t i = first; i < first + flows; i++)
		for (uint32_t k = 0; k < flow[i].transfers; k++) {
			const struct adv_fabric_transfer_state *t =
				adv_fabric_get_transfer(sim->fabric, flow[i].first_transfer + k);

			if (t->end != ADV_CALENDAR_NEVER && t->status == IBV_WC_SUCCESS)
				took[n++] = t->end - t->start;
		}
	qsort(took, n, sizeof(*took), by_value);
	return n;
}

/* The least and the most stay; of many, some between them. */
static void distribution(struct adv_plot *plot, const char *class, const char *name, size_t n,
			 const uint64_t *took)
{
	double at[POINTS + 3], value[POINTS + 2];
	uint32_t points = n < POINTS ? (uint32_t)n : POINTS;

	if (n == 0)
		return;
	at[0] = (double)took[0];
	value[0] = 0;
	for (uint32_t i = 0; i < points; i++) {
		size_t rank = points == 1 ? 0 : (n - 1) * i / (points - 1);

		at[i + 1] = (double)took[rank];
		value[i + 1] = (double)(rank + 1) / (double)n;
	}
	at[points + 1] = plot->x.most;
	adv_plot_steps(plot, class, name, points + 1, at, value);
}

/* Fine enough to be told apart, and no wider than they are. */
static void span(struct adv_plot_axis *x, uint64_t least, uint64_t most)
{
	x->log = least > 0 && most / least >= 20;
	x->least = x->log ? (double)least : 0;
	x->most = (double)most * (x->log ? 1 : 1.03);
}

static void draw_times(const struct adv_report_part *p, uint64_t *took, size_t all)
{
	uint32_t flows = p->sim->scenario.list[ADV_SCENARIO_FLOWS].count;
	bool each = flows <= COLOURS;
	char name[32], class[16], a[ADV_PLOT_TEXT], b[ADV_PLOT_TEXT], c[ADV_PLOT_TEXT];
	struct adv_plot plot = {.out = p->out,
				.kind = "times",
				.title = "Flow completion times",
				.x = {.name = "time from a transfer's start to its end"},
				.y = {.unit = ADV_PLOT_PERCENT,
				      .most = 1,
				      .name = "transfers no longer than this"}};

	span(&plot.x, took[0], took[all - 1]);
	fprintf(p->out, "<figure data-count=\"%zu\" data-most=\"%llu\">\n", all,
		(unsigned long long)took[all - 1]);
	adv_plot_number(ADV_PLOT_TIME, (double)took[(all - 1) / 2], a);
	adv_plot_number(ADV_PLOT_TIME, (double)took[(all - 1) * 99 / 100], b);
	adv_plot_number(ADV_PLOT_TIME, (double)took[all - 1], c);
	adv_plot_begin(&plot);
	for (uint32_t i = 0; i < (each ? flows : 1); i++) {
		snprintf(name, sizeof(name), each ? "flow %u" : "all flows", i);
		snprintf(class, sizeof(class), "s%u", i);
		distribution(&plot, class, name,
			     times_of(p->sim, each ? i : 0, each ? 1 : flows, took), took);
	}
	adv_plot_end(&plot);
	fprintf(p->out, "<figcaption>");
	for (uint32_t i = 0; each && flows > 1 && i < flows; i++)
		fprintf(p->out, "%s<i class=\"k s%u\"></i>flow %u", i ? " &#160; " : "", i, i);
	fprintf(p->out,
		"%sOf all: half within %s, 99 %% within %s, the longest "
		"%s.</figcaption></figure>\n",
		each && flows > 1 ? "<br>" : "", a, b, c);
}

bool adv_report_times(const struct adv_report_part *p)
{
	const struct adv_scenario_list *l = &p->sim->scenario.list[ADV_SCENARIO_FLOWS];
	const struct adv_scenario_flow *flow = l->item;
	uint64_t *took;
	size_t all = 0;

	for (uint32_t i = 0; i < l->count; i++)
		all += flow[i].transfers;
	took = calloc(all + 1, sizeof(*took));
	if (!took)
		return false;
	all = times_of(p->sim, 0, l->count, took);
	if (all)
		draw_times(p, took, all);
	else
		fprintf(p->out, "<p>No transfer came to its end.</p>\n");
	free(took);
	return true;
}

/* ---- marks, CNPs, drops ---- */

struct line {
	enum adv_record_counter counter;
	const char *name;
};

static void counters(const struct adv_report_part *p, const char *kind, const char *title,
		     const struct line *line, unsigned lines)
{
	const struct adv_record *r = p->record;
	double at[BINS + 1], value[2][BINS];
	char text[ADV_PLOT_TEXT], class[16];
	struct adv_plot plot = {.out = p->out,
				.kind = kind,
				.title = title,
				.x = {.name = "time", .most = (double)r->end},
				.y = {.unit = ADV_PLOT_COUNT, .name = "in each moment"}};
	uint32_t n = 0;

	for (unsigned i = 0; i < lines; i++) {
		n = bin(p, r->counter[line[i].counter], at, value[i]);
		for (uint32_t k = 0; k < n; k++)
			plot.y.most = value[i][k] > plot.y.most ? value[i][k] : plot.y.most;
	}
	fprintf(p->out, "<figure data-bin=\"%" PRIu64 "\"><h3>%s</h3>\n",
		r->interval * columns_a_bin(p), title);
	adv_plot_begin(&plot);
	for (unsigned i = lines; i-- > 0;) {
		snprintf(class, sizeof(class), "s%u", i);
		adv_plot_steps(&plot, class, line[i].name, n, at, value[i]);
	}
	adv_plot_end(&plot);
	fprintf(p->out, "<figcaption><ul class=\"legend\">");
	for (unsigned i = 0; i < lines; i++)
		fprintf(p->out, "<li data-total=\"%llu\"><i class=\"k s%u\"></i>%llu %s</li>",
			(unsigned long long)r->before[line[i].counter], i,
			(unsigned long long)r->before[line[i].counter], line[i].name);
	fprintf(p->out, "</ul>A moment is %s.</figcaption></figure>\n",
		adv_plot_number(ADV_PLOT_TIME, (double)(r->interval * columns_a_bin(p)), text));
}

bool adv_report_marks(const struct adv_report_part *p)
{
	static const struct line marks[] = {{ADV_RECORD_MARKS, "frames marked"}};
	static const struct line cnps[] = {{ADV_RECORD_CNPS_SENT, "CNPs sent"},
					   {ADV_RECORD_CNPS_HANDLED, "CNPs handled"}};
	static const struct line drops[] = {{ADV_RECORD_DROPS, "frames lost"}};
	const uint64_t *total = p->record->before;

	if (!total[ADV_RECORD_MARKS])
		fprintf(p->out, "<p>No switch marked a frame.</p>\n");
	if (!total[ADV_RECORD_DROPS])
		fprintf(p->out, "<p>No frame was lost.</p>\n");
	fprintf(p->out, "<div class=\"figures\">\n");
	if (total[ADV_RECORD_MARKS])
		counters(p, "marks", "ECN marks", marks, 1);
	if (total[ADV_RECORD_CNPS_SENT])
		counters(p, "cnps", "CNPs", cnps, 2);
	if (total[ADV_RECORD_DROPS])
		counters(p, "drops", "Frames lost", drops, 1);
	fprintf(p->out, "</div>\n");
	return true;
}
