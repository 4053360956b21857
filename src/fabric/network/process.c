/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What happens at each event. */
#include <stdlib.h>

#include "fabric/network/ahead.h"
#include "fabric/network/flying.h"
#include "fabric/parts/part.h"
#include "fabric/network/settle.h"
#include "fabric/network/trouble.h"
#include "fabric/network/turn.h"

/* ---- wires ---- */

static void frame_sent(struct adv_fabric *f, uint32_t wire)
{
	const struct adv_wire *w = &f->wire[wire];
	uint32_t hosts = f->hosts, node = w->from.node;

	if (node >= hosts) {
		adv_fabric_settle(f, &f->node[node - hosts], f->now);
		adv_fabric_sent(f, &f->node[node - hosts], wire);
		return;
	}
	adv_fabric_host_sent(f, &f->host[node], w->sending);
	adv_fabric_finish_sending(f, wire);
	adv_fabric_host_send(f, &f->host[node]);
}

/* Handles a frame that arrives and is no data. */
static void deliver_other(struct adv_fabric *f, uint32_t wire, struct adv_packet *p)
{
	adv_packet_list_push(&f->wire[wire].pauses, p);
	adv_fabric_at(f, f->now + f->config.pause_response, ADV_DUE_PAUSE, wire);
}

/* Adds the event of the next frame on a wire whose frame has arrived: at the same node. */
static inline void arrives_next(struct adv_fabric *f, uint64_t at, uint32_t wire)
{
	uint32_t what = (uint32_t)ADV_DUE_ARRIVE << ADV_DUE_SHIFT | wire;

	if (at >= f->turn.end)
		adv_fabric_arrives_at(f, at, wire);
	else if (!adv_turn_add(&f->turn, at, what))
		f->no_memory = true;
}

static inline __attribute__((always_inline)) void deliver_frame(struct adv_fabric *f, uint32_t wire)
{
	struct adv_wire *w = &f->wire[wire];
	struct adv_packet *p = adv_packet_list_pop(&w->flying);
	uint32_t hosts = f->hosts, node = w->to.node;

	if (w->flying.head) {
		__builtin_prefetch(w->flying.head);
		arrives_next(f, p->at, wire);
	}
	if (p->kind == ADV_PACKET_LOST) { /* no event of the network */
		f->events--;
		adv_packet_give_back(&f->pool, p);
		return;
	}
	if (w->lose_per_million && adv_fabric_loses(f, wire, p))
		return;
	if (w->seen_arriving)
		adv_fabric_show(f, wire, false, p);
	if (p->kind != ADV_PACKET_DATA) {
		deliver_other(f, wire, p);
	} else if (node >= hosts) {
		adv_fabric_switch_rx(f, &f->node[node - hosts], w->to.port, p);
	} else {
		adv_fabric_host_rx(f, &f->host[node], p);
	}
}

static void pause_takes_effect(struct adv_fabric *f, uint32_t wire)
{
	struct adv_wire *w = &f->wire[wire];
	struct adv_packet *p = adv_packet_list_pop(&w->pauses);
	uint32_t hosts = f->hosts;

	if (p->kind == ADV_PACKET_LOST) {
		/* The cable has failed meanwhile. */
	} else if (w->to.node >= hosts) {
		adv_fabric_settle(f, &f->node[w->to.node - hosts], f->now);
		adv_switch_pause(f->node[w->to.node - hosts].sw, f->now, w->to.port, p);
		adv_fabric_serve(f, w->to.node - hosts);
	} else {
		adv_fabric_host_pause(f, &f->host[w->to.node], p);
	}
	adv_packet_give_back(&f->pool, p);
}

/* ---- events ---- */

static void switch_timer(struct adv_fabric *f, uint32_t s)
{
	if (f->node[s].timer_at != f->now)
		return;
	adv_fabric_settle(f, &f->node[s], f->now);
	f->node[s].timer_at = ADV_CALENDAR_NEVER;
	adv_switch_expire(f->node[s].sw, f->now);
	adv_fabric_serve(f, s);
}

static void check_deadlock(struct adv_fabric *f)
{
	unsigned had = f->cycle_length;

	f->cycle_length = adv_fabric_find_deadlock(f, f->cycle, f->cycle_room);
	if (f->cycle_length > f->cycle_room) {
		struct adv_fabric_wait *cycle = realloc(f->cycle, f->cycle_length * sizeof(*cycle));

		f->no_memory |= !cycle;
		if (cycle) {
			f->cycle = cycle;
			f->cycle_room = f->cycle_length;
			adv_fabric_find_deadlock(f, f->cycle, f->cycle_room);
		}
	}
	f->deadlock_told = had != 0 && f->cycle_length != 0;
	adv_fabric_at(f, f->now + f->config.check_deadlock, ADV_DUE_CHECK, 0);
}

static void start_transfer(struct adv_fabric *f, uint32_t job)
{
	struct adv_fabric_host *h = adv_fabric_start(f, job);

	if (h)
		adv_fabric_host_progress(f, h);
}

