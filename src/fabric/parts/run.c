/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Runs the parts of a network in threads, and the events that look at all parts. */
#include <signal.h>

#include "fabric/parts/part.h"
#include "fabric/network/settle.h"

/* ---- a thread's parts ---- */

/* Receives what was sent in the last step, and begins the next one. */
static void begin_step(struct adv_part *p)
{
	adv_part_receive(p, p->parity);
	p->parity ^= 1;
	adv_part_clear(p, p->parity);
}

static void begin_run(struct adv_part *p)
{
	p->parity = 0;
	adv_part_clear(p, 0);
	p->events_before = p->fabric.events;
	adv_part_publish(p, 0);
}

/* Processes the departures of the part's switches at the end of a run. They count as events, so it
 * comes before the last meeting: all ranks have to know the same number. */
static void settle_part(struct adv_part *p, uint64_t to)
{
	const struct adv_fabric *f = &p->fabric;

	for (uint32_t s = 0; s < f->config.topology->switches; s++)
		if (f->node[s].fabric == f)
			adv_fabric_settle(&p->fabric, &f->node[s], to);
}

/* Waits for the other threads, and the other ranks, at the end of a step. */
static void meet_others(struct adv_parts *all, uint32_t thread, unsigned parity)
{
	adv_barrier_meet(&all->barrier);
	if (!all->ranks)
		return;
	if (thread == 0)
		adv_ranks_step(all, parity);
	adv_barrier_meet(&all->barrier);
}

/* Runs the parts of a thread. */
static struct adv_step_plan run_parts(struct adv_parts *all, uint32_t thread)
{
	struct adv_step_plan plan = {.verdict = ADV_VERDICT_ON};
	uint32_t first = all->begin + thread, each = all->threads;
	unsigned parity = 0;

	for (uint32_t i = first; i < all->end; i += each)
		begin_run(all->part[i]);
	while (plan.verdict == ADV_VERDICT_ON) {
		meet_others(all, thread, parity);
		plan = adv_part_plan(all, parity);
		parity ^= 1;
		for (uint32_t i = first; i < all->end; i += each) {
			begin_step(all->part[i]);
			if (plan.verdict == ADV_VERDICT_END)
				adv_part_finish(all->part[i], &plan);
			if (plan.verdict == ADV_VERDICT_ON)
				adv_part_advance(all->part[i], &plan);
			else
				settle_part(all->part[i], plan.at);
			adv_part_publish(all->part[i], parity);
		}
	}
	meet_others(all, thread, parity);
	/* What the parts have sent in the last events arrives in a later run. */
	for (uint32_t i = first; i < all->end; i += each)
		adv_part_receive(all->part[i], parity);
	/* The caller's thread goes on when all others wait for the next run. */
	adv_barrier_meet(&all->barrier);
	return plan;
}

/* ---- threads ---- */

static void *thread_main(void *user)
{
	struct adv_part *p = user;

	for (;;) {
		adv_barrier_meet(&p->all->barrier);
		if (p->all->quit)
			return NULL;
		run_parts(p->all, p->index - p->all->begin);
	}
}

void adv_parts_join(struct adv_parts *all)
{
	if (!all->started)
		return;
	/* If not all threads could be created, the others wait for their first run. */
	all->quit = true;
	for (uint32_t i = all->started; i < all->threads; i++)
		adv_barrier_arrive(&all->barrier);
	adv_barrier_meet(&all->barrier);
	for (uint32_t i = 1; i < all->started; i++)
		pthread_join(all->part[all->begin + i]->thread, NULL);
	all->started = 0;
	all->quit = false;
}

/* Creates all threads but the caller's. Signals are for the caller's. */
static bool start_threads(struct adv_parts *all)
{
	sigset_t every, before;
	bool good = true;

	if (all->started)
		return true;
	adv_barrier_init(&all->barrier, all->threads);
	sigfillset(&every);
	pthread_sigmask(SIG_SETMASK, &every, &before);
	for (all->started = 1; good && all->started < all->threads; all->started += good) {
		struct adv_part *p = all->part[all->begin + all->started];

		good = pthread_create(&p->thread, NULL, thread_main, p) == 0;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!good)
		adv_parts_join(all);
	return good;
}

/* ---- the run ---- */

/* Gives the parts what was added to the whole fabric since the last run, or by an event that looks
 * at all parts. It may be due at once. */
static void refresh_parts(struct adv_parts *all)
{
	const struct adv_fabric *f = all->whole;

	for (uint32_t i = 0; i < all->count; i++) {
		struct adv_fabric *p = &all->part[i]->fabric;

		if (all->part[i]->done_to > f->now)
			all->part[i]->done_to = f->now;
		p->wire_rng = f->wire_rng;
		p->peer = f->peer;
		p->peers = f->peers;
		p->job = f->job;
		p->jobs = f->jobs;
		p->edge = f->edge;
		p->edges = f->edges;
		p->storm = f->storm;
		p->storms = f->storms;
		p->failures = f->failures;
		p->watch = f->watch;
		p->watch_user = f->watch_user;
		p->count_received = f->count_received;
		p->awaited = f->awaited;
		p->done = false;
	}
}

