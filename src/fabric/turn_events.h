/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The events of the node that has its turn, see turn.h. */
#ifndef ADV_FABRIC_TURN_EVENTS_H
#define ADV_FABRIC_TURN_EVENTS_H

#include "fabric/calendar.h"

struct adv_turn {
	uint64_t window_at; /* earliest time of the next window, ps */
	uint64_t end;	    /* the events are before this time, ps; 0: no node has a turn */
	struct adv_calendar_event *first; /* in order, up to `last` */
	struct adv_calendar_event *last;
	struct adv_calendar_event *room_end;
	struct adv_calendar_event *buffer;
};

/* Removes all events, and makes room for `room` of them, at least 1. False: no memory. */
bool adv_turn_clear(struct adv_turn *t, uint32_t room);
/* Makes room for one more event behind the others. False: no memory. */
bool adv_turn_reserve(struct adv_turn *t);
void adv_turn_free(struct adv_turn *t);

/* Adds an event before t->end. False: no memory. */
static inline bool adv_turn_add(struct adv_turn *t, uint64_t at, uint32_t what)
{
	struct adv_calendar_event *e;

	if (t->last == t->room_end && !adv_turn_reserve(t))
		return false;
	for (e = t->last++; e != t->first; e--) {
		if (e[-1].at < at || (e[-1].at == at && e[-1].what < what))
			break;
		*e = e[-1];
	}
	*e = (struct adv_calendar_event){.at = at, .what = what};
	return true;
}

#endif
