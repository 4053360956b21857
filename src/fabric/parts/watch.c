/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Parts note what they report. When all have come to a time, the reports up to it are told in the
 * order in which one calendar would have caused them. */
#include <stdlib.h>
#include <string.h>

#include "fabric/parts/part.h"
#include "base/grow.h"

/* Adds a report. Without memory the run stops. */
static void add_report(struct adv_part *p, const struct adv_part_report *report)
{
	if (adv_grow(&p->report, p->reports, &p->report_room, sizeof(*p->report)))
		p->report[p->reports++] = *report;
	else
		p->fabric.no_memory = true;
}

void adv_part_note(struct adv_fabric *f, const struct adv_fabric_event *event)
{
	const struct adv_parts *all = f->part->all;

	add_report(f->part, &(struct adv_part_report){*event, all->global ? all->global_level
									  : f->part->level});
}

/* ---- reports of other ranks ---- */

/* True if a report can be told. */
static bool is_good_report(const struct adv_fabric *f, const struct adv_part_report *report)
{
	const struct adv_fabric_event *e = &report->event;
	const struct adv_topology *t = f->config.topology;

	if (e->priority >= ADV_PRIORITIES)
		return false;
	switch (e->kind) {
	case ADV_FABRIC_SWITCH:
		return e->what <= ADV_SWITCH_UP && e->node < t->switches &&
		       e->port < t->ports[t->hosts + e->node];
	case ADV_FABRIC_HOST_PAUSED:
		return e->node < t->hosts;
	case ADV_FABRIC_TRANSFER:
		return e->value < f->jobs;
	case ADV_FABRIC_SAMPLE:
		break;
	}
	return false;
}

bool adv_ranks_read_reports(struct adv_parts *all, uint32_t from, unsigned what,
			    struct adv_mail_reader r)
{
	uint32_t count = 0;

	for (uint32_t i = adv_rank_first(all, from); r.left && i < adv_rank_first(all, from + 1);
	     i++) {
		const uint8_t *at;

		if (!adv_mail_take(&r, &count, sizeof(count)))
			return false;
		at = adv_mail_take_many(&r, count, sizeof(struct adv_part_report));
		for (uint32_t k = 0; at && k < count; k++) {
			struct adv_part_report report;

			memcpy(&report, at + (size_t)k * sizeof(report), sizeof(report));
			if (!is_good_report(all->whole, &report))
				return false;
			add_report(all->part[i], &report);
		}
		if (!at)
			return false;
	}
	return r.left == 0;
}

/* Sends the reports of this rank to rank 0, which receives those of the others. */
static void exchange_reports(struct adv_parts *all)
{
	for (uint32_t i = all->begin; all->ranks->of->rank != 0 && i < all->end; i++) {
		struct adv_part *p = all->part[i];

		adv_mail_add(adv_ranks_mail(all, 0), &p->reports, sizeof(p->reports));
		adv_mail_add(adv_ranks_mail(all, 0), p->report, p->reports * sizeof(*p->report));
		p->reports = 0;
	}
	adv_ranks_exchange(all);
	if (all->ranks->of->rank == 0)
		adv_ranks_read(all, adv_ranks_read_reports, 0);
}

/* ---- tell ---- */

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

	if (all->ranks && f->watch)
		exchange_reports(all);
	if (adv_part_follows(f))
		return;
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
