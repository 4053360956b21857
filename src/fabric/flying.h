/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Frames on their way along a wire, and the event of the oldest one. */
#ifndef ADV_FABRIC_FLYING_H
#define ADV_FABRIC_FLYING_H

#include "fabric/fabric_internal.h"

/* As adv_fabric_at(), in due.c. Callers try adv_calendar_add_to_ring() before, which is faster. */
void adv_fabric_add_event(struct adv_fabric *f, uint64_t at, uint32_t what);

/* Adds the event of the oldest frame on a wire, which arrives in the caller's part. */
static inline void adv_fabric_arrives_at(struct adv_fabric *f, uint64_t at, uint32_t wire)
{
	uint32_t what = (uint32_t)ADV_DUE_ARRIVE << ADV_DUE_SHIFT | wire;

	if (!adv_calendar_add_to_ring(f->calendar, at, what))
		adv_fabric_add_event(f, at, what);
}

/* Appends a frame to those on a wire. p->at: when it arrives. */
static inline void adv_fabric_fly(struct adv_fabric *f, uint32_t wire, struct adv_packet *p)
{
	struct adv_wire *w = &f->wire[wire];

	if (!w->flying.head)
		adv_fabric_arrives_at(f, p->at, wire);
	else
		w->flying.tail->at = p->at;
	adv_packet_list_push(&w->flying, p);
}

#endif
