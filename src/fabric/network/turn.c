/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "fabric/network/turn.h"

#include <stdlib.h>
#include <string.h>

#include "fabric/network/ahead.h"
#include "fabric/network/due.h"
#include "fabric/network/flying.h"
#include "fabric/network/settle.h"
#include "fabric/switch/internal.h"
#include "nic/engine/objects.h"

/* A window is at most so long, ps. A failed transfer takes effect ADV_FAILED_AFTER later, which has
 * to be after the window. */
#define WIDEST (4 * ADV_PS_PER_US)

/* If the nodes of a window have fewer events each, windows do not pay: all events are processed in
 * their order for APART windows. To open a window costs an event for each so many switches more. */
#define MIN_EVENTS	  2
#define SWITCHES_AN_EVENT 8
#define APART		  16

struct adv_turns {
	uint64_t width;	 /* of a window, ps; 0: windows do not pay */
	uint64_t before; /* events of the fabric before the window */
	uint32_t peer;	 /* connection whose transfers last; see is_safe() */
	uint32_t taken;	 /* of the active nodes */
	uint64_t latest; /* time of the last event of the turns that are over, ps */
	uint64_t end;	 /* of the last window, ps */
	struct adv_turn_window window;
};

/* ---- memory ---- */

/* Returns the length of a window; 0: windows do not pay, as a port sends less than a frame in one.
 */
static uint64_t width_of(const struct adv_fabric *f)
{
	uint64_t width = WIDEST, frame = 0;

	for (uint32_t i = 0; i < f->wires; i++) {
		uint64_t time = adv_wire_time(f->wire[i].ps_per_byte, f->config.mtu);

		width = f->wire[i].delay < width ? f->wire[i].delay : width;
		frame = time > frame ? time : frame;
	}
	return width >= frame ? width : 0;
}

static struct adv_turns *make_turns(struct adv_fabric *f)
{
	size_t nodes = (size_t)f->hosts + f->config.topology->switches;
	struct adv_turns *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->width = width_of(f);
	if (t->width && (!adv_turn_window_init(&t->window, nodes) ||
			 !adv_turn_window_init(&f->turn.next, nodes)))
		t->width = 0; /* it is a matter of speed only */
	return t;
}

void adv_turns_free(struct adv_fabric *f)
{
	struct adv_turns *t = f->turns;

	adv_turn_free(&f->turn);
	if (!t)
		return;
	adv_turn_window_free(&t->window);
	free(t);
}

/* ---- turns ---- */

/* Prefetches the first frames of a node. The processor follows the chains of all ports at once. */
static void fetch_frames(const struct adv_fabric *f, uint32_t node)
{
	const struct adv_switch *sw;

	if (node < f->hosts) {
		__builtin_prefetch(f->wire[f->host[node].wire ^ 1].flying.head);
		return;
	}
	sw = f->node[node - f->hosts].sw;
	for (unsigned i = 0; i < sw->ports; i++) {
		const struct adv_egress *e = &sw->port[i].egress;

		__builtin_prefetch(f->wire[sw->port[i].number ^ 1].flying.head);
		if (e->filled)
			__builtin_prefetch(e->queue[__builtin_ctz(e->filled)].packets.head);
	}
}

/* Prefetches what a host needs that has the next turn. */
static void fetch_host(const struct adv_fabric *f, uint32_t node)
{
	const struct adv_fabric_host *h = &f->host[node];

	adv_ahead_fetch_engine(h);
	adv_qp_fetch_turn(h->hints.sender);
	adv_engine_fetch_turn(h->engine, h->hints.sender);
	__builtin_prefetch(h->mr);
}

/* Begins the turn of a node. False: all its events are after the window, which an event that is not
 * of a node has ended early. */
static bool take_turn(struct adv_fabric *f, uint32_t node)
{
	struct adv_turn_window *w = &f->turns->window;

	fetch_frames(f, node);
	if (f->turns->taken < w->count && w->active[f->turns->taken] < f->hosts)
		fetch_host(f, w->active[f->turns->taken]);
	f->turn.first = f->turn.last = f->turn.buffer;
	for (uint32_t i = w->of[node].first; i != ADV_TURN_NO_EVENT; i = w->event[i].next) {
		const struct adv_calendar_event *e = &w->event[i];

		if (e->at >= f->turn.end)
			adv_fabric_add_event(f, e->at, e->what);
		else if (!adv_turn_add(&f->turn, e->at, e->what))
			f->no_memory = true;
	}
	w->of[node].first = ADV_TURN_NO_EVENT;
	if (f->turn.first == f->turn.last)
		return false;
	f->now = f->turn.first->at;
	return true;
}

