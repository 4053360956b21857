/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Frames on their way along a wire, and the event of the oldest one. */
#ifndef ADV_FABRIC_NETWORK_FLYING_H
#define ADV_FABRIC_NETWORK_FLYING_H

#include <assert.h>

#include "fabric/network/internal.h"
#include "fabric/switch/frame.h"

/* As adv_fabric_at(), in due.c. Callers try adv_calendar_add_to_ring() before, which is faster. */
void adv_fabric_add_event(struct adv_fabric *f, uint64_t at, uint32_t what);

/* Adds the event of the oldest frame on a wire, which arrives in the caller's part. */
static inline void adv_fabric_arrives_at(struct adv_fabric *f, uint64_t at, uint32_t wire)
{
	uint32_t what = (uint32_t)ADV_DUE_ARRIVE << ADV_DUE_SHIFT | wire;

	assert(at >= f->turn.end);
	if (!adv_turn_defer(&f->turn, at, what, f->wire[wire].to.node) &&
	    !adv_calendar_add_to_ring(f->calendar, at, what))
		adv_fabric_add_event(f, at, what);
}

/* Returns the way of a frame through the switch at the end of the wire. */
static inline uint16_t adv_fabric_way(const struct adv_fabric *f, struct adv_wire *w,
				      const struct adv_packet *p)
{
	struct adv_way *last = &w->way[0], *other = &w->way[1];

	if (last->to == p->to && last->flow == p->flow)
		return last->out;
	if (other->to == p->to && other->flow == p->flow)
		return other->out;
	*other = *last;
	*last = (struct adv_way){p->to, p->flow,
				 adv_switch_port_of(f->node[w->to.node - f->hosts].sw, p)};
	return last->out;
}

/* Appends a frame to those on a wire. p->at: when it arrives. Its way through the switch is known:
 * the arrival does not wait for the routes, which are not in the cache. */
static inline void adv_fabric_fly(struct adv_fabric *f, uint32_t wire, struct adv_packet *p)
{
	struct adv_wire *w = &f->wire[wire];

	if (w->to.node >= f->hosts && p->kind == ADV_PACKET_DATA)
		p->out = adv_fabric_way(f, w, p);
	if (!w->flying.head)
		adv_fabric_arrives_at(f, p->at, wire);
	else
		w->flying.tail->at = p->at;
	adv_packet_list_push(&w->flying, p);
}

/* The routes have changed: sets the ways of all frames on a wire. */
static inline void adv_fabric_route_again(const struct adv_fabric *f, struct adv_wire *w)
{
	w->way[0].to = w->way[1].to = UINT32_MAX;
	if (w->to.node < f->hosts)
		return;
	for (struct adv_packet *p = w->flying.head; p; p = p->next)
		p->out = adv_switch_port_of(f->node[w->to.node - f->hosts].sw, p);
}

#endif
