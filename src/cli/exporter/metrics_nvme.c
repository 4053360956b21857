/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/exporter/metrics_nvme.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cli/exporter/metrics_text.h"

/* Where a number is in struct adv_nvme_stats. */
#define AT(member) offsetof(struct adv_nvme_stats, member)

/* A metric of namespaces and of hosts. Those of the same name stand together. */
static const struct {
	const char *name, *help;
	const char *label; /* a last label; "": none */
	size_t at;
	bool seconds; /* the number counts ns */
} metrics[] = {
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

static void write_labels(FILE *f, const struct adv_nvme_stat *target,
			 const struct adv_nvme_stat_row *row)
{
	char name[ADV_METRICS_LABEL], nqn[ADV_METRICS_LABEL];

	adv_metrics_escape(name, target->target);
	adv_metrics_escape(nqn, row->nqn);
	if (row->nsid)
		fprintf(f, "{target=\"%s\",subsystem=\"%s\",nsid=\"%u\"", name, nqn, row->nsid);
	else
		fprintf(f, "{target=\"%s\",host=\"%s\"", name, nqn);
}

static void write_metric(FILE *f, const struct adv_nvme_stat *targets, size_t count, bool hosts,
			 unsigned m)
{
	const char *prefix = hosts ? "adverb_nvme_host_" : "adverb_nvme_namespace_";
	uint64_t number;

	if (metrics[m].help)
		fprintf(f, "# HELP %s%s %s\n# TYPE %s%s counter\n", prefix, metrics[m].name,
			metrics[m].help, prefix, metrics[m].name);
	for (size_t t = 0; t < count; t++) {
		for (size_t i = 0; i < targets[t].count; i++) {
			const struct adv_nvme_stat_row *row = &targets[t].row[i];

			if ((row->nsid == 0) != hosts)
				continue;
			memcpy(&number, (const char *)&row->stats + metrics[m].at, sizeof(number));
			fprintf(f, "%s%s", prefix, metrics[m].name);
			write_labels(f, &targets[t], row);
			fprintf(f, "%s}", metrics[m].label);
			adv_metrics_write_number(f, number, metrics[m].seconds);
		}
	}
}

/* Writes the sizes of the namespaces, or the numbers of the hosts' controllers. */
static void write_gauge(FILE *f, const struct adv_nvme_stat *targets, size_t count, bool hosts)
{
	const char *name =
		hosts ? "adverb_nvme_host_controllers" : "adverb_nvme_namespace_size_bytes";

	fprintf(f, "# HELP %s %s\n# TYPE %s gauge\n", name,
		hosts ? "Controllers that the host has." : "Size of the namespace.", name);
	for (size_t t = 0; t < count; t++) {
		for (size_t i = 0; i < targets[t].count; i++) {
			const struct adv_nvme_stat_row *row = &targets[t].row[i];

			if ((row->nsid == 0) != hosts)
				continue;
			fprintf(f, "%s", name);
			write_labels(f, &targets[t], row);
			fprintf(f, "} %" PRIu64 "\n", hosts ? row->controllers : row->bytes);
		}
	}
}

void adv_metrics_write_targets(FILE *f, const struct adv_nvme_stat *targets, size_t count)
{
	for (unsigned hosts = 0; hosts < 2 && count > 0; hosts++) {
		write_gauge(f, targets, count, hosts);
		for (unsigned m = 0; m < ADV_ARRAY_SIZE(metrics); m++)
			write_metric(f, targets, count, hosts, m);
	}
}

void adv_metrics_write_nvme(FILE *f)
{
	char names[ADV_NVME_CONTROL_NAMES][ADV_NVME_CONTROL_NAME + 1];
	char why[ADV_NVME_CONTROL_REPLY];
	size_t named = adv_nvme_control_names(&adv_nvme_control_target, names), count = 0;
	struct adv_nvme_stat *targets = calloc(named + 1, sizeof(*targets));

	for (size_t i = 0; targets && i < named; i++)
		count += adv_nvme_stat_read(names[i], &targets[count], why);
	if (targets)
		adv_metrics_write_targets(f, targets, count);
	for (size_t i = 0; i < count; i++)
		adv_nvme_stat_free(&targets[i]);
	free(targets);
}