/* Runs all parts up to `limit`. */
static struct adv_step_plan run_all(struct adv_parts *all, uint64_t limit, uint64_t events)
{
	struct adv_step_plan plan;

	all->limit = limit;
	all->events = events;
	all->ends = false;
	for (uint32_t i = 0; i < all->count; i++)
		all->ends |= all->part[i]->fabric.jobs_left || all->part[i]->fabric.endless;
	adv_barrier_meet(&all->barrier);
	plan = run_parts(all, 0);
	adv_parts_tell_all(all, plan.at);
	return plan;
}

/* Returns the time of the last event of all parts. */
static uint64_t latest_time(const struct adv_parts *all)
{
	uint64_t at = 0;

	for (uint32_t i = 0; i < all->count; i++)
		if (all->part[i]->fabric.now > at)
			at = all->part[i]->fabric.now;
	return at;
}

/* Fetches from the other ranks what an event reads. */
static void gather_before(struct adv_fabric *f, enum adv_due kind)
{
	if (kind == ADV_DUE_CHECK)
		adv_ranks_gather(f->parts, ADV_GATHER_WAITS);
	if (kind == ADV_DUE_SAMPLE && f->watch)
		adv_ranks_gather(f->parts, ADV_GATHER_SAMPLE);
}

/* Processes the next event of the whole fabric, if it is due at `limit`. */
static void process_global(struct adv_fabric *f, uint64_t limit)
{
	const struct adv_calendar_event *e = adv_calendar_take(f->calendar, limit);
	uint64_t at;

	if (!e)
		return;
	at = e->at;
	if (f->parts->ranks)
		gather_before(f, e->what >> ADV_DUE_SHIFT);
	for (uint32_t i = 0; i < f->parts->count; i++)
		f->parts->part[i]->fabric.now = at;
	f->parts->global = true;
	f->parts->global_level = 0;
	adv_fabric_process(f, *e);
	f->parts->global = false;
	if (f->parts->ranks)
		adv_parts_tell_all(f->parts, at);
	for (uint32_t i = 0; i < f->parts->count; i++)
		f->no_memory |= f->parts->part[i]->fabric.no_memory;
	refresh_parts(f->parts);
}

/* Lets the other ranks run too. */
static void command_run(const struct adv_fabric *f, uint64_t until, uint64_t events)
{
	struct adv_rank_command c = {.what = ADV_RANKS_RUN,
				     .watch = f->watch != NULL,
				     .count_received = f->count_received,
				     .until = until,
				     .events = events,
				     .sample = f->sample};

	adv_ranks_command(f->parts, &c);
}

/* Other ranks do not learn that this one has no memory, so all end. */
static enum adv_fabric_stop no_memory(const struct adv_parts *all)
{
	if (all->ranks)
		adv_ranks_fail(all, "no memory");
	return ADV_FABRIC_NO_MEMORY;
}

enum adv_fabric_stop adv_parts_run(struct adv_fabric *f, uint64_t until, uint64_t events)
{
	struct adv_parts *all = f->parts;
	uint64_t begin = adv_parts_events(f), last = until < ADV_CALENDAR_NEVER ? until : until - 1;

	if (events == 0)
		return ADV_FABRIC_EVENTS;
	if (all->ranks && !adv_part_follows(f))
		command_run(f, until, events);
	if (!start_threads(all))
		return no_memory(all);
	refresh_parts(all);
	for (;;) {
		uint64_t done = adv_parts_events(f) - begin, next = adv_calendar_next(f->calendar);
		struct adv_step_plan plan;

		if (done >= events)
			return ADV_FABRIC_EVENTS;
		plan = run_all(all, next < last ? next : last, events - done);
		if (plan.verdict == ADV_VERDICT_FAILED)
			return ADV_FABRIC_NO_MEMORY;
		f->now = plan.at < ADV_CALENDAR_NEVER - 1 ? plan.at : latest_time(all);
		if (plan.verdict == ADV_VERDICT_END)
			return ADV_FABRIC_DONE;
		if (plan.verdict == ADV_VERDICT_EVENTS)
			continue;
		if (next <= last)
			process_global(f, plan.at);
		if (f->no_memory)
			return no_memory(all);
		if (adv_fabric_new_deadlock(f))
			return ADV_FABRIC_DEADLOCK;
		if (next > last)
			return ADV_FABRIC_UNTIL;
	}
}
