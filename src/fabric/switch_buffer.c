/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <assert.h>
#include <string.h>

#include "fabric/switch_internal.h"

static uint64_t limit_at(const struct adv_class *class, uint64_t shared, uint64_t shared_used)
{
	if (class->lossless && class->xoff)
		return class->xoff;
	return class->reserved + (shared - shared_used) * class->alpha_1024 / 1024;
}

uint64_t adv_switch_limit(const struct adv_switch *s, unsigned priority)
{
	const struct adv_class *class = &s->class[priority];

	return limit_at(class, s->shared, s->shared_used);
}

/* Returns the part of `used` bytes that is not reserved. */
static uint64_t shared_part(const struct adv_class *class, uint64_t used)
{
	return used > class->reserved ? used - class->reserved : 0;
}

/* Allocates `bytes` for an input port. False: its use would exceed the limit, or the shared buffer
 * is full. */
static bool take_shared(struct adv_switch *s, const struct adv_class *class, struct adv_ingress *in,
			uint32_t bytes, uint64_t limit)
{
	uint64_t more =
		shared_part(class, (uint64_t)in->used + bytes) - shared_part(class, in->used);

	if ((uint64_t)in->used + bytes > limit || s->shared_used + more > s->shared)
		return false;
	in->used += bytes;
	s->shared_used += more;
	return true;
}

static void owe_pause_frame(struct adv_switch *s, unsigned port, unsigned priority)
{
	s->port[port].to_tell |= (uint8_t)(1u << priority);
	adv_switch_wake(s, port);
}

static bool take_headroom(struct adv_switch *s, uint64_t now, const struct adv_packet *p,
			  struct adv_ingress *in)
{
	struct adv_port *port = &s->port[p->in_port];

	if (!in->paused) {
		in->paused = true;
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

static bool admit_frame(struct adv_switch *s, uint64_t now, const struct adv_packet *p,
			const struct adv_egress *egress, enum adv_drop *why)
{
	const struct adv_class *class = &s->class[p->priority];
	struct adv_ingress *in = &s->port[p->in_port].ingress[p->priority];
	uint64_t limit = limit_at(class, s->shared, s->shared_used);

	if (class->lossless) {
		*why = ADV_DROP_HEADROOM;
		return take_shared(s, class, in, p->bytes, limit) || take_headroom(s, now, p, in);
	}
	*why = ADV_DROP_QUEUE;
	if ((uint64_t)egress->queue[p->priority].bytes + p->bytes > limit)
		return false;
	*why = ADV_DROP_BUFFER;
	return take_shared(s, class, in, p->bytes, UINT64_MAX);
}

bool adv_buffer_admit(struct adv_switch *s, uint64_t now, const struct adv_packet *p,
		      const struct adv_egress *egress, enum adv_drop *why)
{
	if (!admit_frame(s, now, p, egress, why))
		return false;
	s->used += p->bytes;
	if (s->used > s->counters.most_used)
		s->counters.most_used = s->used;
	return true;
}

bool adv_switch_would_resume(const struct adv_switch *s, unsigned priority, uint64_t used,
			     uint64_t shared_used)
{
	const struct adv_class *class = &s->class[priority];

	return used <= class->reserved ||
	       used + class->xon_offset <= limit_at(class, s->shared, shared_used);
}

void adv_buffer_release(struct adv_switch *s, uint64_t now, const struct adv_packet *p)
{
	const struct adv_class *class = &s->class[p->priority];
	struct adv_port *port = &s->port[p->in_port];
	struct adv_ingress *in = &port->ingress[p->priority];
	uint32_t bytes = p->bytes < in->headroom_used ? p->bytes : in->headroom_used;

	in->headroom_used -= bytes;
	bytes = p->bytes - bytes;
	assert(in->used >= bytes && s->used >= p->bytes);
	s->shared_used -= shared_part(class, in->used) - shared_part(class, in->used - bytes);
	in->used -= bytes;
	s->used -= p->bytes;
	if (!in->paused || in->headroom_used ||
	    !adv_switch_would_resume(s, p->priority, in->used, s->shared_used))
		return;
	in->paused = false;
	port->told &= (uint8_t) ~(1u << p->priority);
	adv_switch_tell(s, now, ADV_SWITCH_XON, p->in_port, p->priority, NULL, in->used);
	owe_pause_frame(s, p->in_port, p->priority);
}

struct adv_packet *adv_buffer_pause_frame(struct adv_switch *s, uint64_t now, unsigned port)
{
	struct adv_port *pt = &s->port[port];
	struct adv_packet *p = adv_packet_take(s->pool);

	if (!p)
		return NULL;
	p->kind = ADV_PACKET_PAUSE;
	p->bytes = ADV_PAUSE_FRAME;
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
