/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "fabric/turn.h"

#include <stdlib.h>
#include <string.h>

#include "fabric/settle.h"
#include "transport/objects.h"

/* A window is at most so long, ps. A failed transfer takes effect ADV_FAILED_AFTER later, which has
 * to be after the window. */
#define WIDEST (4 * ADV_PS_PER_US)

/* If the nodes of a window have fewer events each, windows do not pay: all events are processed in
 * their order for APART windows. */
#define MIN_EVENTS 4
#define APART	   16

#define NONE	   UINT32_MAX

/* An event of the window, and the next one of its node. */
struct adv_turn_event {
	struct adv_calendar_event event;
	uint32_t next;
};

struct adv_turns {
	uint64_t width;	 /* of a window, ps; 0: windows do not pay */
	uint64_t before; /* events of the fabric before the window */
	uint32_t peer;	 /* connection whose transfers last; see is_safe() */
	struct adv_turn_event *of;
	uint32_t events;
	uint32_t room;
	uint32_t *first;  /* by node: its first event of the window, or NONE */
	uint32_t *last;	  /* by node */
	uint32_t *active; /* the nodes that have events */
	uint32_t count;
	uint32_t taken;	 /* of `active` */
	uint64_t latest; /* time of the last event of the turns that are over, ps */
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

static struct adv_turns *make_turns(const struct adv_fabric *f)
{
	size_t nodes = (size_t)f->hosts + f->config.topology->switches;
	struct adv_turns *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->width = width_of(f);
	if (!t->width)
		return t;
	t->first = malloc(nodes * sizeof(*t->first));
	t->last = malloc(nodes * sizeof(*t->last));
	t->active = malloc(nodes * sizeof(*t->active));
	if (!t->first || !t->last || !t->active)
		t->width = 0; /* it is a matter of speed only */
	else
		memset(t->first, 0xff, nodes * sizeof(*t->first));
	return t;
}

void adv_turns_free(struct adv_fabric *f)
{
	struct adv_turns *t = f->turns;

	adv_turn_free(&f->turn);
	if (!t)
		return;
	free(t->of);
	free(t->first);
	free(t->last);
	free(t->active);
	free(t);
}

/* ---- turns ---- */

bool adv_turns_next(struct adv_fabric *f)
{
	struct adv_turns *t = f->turns;
	uint32_t node;

	t->latest = f->now > t->latest ? f->now : t->latest;
	if (t->taken == t->count || f->no_memory) {
		if (f->events - t->before < (uint64_t)t->count * MIN_EVENTS)
			f->turn.window_at = f->turn.end + APART * t->width;
		f->turn.end = 0;
		f->now = t->latest;
		return false;
	}
	node = t->active[t->taken++];
	f->turn.first = f->turn.last = f->turn.buffer;
	for (uint32_t i = t->first[node]; i != NONE; i = t->of[i].next)
		*f->turn.last++ = t->of[i].event;
	t->first[node] = NONE;
	f->now = f->turn.first->at;
	return true;
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

/* Returns the node of an event. */
static uint32_t node_of(const struct adv_fabric *f, uint32_t what)
{
	uint32_t i = what & ADV_DUE_INDEX;

	switch ((enum adv_due)(what >> ADV_DUE_SHIFT)) {
	case ADV_DUE_SENT:
		return f->wire[i].from.node;
	case ADV_DUE_ARRIVE:
	case ADV_DUE_PAUSE:
		return f->wire[i].to.node;
	case ADV_DUE_SETTLE:
	case ADV_DUE_SWITCH:
		return f->hosts + i;
	case ADV_DUE_HOST:
	case ADV_DUE_DRAIN:
	case ADV_DUE_REPEAT:
		return i;
	default: /* not of a node */
		return NONE;
	}
}

/* Adds an event to those of the window. False: no memory. */
static bool note(struct adv_turns *t, const struct adv_calendar_event *e, uint32_t node)
{
	uint32_t room = t->room ? 2 * t->room : 1024;

	if (t->events == t->room) {
		struct adv_turn_event *of = realloc(t->of, room * sizeof(*of));

		if (!of)
			return false;
		t->of = of;
		t->room = room;
	}
	t->of[t->events] = (struct adv_turn_event){*e, NONE};
	if (t->first[node] == NONE) {
		t->first[node] = t->events;
		t->active[t->count++] = node;
	} else {
		t->of[t->last[node]].next = t->events;
	}
	t->last[node] = t->events++;
	return true;
}

/* Takes the events before `end` from the calendar, and sets the end of the window. */
static void collect(struct adv_fabric *f, uint64_t end)
{
	struct adv_turns *t = f->turns;
	const struct adv_calendar_event *e;

	t->events = t->count = t->taken = 0;
	while ((e = adv_calendar_peek(f->calendar, end - 1)) != NULL) {
		uint32_t node = node_of(f, e->what);

		if (node == NONE || !note(t, e, node)) {
			f->no_memory |= node != NONE;
			end = e->at;
			break;
		}
		adv_calendar_take(f->calendar, end - 1);
	}
	f->turn.end = end;
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

	if (node_of(f, e->what) == NONE)
		return false;
	if (!is_safe(f)) {
		f->turn.window_at = end;
		return false;
	}
	/* Frames that follow from departures before the window arrive in it. */
	adv_fabric_settle_all(f, e->at);
	t->before = f->events;
	collect(f, end > until ? until + 1 : end);
	f->no_memory |= !adv_turn_clear(&f->turn, t->events + 1);
	return true;
}
