/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "fabric/switch/frame.h"

#include <assert.h>

void adv_switch_rx(struct adv_switch *s, uint64_t now, unsigned port, struct adv_packet *p)
{
	uint16_t out;

	p->out = adv_switch_port_of(s, p);
	out = adv_switch_store(s, now, port, p);
	if (out != ADV_NO_PORT)
		adv_switch_queue(s, out, p);
}

struct adv_packet *adv_switch_tx(struct adv_switch *s, uint64_t now, unsigned port)
{
	struct adv_switch_port *pt = &s->port[port];
	struct adv_packet *p;

	assert(!pt->sending);
	if (!pt->to_tell)
		return adv_switch_next(s, now, port);
	p = adv_buffer_pause_frame(s, now, port);
	pt->sending = p != NULL;
	return p;
}

void adv_switch_sent(struct adv_switch *s, uint64_t now, unsigned port, const struct adv_packet *p)
{
	struct adv_switch_port *pt = &s->port[port];

	adv_switch_end(s, now, port, p->in_port, p->priority,
		       p->kind == ADV_PACKET_DATA ? p->bytes : 0);
	if (pt->to_tell || adv_egress_ready(&pt->egress))
		adv_switch_wake(s, port);
}
