/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The events of the node that has its turn, and the events by node of a window, see turn.h.
 *
 * What the nodes of a window add for the next window waits in a list of its own, and spares the way
 * through the calendar.
 */
#ifndef ADV_FABRIC_NETWORK_TURN_EVENTS_H
#define ADV_FABRIC_NETWORK_TURN_EVENTS_H

#include "fabric/network/calendar.h"

/* No event: the end of a list by adv_calendar_event.next. */
#define ADV_TURN_NO_EVENT UINT32_MAX

/* The events of one node, in the order in which they were added. */
struct adv_turn_events {
	uint32_t first; /* or ADV_TURN_NO_EVENT */
	uint32_t last;
};

/* Events of a window. */
struct adv_turn_window {
	struct adv_calendar_event *event; /* `next` links those of a node */
	uint32_t events;
	uint32_t room;
	uint32_t count;		    /* of `active` */
	uint32_t *active;	    /* the nodes that have events */
	struct adv_turn_events *of; /* by node */
};

struct adv_turn {
	uint64_t window_at; /* earliest time of the next window, ps */
	uint64_t end;	    /* the events are before this time, ps; 0: no node has a turn */
	uint64_t next_end;  /* those of `next` are before this time, ps; 0: there are none */
	struct adv_calendar_event *first; /* in order, up to `last` */
	struct adv_calendar_event *last;
	struct adv_calendar_event *room_end;
	struct adv_calendar_event *buffer;
	struct adv_turn_window next;
};

/* Makes room for one more event behind the others, or for the first one. False: no memory. */
bool adv_turn_reserve(struct adv_turn *t);
void adv_turn_free(struct adv_turn *t);

/* Initializes a window without events, for so many nodes. False: no memory; adv_turn_window_free()
 * frees what there is. */
bool adv_turn_window_init(struct adv_turn_window *w, size_t nodes);
/* Makes room for more events. False: no memory. */
bool adv_turn_window_reserve(struct adv_turn_window *w);
void adv_turn_window_free(struct adv_turn_window *w);

/* Adds an event before t->end. False: no memory. */
static inline bool adv_turn_add(struct adv_turn *t, uint64_t at, uint32_t what)
{
	struct adv_calendar_event *e;

	if (t->last == t->room_end && !adv_turn_reserve(t))
		return false;
	for (e = t->last++; e != t->first; e--) {
		if (e[-1].at < at || (e[-1].at == at && e[-1].what <= what))
			break;
		*e = e[-1];
	}
	*e = (struct adv_calendar_event){.at = at, .what = what};
	return true;
}

/* Adds an event of a node. False: there is no room. */
static inline bool adv_turn_window_add(struct adv_turn_window *w, uint64_t at, uint32_t what,
				       uint32_t node)
{
	struct adv_turn_events *of = &w->of[node];
	uint32_t i = w->events;

	if (i == w->room)
		return false;
	w->events++;
	w->event[i] = (struct adv_calendar_event){at, what, ADV_TURN_NO_EVENT};
	if (of->first == ADV_TURN_NO_EVENT) {
		of->first = i;
		w->active[w->count++] = node;
	} else {
		w->event[of->last].next = i;
	}
	of->last = i;
	return true;
}

/* Adds an event of a node that is not before t->end to those of the next window. False: it belongs
 * into the calendar, because it is later or there is no room. */
static inline bool adv_turn_defer(struct adv_turn *t, uint64_t at, uint32_t what, uint32_t node)
{
	return at < t->next_end && adv_turn_window_add(&t->next, at, what, node);
}

#endif
