/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/exporter/metrics_gateway.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cli/exporter/metrics_text.h"
#include "storage/gateway/stat_client.h"

/* Where a number is in struct adv_gateway_counts. */
#define AT(member) offsetof(struct adv_gateway_counts, member)

/* A metric of servers and of clients. Those of the same name stand together. */
static const struct {
	const char *name, *help;
	const char *label; /* a last label; "": none */
	size_t at;
	bool seconds; /* the number counts ns */
} metrics[] = {
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

static void write_labels(FILE *f, const struct adv_gateway_stat *gateway,
			 const struct adv_gateway_stat_row *row)
{
	char control[ADV_METRICS_LABEL], name[ADV_METRICS_LABEL];

	adv_metrics_escape(control, gateway->gateway);
	adv_metrics_escape(name, row->name);
	fprintf(f, "{gateway=\"%s\",%s=\"%s\"", control, row->server ? "server" : "client", name);
}

static void write_metric(FILE *f, const struct adv_gateway_stat *gateways, size_t count,
			 bool servers, unsigned m)
{
	const char *prefix = servers ? "adverb_gateway_server_" : "adverb_gateway_client_";
	uint64_t number;

	if (metrics[m].help)
		fprintf(f, "# HELP %s%s %s\n# TYPE %s%s counter\n", prefix, metrics[m].name,
			metrics[m].help, prefix, metrics[m].name);
	for (size_t g = 0; g < count; g++) {
		for (size_t i = 0; i < gateways[g].count; i++) {
			const struct adv_gateway_stat_row *row = &gateways[g].row[i];

			if (row->server != servers)
				continue;
			memcpy(&number, (const char *)&row->counts + metrics[m].at, sizeof(number));
			fprintf(f, "%s%s", prefix, metrics[m].name);
			write_labels(f, &gateways[g], row);
			fprintf(f, "%s}", metrics[m].label);
			adv_metrics_write_number(f, number, metrics[m].seconds);
		}
	}
}

static void write_connections(FILE *f, const struct adv_gateway_stat *gateways, size_t count)
{
	const char *name = "adverb_gateway_client_connections";

	fprintf(f, "# HELP %s Connections that the client has.\n# TYPE %s gauge\n", name, name);
	for (size_t g = 0; g < count; g++) {
		for (size_t i = 0; i < gateways[g].count; i++) {
			const struct adv_gateway_stat_row *row = &gateways[g].row[i];

			if (row->server)
				continue;
			fprintf(f, "%s", name);
			write_labels(f, &gateways[g], row);
			fprintf(f, "} %" PRIu64 "\n", row->connections);
		}
	}
}

void adv_metrics_write_gateways(FILE *f)
{
	char names[ADV_NVME_CONTROL_NAMES][ADV_NVME_CONTROL_NAME + 1];
	char why[ADV_NVME_CONTROL_REPLY];
	size_t named = adv_nvme_control_names(&adv_nvme_control_gateway, names), count = 0;
	struct adv_gateway_stat *gateways = calloc(named + 1, sizeof(*gateways));

	for (size_t i = 0; gateways && i < named; i++)
		count += adv_gateway_stat_read(names[i], &gateways[count], why);
	for (unsigned servers = 0; servers < 2 && count > 0; servers++) {
		for (unsigned m = 0; m < ADV_ARRAY_SIZE(metrics); m++)
			write_metric(f, gateways, count, servers, m);
	}
	if (count > 0)
		write_connections(f, gateways, count);
	for (size_t i = 0; i < count; i++)
		adv_gateway_stat_free(&gateways[i]);
	free(gateways);
}
