/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Processes the ends of transmissions of switches late: see departure.h. */
#ifndef ADV_FABRIC_SETTLE_H
#define ADV_FABRIC_SETTLE_H

#include "fabric/part.h"

/* The frame is on its way to the other end of the wire. */
static inline void adv_fabric_leave(struct adv_fabric *f, uint32_t wire, struct adv_packet *p)
{
	const struct adv_wire *w = &f->wire[wire];

	p->at = f->now + w->delay;
	if (w->shortened && p->at < w->not_before)
		p->at = w->not_before;
	if (w->crosses)
		adv_part_cross(f, wire, p);
	else
		adv_fabric_fly(f, wire, p);
}

/* Lets the frame whose transmission has ended go on to the other end. */
static inline void adv_fabric_finish_sending(struct adv_fabric *f, uint32_t wire)
{
	struct adv_wire *w = &f->wire[wire];
	struct adv_packet *p = w->sending;

	w->sending = NULL;
	if (w->cut)
		adv_fabric_cut(f, wire, p);
	else
		adv_fabric_leave(f, wire, p);
}

/* Processes the end of a transmission of a switch. */
void adv_fabric_sent(struct adv_fabric *f, struct adv_fabric_node *n, uint32_t wire);
/* As adv_fabric_settle(), if there may be a departure. */
void adv_fabric_settle_departures(struct adv_fabric *f, struct adv_fabric_node *n, uint64_t to);
/* Processes the departures of a switch up to the time `to`, which is not after its next event.
 * Everything that reads or changes the switch calls it first. */
static inline void adv_fabric_settle(struct adv_fabric *f, struct adv_fabric_node *n, uint64_t to)
{
	if (adv_departures_next(&n->departures) <= to)
		adv_fabric_settle_departures(f, n, to);
}
/* Processes ADV_DUE_SETTLE. */
void adv_fabric_settle_due(struct adv_fabric *f, struct adv_fabric_node *n);
/* As adv_fabric_settle() of all switches. */
void adv_fabric_settle_all(const struct adv_fabric *f, uint64_t to);

/* ---- due.c ---- */

/* Adds the event of the departures of a switch. */
void adv_fabric_plan_settle(struct adv_fabric *f, struct adv_fabric_node *n);
/* The delays of the switch's cables are known, or have changed. */
void adv_fabric_set_slack(struct adv_fabric *f, struct adv_fabric_node *n);

#endif
