/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Frames on their way along a wire, and the event of the oldest one. */
#ifndef ADV_FABRIC_FLYING_H
#define ADV_FABRIC_FLYING_H

#include "fabric/fabric_internal.h"

/* Adds the event of the oldest frame on a wire, which arrives in the caller's part. */
static inline void adv_fabric_arrives_at(struct adv_fabric *f, uint64_t at, uint32_t wire)
{
	if (!adv_calendar_add(f->calendar, at, (uint32_t)ADV_DUE_ARRIVE << ADV_DUE_SHIFT | wire))
		f->no_memory = true;
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
