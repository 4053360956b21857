/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Parts note what they report. When all have come to a time, the reports up to it are told in the
 * order in which one calendar would have caused them. */
#include <stdlib.h>
#include <string.h>

#include "fabric/part.h"

void adv_part_note(struct adv_fabric *f, const struct adv_fabric_event *event)
{
	struct adv_part *p = f->part;

	if (p->reports == p->report_room) {
		uint32_t room = p->report_room ? 2 * p->report_room : 1024;
		struct adv_part_report *report = realloc(p->report, room * sizeof(*report));

		if (!report) {
			f->no_memory = true;
			return;
		}
		p->report = report;
		p->report_room = room;
	}
	p->report[p->reports++] = (struct adv_part_report){*event, p->level};
}

static bool is_before(const struct adv_part_report *a, const struct adv_part_report *b)
{
	return a->event.at < b->event.at || (a->event.at == b->event.at && a->level < b->level);
}

/* Returns the part with the first report that is not told; told[]: those of each part. NULL: there
 * is none up to `to`. */
static struct adv_part *first_part(const struct adv_parts *all, const uint32_t *told, uint64_t to)
{
	struct adv_part *first = NULL;

	for (uint32_t i = 0; i < all->count; i++) {
		struct adv_part *p = all->part[i];

		if (told[i] == p->reports || p->report[told[i]].event.at > to)
			continue;
		if (!first || is_before(&p->report[told[i]], &first->report[told[first->index]]))
			first = p;
	}
	return first;
}

void adv_parts_tell_all(struct adv_parts *all, uint64_t to)
{
	struct adv_fabric *f = all->whole;
	uint32_t told[ADV_PARTS_MAX] = {0};
	uint64_t now = f->now;
	struct adv_part *p;

	all->telling = true;
	while ((p = first_part(all, told, to)) != NULL) {
		const struct adv_fabric_event *e = &p->report[told[p->index]++].event;

		f->now = e->at;
		if (f->watch)
			f->watch(f->watch_user, e);
	}
	all->telling = false;
	f->now = now;
	for (uint32_t i = 0; i < all->count; i++) {
		p = all->part[i];
		p->reports -= told[i];
		if (p->reports)
			memmove(p->report, p->report + told[i], p->reports * sizeof(*p->report));
	}
}
