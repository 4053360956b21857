/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Prefetching. A large network does not fit into the processor's cache, and the data of an event is
 * reached through a chain of pointers: wire, frame, port, output port. For the next few events this
 * file follows the chain one step per event, so that each step finds in the cache what the previous
 * step prefetched. Only the speed depends on it. A small network does without: see
 * ADV_LOOK_AHEAD_WIRES.
 */
#ifndef ADV_FABRIC_NETWORK_AHEAD_H
#define ADV_FABRIC_NETWORK_AHEAD_H

#include "fabric/network/internal.h"
#include "fabric/switch/frame.h"
#include "nic/engine/prefetch.h"

/* Number of events ahead for which the wire, the host, the frame with its port, and the other data
 * are prefetched. */
#define ADV_AHEAD_WIRE	3
#define ADV_AHEAD_HOST	2
#define ADV_AHEAD_FRAME 1
#define ADV_AHEAD_OTHER 0
#define ADV_AHEAD_STEPS 4

/* True if the event is of a wire. */
static inline bool adv_ahead_applies(const struct adv_calendar_event *event)
{
	uint32_t kind = event->what >> ADV_DUE_SHIFT;

	return kind == ADV_DUE_ARRIVE || kind == ADV_DUE_SENT;
}

/* The next step of the chain that an event's data form. */
struct adv_ahead {
	bool sent; /* the event is at the sending end */
	const struct adv_link_end *end;
	const struct adv_packet *p;
};

static inline struct adv_ahead adv_ahead_of(const struct adv_fabric *f,
					    const struct adv_calendar_event *event)
{
	const struct adv_wire *w = &f->wire[event->what & ADV_DUE_INDEX];

	if (event->what >> ADV_DUE_SHIFT == ADV_DUE_SENT)
		return (struct adv_ahead){true, &w->from, w->sending};
	return (struct adv_ahead){false, &w->to, w->flying.head};
}

/* Returns the first departure that the event, which is an arrival at a switch, processes; NULL:
 * there is none. */
static inline const struct adv_departure *
adv_ahead_departure(const struct adv_fabric_node *n, const struct adv_calendar_event *event)
{
	const struct adv_departures *d = &n->departures;

	return d->next <= event->at ? &d->of[d->first & d->mask] : NULL;
}

static inline void adv_ahead_fetch_host(const struct adv_fabric_host *h)
{
	__builtin_prefetch(h);
	__builtin_prefetch(&h->wire);
	__builtin_prefetch(&h->hints);
}

static inline void adv_ahead_fetch_engine(const struct adv_fabric_host *h)
{
	adv_engine_fetch(h->engine);
	__builtin_prefetch(h->cq);
	if (h->used)
		__builtin_prefetch(&h->egress.queue[__builtin_ctz(h->used)]);
}

/* Prefetches the queue pair that receives the frame, and its connection. */
static inline void adv_ahead_fetch_receiver(const struct adv_fabric *f,
					    const struct adv_fabric_host *h,
					    const struct adv_packet *p)
{
	uint32_t qpn = adv_get_be32(p->header + 4) & ADV_QPN_MASK, k = qpn % ADV_HINTS;

	adv_engine_fetch_qpn(h->engine, qpn);
	adv_qp_fetch_request(h->hints.of[k].qp);
	__builtin_prefetch(h->mr);
	if (f->count_received || f->awaited)
		__builtin_prefetch(&f->peer[h->hints.of[k].connection].next_psn);
}

/* Prefetches the frame, and the port or the engine. */
static inline void adv_ahead_fetch_frame(const struct adv_fabric *f,
					 const struct adv_calendar_event *event)
{
	struct adv_ahead step = adv_ahead_of(f, event);
	uint32_t hosts = f->hosts;

	__builtin_prefetch(step.p);
	if (step.end->node < hosts) {
		adv_ahead_fetch_engine(&f->host[step.end->node]);
		if (step.sent)
			adv_qp_fetch_turn(f->host[step.end->node].hints.sender);
	} else {
		const struct adv_fabric_node *n = &f->node[step.end->node - hosts];
		const struct adv_departure *d = adv_ahead_departure(n, event);

		adv_switch_fetch_port(n->sw, step.end->port);
		if (d)
			__builtin_prefetch(&n->sw->port[d->port]);
	}
}

static inline void adv_ahead_fetch_other(const struct adv_fabric *f,
					 const struct adv_calendar_event *event)
{
	struct adv_ahead step = adv_ahead_of(f, event);
	uint32_t hosts = f->hosts;
	const struct adv_fabric_node *n;
	const struct adv_departure *d;

	if (!step.p)
		return;
	if (step.end->node < hosts) {
		const struct adv_fabric_host *h = &f->host[step.end->node];

		if (step.sent)
			adv_engine_fetch_turn(h->engine, h->hints.sender);
		else if (step.p->kind == ADV_PACKET_DATA && !step.p->external)
			adv_ahead_fetch_receiver(f, h, step.p);
		return;
	}
	n = &f->node[step.end->node - hosts];
	d = adv_ahead_departure(n, event);
	if (d)
		adv_switch_fetch_sent(n->sw, d->port, d->in_port, d->priority);
	if (step.sent)
		adv_switch_fetch_sent(n->sw, step.end->port, step.p->in_port, step.p->priority);
	else
		adv_switch_fetch_rx(n->sw, step.end->port, step.p);
}

/* Prefetches what an event of a wire needs, so many events ahead. */
static inline void adv_ahead_of_wire(const struct adv_fabric *f,
				     const struct adv_calendar_event *event, unsigned ahead)
{
	const struct adv_wire *w = &f->wire[event->what & ADV_DUE_INDEX];
	uint32_t node;

	switch (ahead) {
	case ADV_AHEAD_WIRE:
		__builtin_prefetch(w);
		break;
	case ADV_AHEAD_HOST:
		node = adv_ahead_of(f, event).end->node;
		if (node < f->hosts)
			adv_ahead_fetch_host(&f->host[node]);
		break;
	case ADV_AHEAD_FRAME:
		adv_ahead_fetch_frame(f, event);
		break;
	default:
		adv_ahead_fetch_other(f, event);
	}
}

/* The same of a host's timer. */
static inline void adv_ahead_of_timer(const struct adv_fabric_host *h, unsigned ahead)
{
	switch (ahead) {
	case 3:
		adv_ahead_fetch_host(h);
		break;
	case 2:
		adv_ahead_fetch_engine(h);
		break;
	case 1:
		adv_engine_fetch_timers(h->engine);
		adv_qp_fetch_turn(h->hints.sender);
		break;
	default:
		adv_engine_fetch_timer(h->engine);
		adv_qp_fetch_next(h->hints.sender);
	}
}

/* Before an event that was dequeued is processed. */
static inline void adv_fabric_look_ahead(const struct adv_fabric *f)
{
	uint32_t count;
	const struct adv_calendar_event *next = adv_calendar_soon(f->calendar, &count);

	for (unsigned i = 0; i < ADV_AHEAD_STEPS && i < count; i++)
		if (adv_ahead_applies(&next[i]))
			adv_ahead_of_wire(f, &next[i], i);
		else if (next[i].what >> ADV_DUE_SHIFT == ADV_DUE_HOST)
			adv_ahead_of_timer(&f->host[next[i].what & ADV_DUE_INDEX], i);
}

#endif
