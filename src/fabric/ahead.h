/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Prefetching. A large network does not fit into the processor's cache, and the data of an event is
 * reached through a chain of pointers: wire, frame, port, output port. For the next few events this
 * file follows the chain one step per event, so that each step finds in the cache what the previous
 * step prefetched. Only the speed depends on it.
 */
#ifndef ADV_FABRIC_AHEAD_H
#define ADV_FABRIC_AHEAD_H

#include "fabric/fabric_internal.h"
#include "fabric/switch_internal.h"

/* Number of events ahead for which the wire, the frame with its port, and the other data are
 * prefetched. */
#define ADV_AHEAD_WIRE	3
#define ADV_AHEAD_FRAME 1
#define ADV_AHEAD_OTHER 0

/* The next step of the chain that an event's data form. */
struct adv_ahead {
	bool sent; /* the event is at the sending end */
	const struct adv_link_end *end;
	const struct adv_packet *p;
};

/* Returns the wire of the event; of an event that has none, any wire. */
static inline const struct adv_wire *adv_ahead_wire(const struct adv_fabric *f,
						    const struct adv_calendar_event *event)
{
	uint32_t wire = event->what & ADV_DUE_INDEX;

	return &f->wire[wire < f->wires ? wire : 0];
}

static inline struct adv_ahead adv_ahead_of(const struct adv_fabric *f,
					    const struct adv_calendar_event *event)
{
	const struct adv_wire *w = adv_ahead_wire(f, event);
	bool sent = event->what >> ADV_DUE_SHIFT == ADV_DUE_SENT;

	return (struct adv_ahead){sent, sent ? &w->from : &w->to,
				  sent ? w->sending : w->flying.head};
}

/* Returns the first departure that the event, which is an arrival at a switch, processes; NULL:
 * there is none. */
static inline const struct adv_departure *
adv_ahead_departure(const struct adv_fabric_node *n, const struct adv_calendar_event *event)
{
	const struct adv_departures *d = &n->departures;

	return adv_departures_next(d) <= event->at ? &d->of[d->first & d->mask] : NULL;
}

/* Prefetches the frame, and the port or host. */
static inline void adv_ahead_fetch_frame(const struct adv_fabric *f,
					 const struct adv_calendar_event *event)
{
	struct adv_ahead step = adv_ahead_of(f, event);
	uint32_t hosts = f->config.topology->hosts;

	__builtin_prefetch(step.p);
	if (step.end->node < hosts) {
		__builtin_prefetch((const char *)step.p + 64); /* its header */
		__builtin_prefetch(&f->host[step.end->node].engine);
	} else {
		const struct adv_fabric_node *n = &f->node[step.end->node - hosts];
		const struct adv_departure *d = adv_ahead_departure(n, event);

		adv_switch_fetch_port(n->sw, step.end->port);
		if (d) {
			__builtin_prefetch(&f->wire[d->wire]);
			__builtin_prefetch(d->frame);
			__builtin_prefetch(&n->sw->port[d->port]);
		}
	}
}

static inline void adv_ahead_fetch_other(const struct adv_fabric *f,
					 const struct adv_calendar_event *event)
{
	struct adv_ahead step = adv_ahead_of(f, event);
	uint32_t hosts = f->config.topology->hosts;
	const struct adv_departure *d;
	const struct adv_switch *s;

	if (!step.p)
		return;
	if (step.end->node < hosts) {
		const struct adv_fabric_host *h = &f->host[step.end->node];

		adv_engine_fetch(h->engine);
		__builtin_prefetch(h->cq);
		__builtin_prefetch(h->mr);
		__builtin_prefetch(&h->counters);
		return;
	}
	s = f->node[step.end->node - hosts].sw;
	d = adv_ahead_departure(&f->node[step.end->node - hosts], event);
	if (d)
		adv_switch_fetch_sent(s, d->port, d->frame);
	if (step.sent)
		adv_switch_fetch_sent(s, step.end->port, step.p);
	else
		adv_switch_fetch_rx(s, step.end->port, step.p);
}

/* Before an event that was dequeued is processed. */
static inline void adv_fabric_look_ahead(const struct adv_fabric *f)
{
	uint32_t count;
	const struct adv_calendar_event *next = adv_calendar_soon(f->calendar, &count);

	if (count > ADV_AHEAD_WIRE)
		__builtin_prefetch(adv_ahead_wire(f, &next[ADV_AHEAD_WIRE]));
	if (count > ADV_AHEAD_FRAME)
		adv_ahead_fetch_frame(f, &next[ADV_AHEAD_FRAME]);
	if (count > ADV_AHEAD_OTHER)
		adv_ahead_fetch_other(f, &next[ADV_AHEAD_OTHER]);
}

#endif
