/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads what the page of targets shows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/top_storage.h"

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
	r->host = row->nsid == 0;
	if (r->host)
		snprintf(r->name, sizeof(r->name), "%s", row->nqn);
	else
		snprintf(r->name, sizeof(r->name), "%s %u", row->nqn, row->nsid);
	if (before)
		r->rates =
			adv_nvme_stat_rates(row, before, (double)(now->at_ns - last->at_ns) / 1e9);
}

/* Makes the rows of new readings. */
static void make_rows(struct adv_top_storage *s, const struct adv_nvme_stat *now, size_t count)
{
	size_t most = 0;

	for (size_t t = 0; t < count; t++)
		most += now[t].count;
	free(s->row);
	s->count = 0;
	s->row = calloc(most + 1, sizeof(*s->row));
	for (unsigned hosts = 0; s->row && hosts < 2; hosts++) {
		for (size_t t = 0; t < count; t++) {
			const struct adv_nvme_stat *last = find_last(s, now[t].target);

			for (size_t i = 0; i < now[t].count; i++) {
				const struct adv_nvme_stat_row *row = &now[t].row[i];

				if ((row->nsid == 0) == hosts && (!hosts || row->controllers))
					add_row(s, &now[t], row, last);
			}
		}
	}
}

static void free_last(struct adv_top_storage *s)
{
	for (size_t i = 0; i < s->last_count; i++)
		adv_nvme_stat_free(&s->last[i]);
	free(s->last);
	s->last = NULL;
	s->last_count = 0;
}

void adv_top_storage_read(struct adv_top_storage *s)
{
	char names[ADV_NVME_STAT_TARGETS][ADV_NVME_CONTROL_NAME + 1];
	char why[ADV_NVME_CONTROL_REPLY];
	size_t named = adv_nvme_stat_targets(names), count = 0;
	struct adv_nvme_stat *now = calloc(named + 1, sizeof(*now));

	if (!now)
		return;
	for (size_t i = 0; i < named; i++)
		count += adv_nvme_stat_read(names[i], &now[count], why);
	make_rows(s, now, count);
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
