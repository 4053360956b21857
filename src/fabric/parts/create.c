/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Divides a fabric, and gives each part what belongs to it. */
#include "fabric/parts/part.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/lines.h"
#include "fabric/network/payload.h"

/* ---- create ---- */

static struct adv_part *make_part(struct adv_parts *all, uint32_t index, uint32_t count)
{
	/* In cache lines of its own, since threads write to parts all the time. */
	struct adv_part *p = adv_lines_calloc(sizeof(*p));
	struct adv_fabric *f;

	if (!p)
		return NULL;
	p->all = all;
	p->index = index;
	f = &p->fabric;
	*f = *all->whole;
	f->part = p;
	f->calendar = adv_calendar_create(f->wires / count, f->look_ahead);
	f->pool = (struct adv_packet_pool){.unused = NULL};
	f->events = f->lost = f->jobs_left = f->endless = 0;
	f->memory = adv_fabric_payload_create(ADV_FABRIC_MESSAGE_MAX);
	for (unsigned i = 0; i < 2; i++)
		p->out[i] = calloc(count, sizeof(*p->out[i]));
	all->part[index] = p;
	return f->calendar && f->memory && p->out[0] && p->out[1] ? p : NULL;
}

/* Gives each part its hosts, switches and transfers. */
static void hand_out(struct adv_parts *all)
{
	struct adv_fabric *f = all->whole;
	const struct adv_topology *t = f->config.topology;

	for (uint32_t i = 0; i < f->wires; i++) {
		struct adv_wire *w = &f->wire[i];

		w->crosses = all->of_node[w->from.node] != all->of_node[w->to.node];
		if (w->crosses) /* no host is at a wire that crosses */
			f->node[w->from.node - t->hosts].borders = true;
	}
	for (uint32_t h = 0; h < t->hosts; h++)
		adv_mr_move(f->host[h].mr, all->part[all->of_node[h]]->fabric.memory);
	for (uint32_t s = 0; s < t->switches; s++) {
		struct adv_fabric *part = &all->part[all->of_node[t->hosts + s]]->fabric;

		f->node[s].fabric = part;
		adv_switch_set_pool(f->node[s].sw, &part->pool);
	}
	for (uint32_t j = 0; j < f->jobs; j++) {
		struct adv_fabric *part = &all->part[f->job[j].part]->fabric;

		if (f->job[j].state.bytes == UINT64_MAX)
			part->endless++;
		else
			part->jobs_left++;
	}
	f->endless = f->jobs_left = 0;
}

/* Gives the events to the calendars of their parts. Returns 0 or ENOMEM. */
static int hand_out_events(struct adv_fabric *f)
{
	struct adv_calendar *old = f->calendar;
	const struct adv_calendar_event *e;

	f->calendar = adv_calendar_create(1, false); /* of the few events that look at all parts */
	while (f->calendar && (e = adv_calendar_take(old, ADV_CALENDAR_NEVER - 1)))
		adv_fabric_at(f, e->at, e->what >> ADV_DUE_SHIFT, e->what & ADV_DUE_INDEX);
	if (!f->calendar || adv_calendar_failed(old))
		f->no_memory = true;
	if (!f->calendar)
		f->calendar = old;
	else
		adv_calendar_destroy(old);
	for (uint32_t i = 0; i < f->parts->count; i++)
		f->no_memory |= f->parts->part[i]->fabric.no_memory;
	return f->no_memory ? ENOMEM : 0;
}

/* Sets which parts this process simulates, and by how many threads. False: no memory. */
static bool share_parts(struct adv_parts *all, uint32_t threads, const struct adv_ranks *ranks)
{
	bool good = true;

	all->end = all->count;
	if (ranks)
		good = adv_ranks_open(all, ranks);
	all->threads = all->end - all->begin;
	if (all->threads > threads)
		all->threads = threads;
	if (all->threads == 0)
		all->threads = 1;
	return good;
}

static int64_t divide_fabric(struct adv_fabric *f, uint32_t count, uint32_t threads,
			     const struct adv_ranks *ranks)
{
	const struct adv_topology *t = f->config.topology;
	struct adv_parts *all;
	bool good;

	if (f->parts || f->events || f->external || count < 1 || count > ADV_PARTS_MAX ||
	    threads < 1) {
		errno = EINVAL;
		return -1;
	}
	all = calloc(1, sizeof(*all));
	if (all)
		all->of_node = calloc(t->hosts + t->switches, sizeof(*all->of_node));
	if (all && all->of_node) {
		all->whole = f;
		all->count = adv_part_divide(f, count, all->of_node, &all->lookahead);
	}
	if (all && all->count == 1) {
		adv_parts_destroy(all);
		return 1;
	}
	good = all && all->count;
	for (uint32_t i = 0; good && i < all->count; i++)
		good = make_part(all, i, all->count) != NULL;
	good = good && share_parts(all, threads, ranks);
	if (!good) {
		adv_parts_destroy(all);
		errno = ENOMEM;
		return -1;
	}
	f->parts = all;
	hand_out(all);
	errno = hand_out_events(f);
	return errno ? -1 : (int64_t)all->count;
}

int64_t adv_fabric_divide(struct adv_fabric *f, uint32_t count, uint32_t threads)
{
	return divide_fabric(f, count, threads, NULL);
}

int64_t adv_fabric_divide_ranks(struct adv_fabric *f, uint32_t threads,
				const struct adv_ranks *ranks)
{
	uint64_t count = (uint64_t)threads * ranks->count;

	return divide_fabric(f, count > ADV_PARTS_MAX ? 0 : (uint32_t)count, threads,
			     ranks->count > 1 ? ranks : NULL);
}

/* ---- destroy ---- */

static void free_part(struct adv_part *p, uint32_t count)
{
	for (unsigned k = 0; k < 2; k++) {
		for (uint32_t i = 0; p->out[k] && i < count; i++)
			adv_outbox_free(&p->out[k][i]);
		free(p->out[k]);
	}
	adv_packet_pool_free(&p->fabric.pool);
	adv_calendar_destroy(p->fabric.calendar);
	adv_fabric_payload_destroy(p->fabric.memory, ADV_FABRIC_MESSAGE_MAX);
	free(p->report);
	free(p);
}

void adv_parts_destroy(struct adv_parts *all)
{
	if (!all)
		return;
	adv_parts_join(all);
	adv_ranks_close(all);
	for (uint32_t i = 0; i < all->count; i++)
		if (all->part[i])
			free_part(all->part[i], all->count);
	free(all->of_node);
	free(all);
}