/* Ends a window after all turns. */
static void close_window(struct adv_fabric *f)
{
	struct adv_turns *t = f->turns;
	uint32_t enough =
		t->window.count * MIN_EVENTS + f->config.topology->switches / SWITCHES_AN_EVENT;

	if (f->events - t->before < enough)
		f->turn.window_at = f->turn.end + APART * t->width;
	t->window.events = t->window.count = 0;
	t->end = f->turn.end;
	f->turn.end = f->turn.next_end = 0;
	f->now = t->latest;
}

bool adv_turns_next(struct adv_fabric *f)
{
	struct adv_turns *t = f->turns;

	t->latest = f->now > t->latest ? f->now : t->latest;
	while (t->taken != t->window.count)
		if (take_turn(f, t->window.active[t->taken++]))
			return true;
	close_window(f);
	return false;
}

/* ---- a window ---- */

/* True if a transfer of the connection cannot end within a window: something of it has not arrived
 * yet, and the answer comes a cable later at the earliest. One that fails ends later, too. */
static bool has_to_arrive(const struct adv_fabric_peer *p)
{
	return !p->failed && p->first != ADV_NO_JOB &&
	       (p->posting != ADV_NO_JOB || adv_qp_is_ahead(p->qp[0], p->qp[1]));
}

/* True if the run does not end within the next window. */
static bool is_safe(struct adv_fabric *f)
{
	struct adv_turns *t = f->turns;

	if (f->endless)
		return true;
	for (uint32_t i = 0; i < f->peers; i++) {
		if (t->peer >= f->peers)
			t->peer = 0;
		if (has_to_arrive(&f->peer[t->peer]))
			return true;
		t->peer++;
	}
	return false;
}

/* Takes the events before `end` from the calendar. Returns the end of the window: an event that is
 * not of a node may end it early. */
static uint64_t collect_events(struct adv_fabric *f, uint64_t end)
{
	struct adv_turn_window *w = &f->turns->window;
	const struct adv_calendar_event *e;

	while ((e = adv_calendar_peek(f->calendar, end - 1)) != NULL) {
		uint32_t node = adv_fabric_node_of(f, e->what);

		if (node == ADV_NO_NODE)
			return e->at;
		if (!adv_turn_window_add(w, e->at, e->what, node)) {
			if (adv_turn_window_reserve(w))
				continue;
			f->no_memory = true;
			return e->at;
		}
		adv_calendar_take(f->calendar, end - 1);
	}
	return end;
}

/* Opens a window for the events that it has already, and those of the calendar. */
static void open_window(struct adv_fabric *f, uint64_t from, uint64_t end)
{
	struct adv_turns *t = f->turns;

	/* Frames that follow from departures before the window arrive in it. */
	adv_fabric_settle_all(f, from);
	t->before = f->events;
	t->taken = 0;
	f->turn.end = collect_events(f, end);
	f->turn.next_end = f->turn.end == end ? end + t->width : 0;
}

uint64_t adv_turns_open(struct adv_fabric *f)
{
	if (!f->turns)
		f->turns = make_turns(f);
	if (!f->turns || !f->turns->width || adv_fabric_in_time(f) || f->edges)
		return ADV_CALENDAR_NEVER;
	return f->turn.window_at == ADV_CALENDAR_NEVER ? 0 : f->turn.window_at;
}

bool adv_turns_begin(struct adv_fabric *f, uint64_t until)
{
	struct adv_turns *t = f->turns;
	const struct adv_calendar_event *e = adv_calendar_peek(f->calendar, until);
	uint64_t end = e->at + t->width;

	if (adv_fabric_node_of(f, e->what) == ADV_NO_NODE)
		return false;
	if (!is_safe(f)) {
		f->turn.window_at = end;
		return false;
	}
	open_window(f, e->at, end > until ? until + 1 : end);
	return true;
}

bool adv_turns_again(struct adv_fabric *f, uint64_t until)
{
	struct adv_turns *t = f->turns;
	struct adv_turn_window waiting = f->turn.next;
	uint64_t end = t->end + t->width;

	if (!waiting.events || f->turn.window_at > t->end || end > until || f->no_memory ||
	    f->pool.failed || !is_safe(f))
		return false;
	/* If the room was too small, the calendar has the other events. */
	if (waiting.events == waiting.room)
		adv_turn_window_reserve(&waiting);
	f->turn.next = t->window;
	t->window = waiting;
	open_window(f, t->end, end);
	return true;
}

void adv_turns_end(struct adv_fabric *f)
{
	struct adv_turn_window *w = &f->turn.next;

	for (uint32_t i = 0; i < w->events; i++)
		adv_fabric_add_event(f, w->event[i].at, w->event[i].what);
	for (uint32_t i = 0; i < w->count; i++)
		w->of[w->active[i]].first = ADV_TURN_NO_EVENT;
	w->events = w->count = 0;
}
