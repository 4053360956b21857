/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "fabric/switch/internal.h"

uint64_t adv_switch_limit(const struct adv_switch *s, unsigned priority)
{
	const struct adv_class *class = &s->class[priority];

	return adv_buffer_limit(class, s->shared, s->shared_used);
}

static void owe_pause_frame(struct adv_switch *s, unsigned port, unsigned priority)
{
	s->port[port].to_tell |= (uint8_t)(1u << priority);
	s->owes = true;
	adv_switch_wake(s, port);
}

bool adv_buffer_take_headroom(struct adv_switch *s, uint64_t now, const struct adv_packet *p)
{
	struct adv_switch_port *port = &s->port[p->in_port];
	struct adv_ingress *in = adv_switch_in(s, p->in_port, p->priority);

	if (!in->paused) {
		in->paused = true;
		s->pausing++;
		port->told |= (uint8_t)(1u << p->priority);
		adv_switch_tell(s, now, ADV_SWITCH_XOFF, p->in_port, p->priority, NULL,
				in->used + in->headroom_used);
		owe_pause_frame(s, p->in_port, p->priority);
	}
	if (in->headroom - in->headroom_used < p->bytes)
		return false;
	in->headroom_used += p->bytes;
	if (in->headroom_used > in->most_headroom)
		in->most_headroom = in->headroom_used;
	return true;
}

bool adv_switch_would_resume(const struct adv_switch *s, unsigned priority, uint64_t used,
			     uint64_t shared_used)
{
	const struct adv_class *class = &s->class[priority];

	return used <= class->reserved ||
	       used + class->xon_offset <= adv_buffer_limit(class, s->shared, shared_used);
}

void adv_buffer_resume(struct adv_switch *s, uint64_t now, unsigned port, unsigned priority)
{
	struct adv_switch_port *pt = &s->port[port];
	struct adv_ingress *in = adv_switch_in(s, port, priority);

	if (in->headroom_used || !adv_switch_would_resume(s, priority, in->used, s->shared_used))
		return;
	in->paused = false;
	s->pausing--;
	pt->told &= (uint8_t) ~(1u << priority);
	adv_switch_tell(s, now, ADV_SWITCH_XON, port, priority, NULL, in->used);
	owe_pause_frame(s, port, priority);
}

struct adv_packet *adv_buffer_pause_frame(struct adv_switch *s, uint64_t now, unsigned port)
{
	struct adv_switch_port *pt = &s->port[port];
	struct adv_packet *p = adv_packet_take(s->pool);

	if (!p)
		return NULL;
	p->kind = ADV_PACKET_PAUSE;
	p->bytes = ADV_PAUSE_FRAME;
	p->in_port = 0; /* a pause frame has no place in the buffer */
	p->priority = 0;
	/* The frame has room for eight priorities, so it also repeats all current pauses. */
	p->pause_mask = pt->to_tell | pt->told;
	for (unsigned i = 0; i < ADV_PRIORITIES; i++)
		p->quanta[i] = pt->told & (1u << i) ? s->pause_quanta : 0;
	pt->to_tell = 0;
	if (pt->told) {
		pt->repeat_at = now + pt->repeat;
		if (pt->repeat_at < s->deadline)
			s->deadline = pt->repeat_at;
	}
	s->counters.tx_pause++;
	return p;
}
