/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "fabric/network/departure.h"

#include <stdlib.h>

bool adv_departures_init(struct adv_departures *d, unsigned ports)
{
	uint32_t room = 1;

	while (room < ports)
		room *= 2;
	*d = (struct adv_departures){
		.next = ADV_CALENDAR_NEVER, .of = malloc(room * sizeof(*d->of)), .mask = room - 1};
	return d->of != NULL;
}

void adv_departures_free(struct adv_departures *d)
{
	free(d->of);
}
