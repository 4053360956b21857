/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads what the page of targets and gateways shows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/top/storage.h"

static const struct adv_nvme_stat *find_last(const struct adv_top_storage *s, const char *target)
{
	for (size_t i = 0; i < s->last_count; i++) {
		if (strcmp(s->last[i].target, target) == 0)
			return &s->last[i];
	}
	return NULL;
}

static void add_row(struct adv_top_storage *s, const struct adv_nvme_stat *now,
		    const struct adv_nvme_stat_row *row, const struct adv_nvme_stat *last)
{
	const struct adv_nvme_stat_row *before = last ? adv_nvme_stat_find(last, row) : NULL;
	struct adv_top_storage_row *r = &s->row[s->count++];

	snprintf(r->target, sizeof(r->target), "%s", now->target);
	r->kind = row->nsid ? ADV_TOP_NAMESPACE : ADV_TOP_HOST;
	if (r->kind == ADV_TOP_HOST)
		snprintf(r->name, sizeof(r->name), "%s", row->nqn);
	else
		snprintf(r->name, sizeof(r->name), "%s %u", row->nqn, row->nsid);
	if (before)
		r->rates =
			adv_nvme_stat_rates(row, before, (double)(now->at_ns - last->at_ns) / 1e9);
}

/* Adds the namespaces or the hosts of all targets. */
static void add_targets(struct adv_top_storage *s, const struct adv_nvme_stat *now, size_t count,
			bool hosts)
{
	for (size_t t = 0; t < count; t++) {
		const struct adv_nvme_stat *last = find_last(s, now[t].target);

		for (size_t i = 0; i < now[t].count; i++) {
			const struct adv_nvme_stat_row *row = &now[t].row[i];

			if ((row->nsid == 0) == hosts && (!hosts || row->controllers))
				add_row(s, &now[t], row, last);
		}
	}
}

static const struct adv_gateway_stat *find_last_gateway(const struct adv_top_storage *s,
							const char *gateway)
{
	for (size_t i = 0; i < s->gateway_count; i++) {
		if (strcmp(s->last_gateways[i].gateway, gateway) == 0)
			return &s->last_gateways[i];
	}
	return NULL;
}

/* Adds the server and the clients of a gateway that are connected. */
static void add_gateway(struct adv_top_storage *s, const struct adv_gateway_stat *now)
{
	const struct adv_gateway_stat *last = find_last_gateway(s, now->gateway);

	for (size_t i = 0; i < now->count; i++) {
		const struct adv_gateway_stat_row *row = &now->row[i];
		const struct adv_gateway_stat_row *before =
			last ? adv_gateway_stat_find(last, row) : NULL;
		struct adv_top_storage_row *r = &s->row[s->count];

		if (!row->server && !row->connections)
			continue;
		s->count++;
		r->kind = ADV_TOP_GATEWAY;
		snprintf(r->target, sizeof(r->target), "%s", now->gateway);
		snprintf(r->name, sizeof(r->name), "%s", row->name);
		if (before)
			r->calls = adv_gateway_stat_rates(row, before,
							  (double)(now->at_ns - last->at_ns) / 1e9);
	}
}

/* Makes the rows of new readings. */
static void make_rows(struct adv_top_storage *s, const struct adv_nvme_stat *now, size_t count,
		      const struct adv_gateway_stat *gateways, size_t gateway_count)
{
	size_t most = 1; /* the title */

	for (size_t t = 0; t < count; t++)
		most += now[t].count;
	for (size_t g = 0; g < gateway_count; g++)
		most += gateways[g].count;
	free(s->row);
	s->count = 0;
	s->row = calloc(most, sizeof(*s->row));
	if (!s->row)
		return;
	add_targets(s, now, count, false);
	add_targets(s, now, count, true);
	if (gateway_count > 0)
		s->row[s->count++].kind = ADV_TOP_GATEWAY_TITLE;
	for (size_t g = 0; g < gateway_count; g++)
		add_gateway(s, &gateways[g]);
}

static void free_last(struct adv_top_storage *s)
{
	for (size_t i = 0; i < s->last_count; i++)
		adv_nvme_stat_free(&s->last[i]);
	for (size_t i = 0; i < s->gateway_count; i++)
		adv_gateway_stat_free(&s->last_gateways[i]);
	free(s->last);
	free(s->last_gateways);
	s->last = NULL;
	s->last_gateways = NULL;
	s->last_count = s->gateway_count = 0;
}

void adv_top_storage_read(struct adv_top_storage *s)
{
	char names[ADV_NVME_CONTROL_NAMES][ADV_NVME_CONTROL_NAME + 1];
	char why[ADV_NVME_CONTROL_REPLY];
	size_t count = 0, gateway_count = 0, named;
	struct adv_nvme_stat *now = calloc(ADV_NVME_CONTROL_NAMES, sizeof(*now));
	struct adv_gateway_stat *gateways = calloc(ADV_NVME_CONTROL_NAMES, sizeof(*gateways));

	if (!now || !gateways) {
		free(now);
		free(gateways);
		return;
	}
	named = adv_nvme_control_names(&adv_nvme_control_target, names);
	for (size_t i = 0; i < named; i++)
		count += adv_nvme_stat_read(names[i], &now[count], why);
	named = adv_nvme_control_names(&adv_nvme_control_gateway, names);
	for (size_t i = 0; i < named; i++)
		gateway_count += adv_gateway_stat_read(names[i], &gateways[gateway_count], why);
	make_rows(s, now, count, gateways, gateway_count);
	free_last(s);
	s->last = now;
	s->last_count = count;
	s->last_gateways = gateways;
	s->gateway_count = gateway_count;
}

void adv_top_storage_free(struct adv_top_storage *s)
{
	free_last(s);
	free(s->row);
	s->row = NULL;
	s->count = 0;
}
