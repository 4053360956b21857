/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "fabric/switch/internal.h"

uint64_t adv_switch_deadline(const struct adv_switch *s)
{
	return s->deadline;
}

bool adv_switch_storm(const struct adv_switch *s, unsigned port, unsigned priority)
{
	return s->port[port].storm & (1u << priority);
}

/* ---- the watchdog ---- */

static void storm_begins(struct adv_switch *s, uint64_t now, unsigned port, unsigned priority)
{
	struct adv_switch_port *pt = &s->port[port];
	struct adv_packet *p;

	pt->storm |= (uint8_t)(1u << priority);
	pt->guard[priority].calm = 0;
	s->counters.storms++;
	adv_switch_tell(s, now, ADV_SWITCH_STORM, port, priority, NULL,
			pt->egress.queue[priority].count);
	if (s->watchdog.forward) {
		pt->egress.ignores |= (uint8_t)(1u << priority);
		adv_switch_wake(s, port);
		return;
	}
	while ((p = adv_egress_flush(&pt->egress, priority)) != NULL) {
		adv_buffer_release(s, now, p->in_port, p->priority, p->bytes);
		adv_switch_drop(s, now, port, p, ADV_DROP_WATCHDOG);
	}
}

static void storm_ends(struct adv_switch *s, uint64_t now, unsigned port, unsigned priority)
{
	struct adv_switch_port *pt = &s->port[port];

	pt->storm &= (uint8_t) ~(1u << priority);
	pt->egress.ignores &= (uint8_t) ~(1u << priority);
	pt->guard[priority].stuck = 0;
	adv_switch_tell(s, now, ADV_SWITCH_STORM_END, port, priority, NULL, 0);
}

static void check_queue(struct adv_switch *s, uint64_t now, unsigned port, unsigned priority)
{
	struct adv_switch_port *pt = &s->port[port];
	const struct adv_egress_queue *q = &pt->egress.queue[priority];
	struct adv_guard *g = &pt->guard[priority];
	uint64_t paused = adv_egress_paused_for(&pt->egress, priority, now);
	uint64_t poll = s->watchdog.poll;
	bool stuck = q->count && q->sent == g->sent && paused - g->paused > poll - poll / 100;
	bool calm = paused == g->paused;

	g->sent = q->sent;
	g->paused = paused;
	if (pt->storm & (1u << priority)) {
		g->calm = calm ? g->calm + poll : 0;
		if (g->calm >= s->watchdog.restore)
			storm_ends(s, now, port, priority);
		return;
	}
	g->stuck = stuck ? g->stuck + poll : 0;
	if (g->stuck >= s->watchdog.detect)
		storm_begins(s, now, port, priority);
}

static void poll_all(struct adv_switch *s, uint64_t now)
{
	for (unsigned i = 0; i < s->ports; i++)
		for (unsigned p = 0; p < ADV_PRIORITIES; p++)
			if (s->class[p].lossless)
				check_queue(s, now, i, p);
	s->poll_at += s->watchdog.poll;
}

/* ---- deadlines ---- */

static uint64_t expire_port(struct adv_switch *s, uint64_t now, unsigned i)
{
	struct adv_switch_port *pt = &s->port[i];
	uint64_t pause_ends;

	adv_egress_expire(&pt->egress, now);
	if (adv_egress_ready(&pt->egress))
		adv_switch_wake(s, i);
	if (pt->told && pt->repeat_at <= now) {
		pt->to_tell |= pt->told;
		pt->repeat_at = now + pt->repeat;
		adv_switch_wake(s, i);
	}
	pause_ends = adv_egress_deadline(&pt->egress);
	if (pt->told && pt->repeat_at < pause_ends)
		return pt->repeat_at;
	return pause_ends;
}

void adv_switch_expire(struct adv_switch *s, uint64_t now)
{
	uint64_t first = ADV_CALENDAR_NEVER;

	if (now < s->deadline)
		return;
	if (s->watchdog.poll && s->poll_at <= now)
		poll_all(s, now);
	for (unsigned i = 0; i < s->ports; i++) {
		uint64_t at = expire_port(s, now, i);

		if (at < first)
			first = at;
	}
	if (s->watchdog.poll && s->poll_at < first)
		first = s->poll_at;
	s->deadline = first;
}
