/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "fabric/network/settle.h"

#include <assert.h>
#include <errno.h>

#include "fabric/network/flying.h"
#include "fabric/switch/frame.h"

/* Departures are processed late if so many are to be expected at a time. */
#define DEPARTURES_MIN 3

/* ---- the time by which departures have to be processed ---- */

/* Returns the latest time at which a departure has to be processed. Other parts have to learn at
 * once which frames arrive there. A departure may end a pause: then a pause frame leaves at once,
 * by any port. */
static inline uint64_t limit_of(const struct adv_fabric_node *n, uint64_t at,
				const struct adv_wire *w)
{
	if (w->crosses || (n->pausing && n->borders))
		return at;
	return at + (n->pausing ? n->slack : w->delay);
}

/* Adds the event of the departures of a switch. */
static inline void need_event(struct adv_fabric *f, struct adv_fabric_node *n, uint64_t at)
{
	if (at >= n->settle_at)
		return;
	n->settle_at = at;
	adv_fabric_at(f, at, ADV_DUE_SETTLE, n->index);
}

static void plan_settle(struct adv_fabric *f, struct adv_fabric_node *n)
{
	const struct adv_departures *d = &n->departures;
	uint64_t first = ADV_CALENDAR_NEVER;

	for (uint32_t i = d->first; i != d->end; i++) {
		const struct adv_departure *next = &d->of[i & d->mask];
		const struct adv_wire *w = &f->wire[n->sw->port[next->port].number];
		uint64_t limit = adv_fabric_in_time(f) ? next->at : limit_of(n, next->at, w);

		if (limit < first)
			first = limit;
	}
	need_event(f, n, first);
}

/* True if most ports that send all the time have several departures until an event processes them.
 * An event for each of them is faster otherwise. */
static bool departures_pay(const struct adv_fabric *f, const struct adv_fabric_node *n)
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
	n->late = departures_pay(f, n);
	plan_settle(f, n);
}

void adv_fabric_settle_in_time(struct adv_fabric *f)
{
	for (uint32_t s = 0; s < f->config.topology->switches; s++)
		plan_settle(f, &f->node[s]);
}

int adv_fabric_settle_open(struct adv_fabric *f, struct adv_fabric_node *n)
{
	if (!adv_departures_init(&n->departures, adv_switch_ports(n->sw)))
		return ENOMEM;
	adv_fabric_set_slack(f, n);
	return 0;
}

/* ---- frames onto wires ---- */

static inline uint64_t arrival_time(const struct adv_wire *w, uint64_t end)
{
	uint64_t at = end + w->delay;

	return w->shortened && at < w->not_before ? w->not_before : at;
}

/* Begins a transmission that is a departure. The frame is on its way at once, unless another part
 * receives it or the cable has failed. */
static inline void depart_frame(struct adv_fabric *f, struct adv_fabric_node *n, uint32_t wire,
				uint16_t port, struct adv_packet *p)
{
	struct adv_wire *w = &f->wire[wire];
	uint64_t end = f->now + adv_wire_time(w->ps_per_byte, p->bytes);
	struct adv_departure *d = adv_departures_add(&n->departures, end, port);

	d->in_port = p->in_port;
	d->bytes = p->kind == ADV_PACKET_DATA ? p->bytes : 0;
	d->priority = p->priority;
	d->held = w->crosses || w->cut;
	if (d->held) {
		w->sending = p;
	} else {
		p->at = arrival_time(w, end);
		adv_fabric_fly(f, wire, p);
	}
	need_event(f, n, limit_of(n, end, w));
}

/* Puts a frame in the place of the last one that is on its way. It is lost: it stands for the event
 * of its arrival, which stays. */
static void replace_last(struct adv_packet_list *l, struct adv_packet *p)
{
	struct adv_packet **link = &l->head;

	while (*link != l->tail)
		link = &(*link)->next;
	p->kind = ADV_PACKET_LOST;
	p->at = l->tail->at;
	p->next = NULL;
	*link = l->tail = p;
}

void adv_fabric_recall(struct adv_fabric *f, struct adv_fabric_node *n, uint32_t wire)
{
	const struct adv_departures *d = &n->departures;
	struct adv_wire *w = &f->wire[wire];

	for (uint32_t i = d->first; i != d->end; i++) {
		struct adv_departure *sent = &d->of[i & d->mask];
		struct adv_packet *lost;

		if (n->sw->port[sent->port].number != wire || sent->held)
			continue;
		lost = adv_packet_take(&f->pool);
		if (!lost)
			return; /* the run ends */
		w->sending = w->flying.tail;
		sent->held = true;
		replace_last(&w->flying, lost);
	}
}

