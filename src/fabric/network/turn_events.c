/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "fabric/network/turn_events.h"
#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

#define ROOM_MIN 64

/* Moves the events to a buffer with this room. */
static bool move_events(struct adv_turn *t, size_t room)
{
	size_t count = (size_t)(t->last - t->first);
	struct adv_calendar_event *buffer = malloc(room * sizeof(*buffer));

	if (!buffer)
		return false;
	if (count)
		memcpy(buffer, t->first, count * sizeof(*buffer));
	free(t->buffer);
	t->buffer = t->first = buffer;
	t->last = buffer + count;
	t->room_end = buffer + room;
	return true;
}

bool adv_turn_reserve(struct adv_turn *t)
{
	size_t count = (size_t)(t->last - t->first), room = (size_t)(t->room_end - t->buffer);

	if (!room)
		return move_events(t, ROOM_MIN);
	if (count > room / 2)
		return move_events(t, 2 * room);
	memmove(t->buffer, t->first, count * sizeof(*t->first));
	t->first = t->buffer;
	t->last = t->buffer + count;
	return true;
}

void adv_turn_free(struct adv_turn *t)
{
	free(t->buffer);
	adv_turn_window_free(&t->next);
}

bool adv_turn_window_init(struct adv_turn_window *w, size_t nodes)
{
	w->active = malloc(nodes * sizeof(*w->active));
	w->of = malloc(nodes * sizeof(*w->of));
	if (!w->active || !w->of || !adv_turn_window_reserve(w))
		return false;
	memset(w->of, 0xff, nodes * sizeof(*w->of));
	return true;
}

bool adv_turn_window_reserve(struct adv_turn_window *w)
{
	return adv_grow(&w->event, w->room, &w->room, sizeof(*w->event));
}

void adv_turn_window_free(struct adv_turn_window *w)
{
	free(w->event);
	free(w->active);
	free(w->of);
}
