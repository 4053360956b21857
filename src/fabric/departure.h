/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The frames that the ports of a switch send, in the order in which their transmissions end.
 *
 * The end of a transmission changes the switch and the sending end of its wire only. Nothing else
 * depends on it until the frame arrives, at least the cable's delay later. So the end needs no
 * event of its own: the next event of the switch processes all earlier ends first, in their order,
 * each with its own time. If the switch has no event, ADV_DUE_SETTLE processes them before the
 * first frame arrives. See adv_fabric_settle().
 */
#ifndef ADV_FABRIC_DEPARTURE_H
#define ADV_FABRIC_DEPARTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "fabric/calendar.h"
#include "fabric/packet.h"

struct adv_departure {
	uint64_t at; /* end of the transmission, ps */
	const struct adv_packet *frame;
	uint32_t wire; /* departures of one time are in the order of their wires */
	uint16_t port;
};

/* A ring in order. */
struct adv_departures {
	struct adv_departure *of; /* the room is a power of two */
	uint32_t mask;
	uint32_t first;
	uint32_t end;
};

/* Makes room for one departure of each port. False: no memory. */
bool adv_departures_init(struct adv_departures *d, unsigned ports);
void adv_departures_free(struct adv_departures *d);

/* Returns the time of the first departure. ADV_CALENDAR_NEVER: there is none. */
static inline uint64_t adv_departures_next(const struct adv_departures *d)
{
	return d->first != d->end ? d->of[d->first & d->mask].at : ADV_CALENDAR_NEVER;
}

/* Adds a departure. It is mostly the last one. */
static inline void adv_departures_add(struct adv_departures *d, const struct adv_departure *new)
{
	uint32_t i = d->end++;

	for (; i != d->first; i--) {
		const struct adv_departure *before = &d->of[(i - 1) & d->mask];

		if (before->at < new->at || (before->at == new->at && before->wire < new->wire))
			break;
		d->of[i & d->mask] = *before;
	}
	d->of[i & d->mask] = *new;
}

/* Removes the first departure, which exists. */
static inline struct adv_departure adv_departures_take(struct adv_departures *d)
{
	return d->of[d->first++ & d->mask];
}

#endif
