/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "fabric/turn_events.h"

#include <stdlib.h>
#include <string.h>

/* Moves the events to a buffer with this room. */
static bool move(struct adv_turn *t, uint32_t room)
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

bool adv_turn_clear(struct adv_turn *t, uint32_t room)
{
	t->first = t->last = t->buffer;
	return (size_t)(t->room_end - t->buffer) >= room || move(t, room);
}

bool adv_turn_reserve(struct adv_turn *t)
{
	size_t count = (size_t)(t->last - t->first), room = (size_t)(t->room_end - t->buffer);

	if (count > room / 2)
		return move(t, 2 * (uint32_t)room);
	memmove(t->buffer, t->first, count * sizeof(*t->first));
	t->first = t->buffer;
	t->last = t->buffer + count;
	return true;
}

void adv_turn_free(struct adv_turn *t)
{
	free(t->buffer);
}
