/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads what the page of targets and gateways shows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/top/storage.h"

/* Returns the last reading of the same program. NULL: there was none. */
static const struct adv_kit_stat *find_last(const struct adv_top_storage *s,
					    const struct adv_kit_stat *now)
{
	for (size_t i = 0; i < s->last_count; i++) {
		if (s->last[i].kind == now->kind && strcmp(s->last[i].program, now->program) == 0)
			return &s->last[i];
	}
	return NULL;
}

static void add_row(struct adv_top_storage *s, const struct adv_kit_stat *now,
		    const struct adv_kit_stat_row *row, const struct adv_kit_stat *last)
{
	const struct adv_kit_stat_row *before = last ? adv_kit_stat_find(last, row) : NULL;
	double seconds = last ? (double)(now->at_ns - last->at_ns) / 1e9 : 0;
	struct adv_top_storage_row *r = &s->row[s->count++];

	snprintf(r->target, sizeof(r->target), "%s", now->program);
	if (row->nsid)
		snprintf(r->name, sizeof(r->name), "%s %u", row->name, row->nsid);
	else
		snprintf(r->name, sizeof(r->name), "%s", row->name);
	if (now->kind == &adv_gateway_stat_kind)
		r->kind = ADV_TOP_GATEWAY;
	else
		r->kind = row->nsid ? ADV_TOP_NAMESPACE : ADV_TOP_HOST;
	if (before && r->kind == ADV_TOP_GATEWAY)
		r->calls = adv_gateway_stat_rates(row, before, seconds);
	else if (before)
		r->rates = adv_nvme_stat_rates(row, before, seconds);
}

/* Adds the rows of both lists of a program, or of one of them. */
static void add_program(struct adv_top_storage *s, const struct adv_kit_stat *now, unsigned first,
			unsigned last)
{
	const struct adv_kit_stat *before = find_last(s, now);

	for (size_t i = 0; i < now->count; i++) {
		const struct adv_kit_stat_row *row = &now->row[i];

		if (row->list >= first && row->list <= last && adv_kit_stat_is_shown(row))
			add_row(s, now, row, before);
	}
}

/* Makes the rows of new readings: of the targets, then of the gateways. */
static void make_rows(struct adv_top_storage *s, const struct adv_kit_stat *now, size_t targets,
		      size_t count)
{
	size_t most = 1; /* the title */

	for (size_t i = 0; i < count; i++)
		most += now[i].count;
	free(s->row);
	s->count = 0;
	s->row = calloc(most, sizeof(*s->row));
	if (!s->row)
		return;
	for (unsigned list = 0; list < ADV_KIT_STAT_LISTS; list++) {
		for (size_t i = 0; i < targets; i++)
			add_program(s, &now[i], list, list);
	}
	if (count > targets)
		s->row[s->count++].kind = ADV_TOP_GATEWAY_TITLE;
	for (size_t i = targets; i < count; i++)
		add_program(s, &now[i], 0, ADV_KIT_STAT_LISTS - 1);
}

static void free_last(struct adv_top_storage *s)
{
	for (size_t i = 0; i < s->last_count; i++)
		adv_kit_stat_free(&s->last[i]);
	free(s->last);
	s->last = NULL;
	s->last_count = 0;
}

void adv_top_storage_read(struct adv_top_storage *s)
{
	struct adv_kit_stat *now = calloc(2 * ADV_KIT_CONTROL_NAMES, sizeof(*now));
	size_t targets, count;

	if (!now)
		return;
	targets = adv_kit_stat_read_all(&adv_nvme_stat_kind, now);
	count = targets + adv_kit_stat_read_all(&adv_gateway_stat_kind, now + targets);
	make_rows(s, now, targets, count);
	free_last(s);
	s->last = now;
	s->last_count = count;
}

void adv_top_storage_free(struct adv_top_storage *s)
{
	free_last(s);
	free(s->row);
	s->row = NULL;
	s->count = 0;
}
