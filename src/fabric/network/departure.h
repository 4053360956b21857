/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The frames that the ports of a switch send, in the order in which their transmissions end.
 *
 * The end of a transmission changes the switch only: the frame is on its way since the beginning of
 * the transmission, with the time of its arrival. What follows from the end is the next frame of
 * the port, which arrives at least the cable's delay later. So the end needs no event of its own:
 * the next event of the switch processes all earlier ends first, in their order, each with its own
 * time. If the switch has no event, ADV_DUE_SETTLE processes them in time. See adv_fabric_settle().
 */
#ifndef ADV_FABRIC_NETWORK_DEPARTURE_H
#define ADV_FABRIC_NETWORK_DEPARTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "fabric/network/calendar.h"

/* 16 bytes: four to a cache line. The ports of a switch are in the order of their wires. */
struct adv_departure {
	uint64_t at;	  /* end of the transmission, ps */
	uint16_t port;	  /* departures of one time are in the order of their ports */
	uint16_t in_port; /* input port of the frame */
	uint16_t bytes;	  /* size of the frame in the buffer; 0: a pause frame */
	uint8_t priority;
	bool held; /* the frame is still the wire's `sending` */
};

/* A ring in order. */
struct adv_departures {
	uint64_t next; /* time of the first departure; ADV_CALENDAR_NEVER: there is none */
	struct adv_departure *of; /* the room is a power of two */
	uint32_t mask;
	uint32_t first;
	uint32_t end;
};

/* Makes room for one departure of each port. False: no memory. */
bool adv_departures_init(struct adv_departures *d, unsigned ports);
void adv_departures_free(struct adv_departures *d);

/* Adds a departure, which is mostly the last one. The caller sets its other fields. */
static inline struct adv_departure *adv_departures_add(struct adv_departures *d, uint64_t at,
						       uint16_t port)
{
	uint32_t left = d->end - d->first, i = d->end++;
	struct adv_departure *place = &d->of[i & d->mask];

	for (; left; left--) {
		const struct adv_departure *before = &d->of[--i & d->mask];

		if (before->at < at || (before->at == at && before->port < port))
			break;
		*place = *before;
		place = &d->of[i & d->mask];
	}
	if (at < d->next)
		d->next = at;
	place->at = at;
	place->port = port;
	return place;
}

/* Removes the first departure, which exists. It is valid until the next one is added. */
static inline const struct adv_departure *adv_departures_take(struct adv_departures *d)
{
	const struct adv_departure *first = &d->of[d->first++ & d->mask];

	d->next = d->first != d->end ? d->of[d->first & d->mask].at : ADV_CALENDAR_NEVER;
	return first;
}

#endif
