/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Adds events, reports them to the watcher, and puts frames on wires. */
#include <assert.h>

#include "fabric/network/due.h"
#include "fabric/network/flying.h"
#include "fabric/parts/part.h"

void adv_fabric_add_event(struct adv_fabric *f, uint64_t at, uint32_t what)
{
	if (f->parts)
		f = adv_parts_owner(f, what >> ADV_DUE_SHIFT, what & ADV_DUE_INDEX);
	assert(at >= f->now);
	if (!adv_calendar_add(f->calendar, at, what))
		f->no_memory = true;
}

void adv_fabric_at(struct adv_fabric *f, uint64_t at, enum adv_due kind, uint32_t index)
{
	uint32_t what = (uint32_t)kind << ADV_DUE_SHIFT | index;

	assert(index <= ADV_DUE_INDEX);
	if (at < f->turn.end) {
		assert(kind < ADV_DUE_STORM); /* of the node that has its turn */
		assert(at >= f->now);
		f->no_memory |= !adv_turn_add(&f->turn, at, what);
		return;
	}
	if (at < f->turn.next_end && kind < ADV_DUE_STORM &&
	    adv_turn_window_add(&f->turn.next, at, what, adv_fabric_node_of(f, what)))
		return;
	/* An event of the ring is after the last dequeued one. */
	if (f->parts || !adv_calendar_add_to_ring(f->calendar, at, what))
		adv_fabric_add_event(f, at, what);
}

void adv_fabric_tell(struct adv_fabric *f, const struct adv_fabric_event *event)
{
	if (!f->watch || adv_part_follows(f))
		return;
	if (f->part && (!f->part->all->global || f->part->all->ranks))
		adv_part_note(f, event);
	else
		f->watch(f->watch_user, event);
}

void adv_fabric_put(struct adv_fabric *f, uint32_t wire, struct adv_packet *p)
{
	struct adv_wire *w = &f->wire[wire];

	assert(!w->sending);
	w->sending = p;
	if (w->seen_leaving)
		adv_fabric_show(f, wire, true, p);
	adv_fabric_at(f, f->now + adv_wire_time(w->ps_per_byte, p->bytes), ADV_DUE_SENT, wire);
}
