/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/exporter/metrics_storage.h"

#include <stddef.h>

#include "base/array.h"
#include "cli/exporter/metrics_text.h"
#include "storage/gateway/stat_client.h"
#include "storage/nvme_server/stat_client.h"

/* A metric of counts. Those of the same name stand together. */
struct metric {
	const char *name, *help; /* help NULL: the row before has the same name */
	const char *label;	 /* a last label; "": none */
	size_t count;		 /* its index in the row */
	bool seconds;		 /* it counts ns */
};

#define AT(member) (offsetof(struct adv_nvme_stats, member) / sizeof(uint64_t))
static const struct metric nvme_metrics[] = {
	{"commands_total", "Commands that have succeeded.", ",command=\"read\"", AT(reads), false},
	{"commands_total", NULL, ",command=\"write\"", AT(writes), false},
	{"commands_total", NULL, ",command=\"other\"", AT(others), false},
	{"errors_total", "Commands that ended in an error.", "", AT(errors), false},
	{"bytes_total", "Bytes of Reads and Writes.", ",command=\"read\"", AT(read_bytes), false},
	{"bytes_total", NULL, ",command=\"write\"", AT(write_bytes), false},
	{"latency_seconds_total",
	 "Time of all commands, from the capsule until the host has the response.",
	 ",command=\"read\"", AT(read_ns), true},
	{"latency_seconds_total", NULL, ",command=\"write\"", AT(write_ns), true},
	{"latency_seconds_total", NULL, ",command=\"other\"", AT(other_ns), true},
};
#undef AT

#define AT(member) (offsetof(struct adv_gateway_counts, member) / sizeof(uint64_t))
static const struct metric gateway_metrics[] = {
	{"calls_total", "Calls that were answered; encrypted ones: that arrived.", "", AT(calls),
	 false},
	{"errors_total", "Answers with an error, and refused calls.", "", AT(errors), false},
	{"bytes_total", "Bytes of messages.", ",message=\"call\"", AT(call_bytes), false},
	{"bytes_total", NULL, ",message=\"reply\"", AT(reply_bytes), false},
	{"timed_calls_total", "Calls whose time is known.", "", AT(timed), false},
	{"latency_seconds_total",
	 "Time of all these, from the call's arrival until the gateway has the reply.", "", AT(ns),
	 true},
};
#undef AT

/* The metrics of a kind of programs: the gauges of the lists, and their counts. */
static const struct program {
	const struct adv_kit_stat_kind *kind;
	struct {
		const char *prefix;
		const char *gauge, *help; /* NULL: it has none */
	} list[ADV_KIT_STAT_LISTS];
	const struct metric *metrics;
	size_t count;
} programs[] = {
	{&adv_nvme_stat_kind,
	 {{"adverb_nvme_namespace_", "size_bytes", "Size of the namespace."},
	  {"adverb_nvme_host_", "controllers", "Controllers that the host has."}},
	 nvme_metrics,
	 ADV_ARRAY_SIZE(nvme_metrics)},
	{&adv_gateway_stat_kind,
	 {{"adverb_gateway_server_", NULL, NULL},
	  {"adverb_gateway_client_", "connections", "Connections that the client has."}},
	 gateway_metrics,
	 ADV_ARRAY_SIZE(gateway_metrics)},
};

/* The programs that were read, and the list that is written. */
struct reading {
	const struct program *program;
	unsigned list;
	struct adv_kit_stat stats[ADV_KIT_CONTROL_NAMES];
	size_t count;
};

static void write_labels(FILE *f, const struct adv_kit_stat *stat,
			 const struct adv_kit_stat_row *row)
{
	char program[ADV_METRICS_LABEL], name[ADV_METRICS_LABEL];

	adv_metrics_escape(program, stat->program);
	adv_metrics_escape(name, row->name);
	fprintf(f, "{%s=\"%s\",%s=\"%s\"", stat->kind->control->noun, program,
		stat->kind->list[row->list].name, name);
	if (row->nsid)
		fprintf(f, ",nsid=\"%u\"", row->nsid);
}

/* Writes a metric of the rows of the list. metric NULL: the gauge. */
static void write_metric(FILE *f, const struct reading *r, const struct metric *metric)
{
	const struct program *p = r->program;
	const char *help = metric ? metric->help : p->list[r->list].help;
	char name[64];

	snprintf(name, sizeof(name), "%s%s", p->list[r->list].prefix,
		 metric ? metric->name : p->list[r->list].gauge);
	if (help)
		fprintf(f, "# HELP %s %s\n# TYPE %s %s\n", name, help, name,
			metric ? "counter" : "gauge");
	for (size_t s = 0; s < r->count; s++) {
		for (size_t i = 0; i < r->stats[s].count; i++) {
			const struct adv_kit_stat_row *row = &r->stats[s].row[i];

			if (row->list != r->list)
				continue;
			fputs(name, f);
			write_labels(f, &r->stats[s], row);
			fprintf(f, "%s}", metric ? metric->label : "");
			adv_metrics_write_number(f,
						 metric ? row->counts[metric->count] : row->gauge,
						 metric && metric->seconds);
		}
	}
}

static void write_list(FILE *f, const struct reading *r)
{
	if (r->program->list[r->list].gauge)
		write_metric(f, r, NULL);
	for (size_t m = 0; m < r->program->count; m++)
		write_metric(f, r, &r->program->metrics[m]);
}

void adv_metrics_write_storage(FILE *f)
{
	struct reading r;

	for (size_t p = 0; p < ADV_ARRAY_SIZE(programs); p++) {
		r.program = &programs[p];
		r.count = adv_kit_stat_read_all(r.program->kind, r.stats);
		for (r.list = 0; r.list < ADV_KIT_STAT_LISTS && r.count > 0; r.list++)
			write_list(f, &r);
		for (size_t i = 0; i < r.count; i++)
			adv_kit_stat_free(&r.stats[i]);
	}
}
