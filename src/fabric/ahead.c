/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Prefetching. A large network does not fit into the processor's cache, and the data of an event is
 * reached through a chain of pointers: wire, frame, port, output port. For the next few events this
 * file follows the chain one step per event, so that each step finds in the cache what the previous
 * step prefetched. Only the speed depends on it.
 */
#include <assert.h>

#include "fabric/fabric_internal.h"

/* Number of events ahead for which the wire and the frame are prefetched. The port is prefetched
 * for the next event. */
#define TO_WIRE	 4
#define TO_FRAME 2
#define TO_PORT	 0

/* Returns the wire of the event; NULL: it has none. */
static const struct adv_wire *wire_of(const struct adv_fabric *f,
				      const struct adv_calendar_event *event)
{
	enum adv_due kind = event->what >> ADV_DUE_SHIFT;

	if (kind != ADV_DUE_SENT && kind != ADV_DUE_ARRIVE)
		return NULL;
	return &f->wire[event->what & ADV_DUE_INDEX];
}

/* True if the event is at the sending end of the wire. */
static bool is_sent(const struct adv_calendar_event *event)
{
	return event->what >> ADV_DUE_SHIFT == ADV_DUE_SENT;
}

static const struct adv_link_end *end_of(const struct adv_wire *w,
					 const struct adv_calendar_event *event)
{
	return is_sent(event) ? &w->from : &w->to;
}

static const struct adv_packet *frame_of(const struct adv_wire *w,
					 const struct adv_calendar_event *event)
{
	return is_sent(event) ? w->sending : w->flying.head;
}

static void fetch_wire(const struct adv_fabric *f, const struct adv_calendar_event *event)
{
	const struct adv_wire *w = wire_of(f, event);

	if (w)
		__builtin_prefetch(w);
}

static void fetch_frame(const struct adv_fabric *f, const struct adv_calendar_event *event)
{
	const struct adv_wire *w = wire_of(f, event);
	uint32_t hosts = f->config.topology->hosts;
	const struct adv_link_end *end;

	if (!w)
		return;
	end = end_of(w, event);
	__builtin_prefetch(frame_of(w, event));
	if (end->node < hosts)
		__builtin_prefetch(&f->host[end->node].engine);
	else
		adv_switch_fetch_port(f->node[end->node - hosts].sw, end->port);
}

static void fetch_host(const struct adv_fabric_host *h)
{
	adv_engine_fetch(h->engine);
	__builtin_prefetch(h->cq);
	__builtin_prefetch(h->mr);
	__builtin_prefetch(&h->counters);
}

static void fetch_port(const struct adv_fabric *f, const struct adv_calendar_event *event)
{
	const struct adv_wire *w = wire_of(f, event);
	uint32_t hosts = f->config.topology->hosts;
	const struct adv_link_end *end;
	const struct adv_packet *p;

	if (!w)
		return;
	end = end_of(w, event);
	p = frame_of(w, event);
	assert(p);
	if (!is_sent(event))
		__builtin_prefetch(p->next); /* the frame whose arrival is added next */
	if (end->node < hosts)
		fetch_host(&f->host[end->node]);
	else if (is_sent(event))
		adv_switch_fetch_sent(f->node[end->node - hosts].sw, end->port, p);
	else
		adv_switch_fetch_rx(f->node[end->node - hosts].sw, end->port, p);
}

void adv_fabric_look_ahead(const struct adv_fabric *f)
{
	uint32_t count;
	const struct adv_calendar_event *next = adv_calendar_soon(f->calendar, &count);

	if (count > TO_WIRE)
		fetch_wire(f, &next[TO_WIRE]);
	if (count > TO_FRAME)
		fetch_frame(f, &next[TO_FRAME]);
	if (count > TO_PORT)
		fetch_port(f, &next[TO_PORT]);
}
