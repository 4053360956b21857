/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The switch's list of ports that may have become able to send. */
#include "fabric/switch_internal.h"

void adv_switch_wake(struct adv_switch *s, unsigned port)
{
	struct adv_port *pt = &s->port[port];

	if (pt->in_ready || pt->sending)
		return;
	pt->in_ready = true;
	pt->next_ready = ADV_NO_PORT;
	if (s->ready_first == ADV_NO_PORT)
		s->ready_first = (uint16_t)port;
	else
		s->port[s->ready_last].next_ready = (uint16_t)port;
	s->ready_last = (uint16_t)port;
}

int adv_switch_next_ready(struct adv_switch *s)
{
	uint16_t port = s->ready_first;

	if (port == ADV_NO_PORT)
		return -1;
	s->ready_first = s->port[port].next_ready;
	s->port[port].in_ready = false;
	return port;
}
