/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Adds events, reports them to the watcher, and puts frames on wires. */
#include <assert.h>

#include "fabric/part.h"
#include "fabric/settle.h"
#include "fabric/switch_internal.h"

/* Departures are processed late if so many are to be expected at a time. */
#define DEPARTURES_MIN 3

void adv_fabric_at(struct adv_fabric *f, uint64_t at, enum adv_due kind, uint32_t index)
{
	if (f->parts)
		f = adv_parts_owner(f, kind, index);
	assert(index <= ADV_DUE_INDEX && at >= f->now);
	if (!adv_calendar_add(f->calendar, at, (uint32_t)kind << ADV_DUE_SHIFT | index))
		f->no_memory = true;
}

void adv_fabric_tell(struct adv_fabric *f, const struct adv_fabric_event *event)
{
	if (!f->watch || adv_part_follows(f))
		return;
	if (f->part && (!f->part->all->global || f->part->all->ranks))
		adv_part_note(f, event);
	else
		f->watch(f->watch_user, event);
}

/* Begins the transmission of a frame. Returns its end, ps. */
static inline uint64_t begin_sending(struct adv_fabric *f, uint32_t wire, struct adv_packet *p)
{
	struct adv_wire *w = &f->wire[wire];

	assert(!w->sending);
	w->sending = p;
	if (w->seen_leaving)
		adv_fabric_show(f, wire, true, p);
	return f->now + adv_wire_time(w->ps_per_byte, p->bytes);
}

void adv_fabric_put(struct adv_fabric *f, uint32_t wire, struct adv_packet *p)
{
	uint64_t end = begin_sending(f, wire, p);

	adv_fabric_at(f, end, ADV_DUE_SENT, wire);
}

void adv_fabric_fly(struct adv_fabric *f, uint32_t wire, struct adv_packet *p)
{
	struct adv_wire *w = &f->wire[wire];

	if (!w->flying.head)
		adv_fabric_at(f, p->at, ADV_DUE_ARRIVE, wire);
	else
		w->flying.tail->at = p->at;
	adv_packet_list_push(&w->flying, p);
}

/* ---- departures, see departure.h ---- */

/* Returns the latest time at which a departure has to be processed. Other parts have to learn at
 * once which frames arrive there. A departure may end a pause: then a pause frame leaves at once,
 * by any port. */
static inline uint64_t limit_of(const struct adv_fabric *f, const struct adv_fabric_node *n,
				uint64_t at, uint32_t wire)
{
	const struct adv_wire *w = &f->wire[wire];

	if (w->crosses || (n->pausing && n->borders))
		return at;
	return at + (n->pausing ? n->slack : w->delay);
}

static inline void need_event(struct adv_fabric *f, struct adv_fabric_node *n, uint64_t at)
{
	if (at >= n->settle_at)
		return;
	n->settle_at = at;
	adv_fabric_at(f, at, ADV_DUE_SETTLE, n->index);
}

static inline void depart(struct adv_fabric *f, struct adv_fabric_node *n,
			  const struct adv_departure *d)
{
	adv_departures_add(&n->departures, d);
	need_event(f, n, limit_of(f, n, d->at, d->wire));
}

void adv_fabric_plan_settle(struct adv_fabric *f, struct adv_fabric_node *n)
{
	const struct adv_departures *d = &n->departures;
	uint64_t first = ADV_CALENDAR_NEVER;

	for (uint32_t i = d->first; i != d->end; i++) {
		const struct adv_departure *next = &d->of[i & d->mask];
		uint64_t limit = limit_of(f, n, next->at, next->wire);

		if (limit < first)
			first = limit;
	}
	need_event(f, n, first);
}

/* True if most ports that send all the time have several departures until an event processes them.
 * An event for each of them is faster otherwise. */
static bool pays(const struct adv_fabric *f, const struct adv_fabric_node *n)
{
	unsigned ports = adv_switch_ports(n->sw), good = 0;

	for (unsigned i = 0; i < ports; i++) {
		const struct adv_wire *w = &f->wire[n->sw->port[i].number];

		good += w->delay / DEPARTURES_MIN * ports >=
			adv_wire_time(w->ps_per_byte, f->config.mtu);
	}
	return 2 * good > ports;
}

void adv_fabric_set_slack(struct adv_fabric *f, struct adv_fabric_node *n)
{
	n->slack = adv_switch_repeat_min(n->sw);
	for (unsigned i = 0; i < adv_switch_ports(n->sw); i++) {
		const struct adv_wire *w = &f->wire[n->sw->port[i].number];

		if (w->delay < n->slack)
			n->slack = w->delay;
	}
	n->late = pays(f, n);
	adv_fabric_plan_settle(f, n);
}

/* ---- switches ---- */

/* Puts a frame of a switch on a wire that is free. A watcher learns events in their order, and
 * programs receive frames so: then all events are in the calendar. */
static inline void put_switched(struct adv_fabric *f, struct adv_fabric_node *n, uint16_t port,
				struct adv_packet *p)
{
	uint32_t wire = n->sw->port[port].number;
	uint64_t end = begin_sending(f, wire, p);

	if (f->watch || f->external || !n->late)
		adv_fabric_at(f, end, ADV_DUE_SENT, wire);
	else
		depart(f, n, &(struct adv_departure){end, p, wire, port});
}

void adv_fabric_serve(struct adv_fabric *f, uint32_t s)
{
	struct adv_fabric_node *n = &f->node[s];
	struct adv_switch *sw = n->sw;

	while (sw->ready_first != ADV_NO_PORT) {
		uint16_t port = adv_switch_take_ready(sw);
		struct adv_packet *p = adv_switch_tx(sw, f->now, port);

		if (p)
			put_switched(f, n, port, p);
	}
	if (n->pausing != (sw->pausing > 0)) {
		n->pausing = !n->pausing;
		adv_fabric_plan_settle(f, n);
	}
	if (sw->deadline < n->timer_at) {
		n->timer_at = sw->deadline;
		adv_fabric_at(f, sw->deadline, ADV_DUE_SWITCH, s);
	}
}