/* Puts a frame of a switch on a wire that is free. If it is a departure its end is late. */
static inline void put_switched(struct adv_fabric *f, struct adv_fabric_node *n, uint16_t port,
				struct adv_packet *p)
{
	uint32_t wire = n->sw->port[port].number;

	if (adv_fabric_in_time(f) || !n->late)
		adv_fabric_put(f, wire, p);
	else
		depart_frame(f, n, wire, port, p);
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
	sw->owes = false;
	if (n->pausing != (sw->pausing > 0)) {
		n->pausing = !n->pausing;
		plan_settle(f, n);
	}
	if (sw->deadline < n->timer_at) {
		n->timer_at = sw->deadline;
		adv_fabric_at(f, sw->deadline, ADV_DUE_SWITCH, s);
	}
}

/* As adv_fabric_serve(), which mostly has nothing to do after the only frame of an event. */
static inline void serve_others(struct adv_fabric *f, struct adv_fabric_node *n)
{
	if (n->sw->ready_first != ADV_NO_PORT || n->sw->owes)
		adv_fabric_serve(f, n->index);
}

void adv_fabric_switch_rx(struct adv_fabric *f, struct adv_fabric_node *n, uint16_t port,
			  struct adv_packet *p)
{
	struct adv_switch *sw = n->sw;
	uint16_t out;

	adv_fabric_settle(f, n, f->now);
	out = adv_switch_store(sw, f->now, port, p);
	if (out != ADV_NO_PORT) {
		if (adv_switch_pass(sw, f->now, out, p))
			put_switched(f, n, out, p);
		else
			adv_switch_queue(sw, out, p);
	}
	serve_others(f, n);
}

/* ---- the ends of transmissions ---- */

/* Loses the frame that has left a wire whose cable has failed. */
static void cut_frame(struct adv_fabric *f, uint32_t wire, struct adv_packet *p)
{
	f->lost += p->kind == ADV_PACKET_DATA;
	adv_packet_give_back(&f->pool, p);
	f->wire[wire].cut = f->failures.down[wire / 2] != 0;
}

void adv_fabric_finish_sending(struct adv_fabric *f, uint32_t wire)
{
	struct adv_wire *w = &f->wire[wire];
	struct adv_packet *p = w->sending;

	w->sending = NULL;
	if (w->cut) {
		cut_frame(f, wire, p);
		return;
	}
	p->at = arrival_time(w, f->now);
	if (w->crosses)
		adv_part_cross(f, wire, p);
	else
		adv_fabric_fly(f, wire, p);
}

/* Sends the next frame of a port. */
static inline void send_next(struct adv_fabric *f, struct adv_fabric_node *n, uint16_t port)
{
	struct adv_switch *sw = n->sw;
	const struct adv_switch_port *pt = &sw->port[port];

	if (pt->to_tell) {
		adv_switch_wake(sw, port);
	} else if (pt->egress.filled && !pt->in_ready) {
		struct adv_packet *p = adv_switch_next(sw, f->now, port);

		if (p)
			put_switched(f, n, port, p);
	}
	serve_others(f, n);
}

void adv_fabric_sent(struct adv_fabric *f, struct adv_fabric_node *n, uint32_t wire)
{
	const struct adv_wire *w = &f->wire[wire];
	const struct adv_packet *p = w->sending;

	adv_switch_end(n->sw, f->now, w->from.port, p->in_port, p->priority,
		       p->kind == ADV_PACKET_DATA ? p->bytes : 0);
	adv_fabric_finish_sending(f, wire);
	send_next(f, n, w->from.port);
}

void adv_fabric_settle_departures(struct adv_fabric *f, struct adv_fabric_node *n, uint64_t to)
{
	uint64_t now = f->now;

	while (n->departures.next <= to) {
		const struct adv_departure *d = adv_departures_take(&n->departures);
		uint16_t port = d->port;

		f->now = d->at;
		f->events++;
		adv_switch_end(n->sw, d->at, port, d->in_port, d->priority, d->bytes);
		if (d->held)
			adv_fabric_finish_sending(f, n->sw->port[port].number);
		send_next(f, n, port);
	}
	f->now = now;
}

void adv_fabric_settle_due(struct adv_fabric *f, struct adv_fabric_node *n)
{
	if (n->settle_at != f->now)
		return;
	n->settle_at = ADV_CALENDAR_NEVER;
	adv_fabric_settle(f, n, f->now);
	plan_settle(f, n);
}

void adv_fabric_settle_all(const struct adv_fabric *f, uint64_t to)
{
	for (uint32_t s = 0; s < f->config.topology->switches; s++)
		adv_fabric_settle(f->node[s].fabric, &f->node[s], to);
}