/* Processes the events that are not of each frame. */
static __attribute__((noinline)) void process_due(struct adv_fabric *f, enum adv_due kind,
						  uint32_t i)
{
	if (kind >= ADV_DUE_CABLE) /* they look at all switches */
		adv_fabric_settle_all(f, f->now);
	switch (kind) {
	case ADV_DUE_SENT:
	case ADV_DUE_ARRIVE:
		break;
	case ADV_DUE_SETTLE:
		f->events--; /* the departures count */
		adv_fabric_settle_due(f, &f->node[i]);
		break;
	case ADV_DUE_PAUSE:
		pause_takes_effect(f, i);
		break;
	case ADV_DUE_SWITCH:
		switch_timer(f, i);
		break;
	case ADV_DUE_HOST:
		adv_fabric_host_timer(f, &f->host[i], f->now);
		break;
	case ADV_DUE_DRAIN:
		adv_fabric_host_drain(f, &f->host[i]);
		break;
	case ADV_DUE_REPEAT:
		adv_fabric_input_repeat(&f->host[i]);
		adv_fabric_host_send(f, &f->host[i]);
		break;
	case ADV_DUE_STORM:
		adv_fabric_storm_event(f, &f->storm[i]);
		adv_fabric_host_send(f, &f->host[f->storm[i].host]);
		break;
	case ADV_DUE_START:
		start_transfer(f, i);
		break;
	case ADV_DUE_FAILED:
		adv_fabric_failed(f, i);
		break;
	case ADV_DUE_CABLE:
		adv_fabric_cable(f, i);
		break;
	case ADV_DUE_CHECK:
		check_deadlock(f);
		break;
	case ADV_DUE_SAMPLE:
		adv_fabric_at(f, f->now + f->sample, ADV_DUE_SAMPLE, 0);
		adv_fabric_tell(
			f, &(struct adv_fabric_event){.at = f->now, .kind = ADV_FABRIC_SAMPLE});
		break;
	}
}

/* look_ahead: prefetches what the next events of the calendar need. In a turn these are of other
 * windows, so it is false. */
static inline __attribute__((always_inline)) void
process_event(struct adv_fabric *f, struct adv_calendar_event event, bool look_ahead)
{
	uint32_t kind = event.what >> ADV_DUE_SHIFT;

	f->now = event.at;
	f->events++;
	if (look_ahead)
		adv_fabric_look_ahead(f);
	if (kind == ADV_DUE_ARRIVE)
		deliver_frame(f, event.what & ADV_DUE_INDEX);
	else if (kind == ADV_DUE_SENT)
		frame_sent(f, event.what & ADV_DUE_INDEX);
	else
		process_due(f, kind, event.what & ADV_DUE_INDEX);
}

void adv_fabric_process(struct adv_fabric *f, struct adv_calendar_event event)
{
	process_event(f, event, f->look_ahead);
}

bool adv_fabric_new_deadlock(struct adv_fabric *f)
{
	if (!f->cycle_length || f->deadlock_told)
		return false;
	f->deadlock_told = true;
	return true;
}

/* ---- the loop ---- */

/* A window is begun if so many events may be processed. It may have more. */
#define WINDOW_EVENTS 1000

/* Lets the nodes take turns in windows, see turn.h. False: the next event has to be processed
 * alone. */
static bool run_window(struct adv_fabric *f, uint64_t until, uint64_t *events)
{
	uint64_t before = f->events, count;

	if (!adv_turns_begin(f, until))
		return false;
	do {
		while (adv_turns_next(f))
			while (f->turn.first != f->turn.last)
				process_event(f, *f->turn.first++, false);
		count = f->events - before;
	} while (count + WINDOW_EVENTS <= *events && adv_turns_again(f, until));
	adv_turns_end(f);
	*events -= count < *events ? count : *events;
	return true;
}

/* Processes the next event, or those of windows. False: none is due. */
static inline bool run_next(struct adv_fabric *f, uint64_t until, uint64_t *events)
{
	const struct adv_calendar_event *event = adv_calendar_peek(f->calendar, until);

	if (!event)
		return false;
	if (event->at >= f->turn.window_at && *events >= WINDOW_EVENTS &&
	    run_window(f, until, events))
		return true;
	event = adv_calendar_take(f->calendar, until);
	adv_fabric_process(f, *event);
	--*events;
	return true;
}

static enum adv_fabric_stop run_some(struct adv_fabric *f, uint64_t until, uint64_t events)
{
	f->done = false;
	f->turn.window_at = adv_turns_open(f);
	while (events && run_next(f, until, &events)) {
		if (f->no_memory || f->pool.failed)
			return ADV_FABRIC_NO_MEMORY;
		if (f->cycle_length && adv_fabric_new_deadlock(f))
			return ADV_FABRIC_DEADLOCK;
		if (f->done)
			return ADV_FABRIC_DONE;
	}
	if (events == 0)
		return ADV_FABRIC_EVENTS;
	if (adv_calendar_failed(f->calendar))
		return ADV_FABRIC_NO_MEMORY;
	if (until != ADV_CALENDAR_NEVER)
		f->now = until;
	return ADV_FABRIC_UNTIL;
}

enum adv_fabric_stop adv_fabric_run_calendar(struct adv_fabric *f, uint64_t until, uint64_t events)
{
	enum adv_fabric_stop stop = run_some(f, until, events);

	adv_fabric_settle_all(f, f->now);
	return stop;
}
