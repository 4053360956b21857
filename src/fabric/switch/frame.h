/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What each frame passes in a switch: adv_switch_rx(), adv_switch_tx() and adv_switch_sent() in
 * parts that are inline. settle.c connects them, and spares a frame whose port is free the queue.
 */
#ifndef ADV_FABRIC_SWITCH_FRAME_H
#define ADV_FABRIC_SWITCH_FRAME_H

#include "fabric/switch/internal.h"
#include "nic/wire/packet.h"

/* ---- in ---- */

/* Returns the port by which a frame will leave the switch; ADV_NO_PORT: there is none, or it is
 * chosen when the frame arrives. */
static inline uint16_t adv_switch_port_of(const struct adv_switch *s, const struct adv_packet *p)
{
	const struct adv_route_set *set;
	uint32_t route;

	if (p->kind != ADV_PACKET_DATA || p->to >= s->routes->hosts)
		return ADV_NO_PORT;
	route = adv_route_of(s->routes, p->to);
	if (route & ADV_ROUTE_ONE)
		return (uint16_t)(route & ~ADV_ROUTE_ONE);
	set = &s->routes->set[route];
	if (set->count == 0 || s->balance != ADV_BALANCE_ECMP)
		return ADV_NO_PORT;
	return adv_route_pick(s->routes, set, p->flow, s->route_seed);
}

/* Returns the output port of a frame, whose `out` is set; ADV_NO_PORT: it was dropped. */
static inline uint16_t adv_switch_route(struct adv_switch *s, uint64_t now, unsigned port,
					struct adv_packet *p)
{
	if (p->hop_limit <= 1) {
		adv_switch_drop(s, now, port, p, ADV_DROP_HOPS);
		return ADV_NO_PORT;
	}
	p->hop_limit--;
	return p->out != ADV_NO_PORT ? p->out : adv_switch_choose(s, now, port, p);
}

/* Stores a received frame in the buffer. Returns the port that has to send it; ADV_NO_PORT: the
 * frame was dropped. */
static inline uint16_t adv_switch_store(struct adv_switch *s, uint64_t now, unsigned port,
					struct adv_packet *p)
{
	enum adv_drop why;
	uint16_t out;

	s->counters.rx_frames++;
	s->counters.rx_bytes += p->bytes;
	out = adv_switch_route(s, now, port, p);
	if (out == ADV_NO_PORT)
		return out;
	p->in_port = (uint16_t)port;
	if (s->port[out].storm & (1u << p->priority) && !s->watchdog.forward)
		why = ADV_DROP_WATCHDOG;
	else if (adv_buffer_admit(s, now, p, &s->port[out].egress, &why))
		return out;
	adv_switch_drop(s, now, port, p, why);
	return ADV_NO_PORT;
}

/* Queues a stored frame. */
static inline void adv_switch_queue(struct adv_switch *s, uint16_t out, struct adv_packet *p)
{
	struct adv_switch_port *pt = &s->port[out];

	adv_egress_push(&pt->egress, p);
	if (!pt->sending && adv_egress_ready(&pt->egress))
		adv_switch_wake(s, out);
}

/* ---- out ---- */

static inline void adv_switch_add_telemetry(const struct adv_egress *e, uint64_t now,
					    struct adv_packet *p)
{
	if (p->has_telemetry && !p->telemetry->echo)
		adv_switch_add_hop(e, now, &p->telemetry->of);
}

/* Begins to send a stored frame without queueing it, if nothing is before it. False: it has to be
 * queued. An empty queue marks no frame. */
static inline bool adv_switch_pass(struct adv_switch *s, uint64_t now, uint16_t out,
				   struct adv_packet *p)
{
	struct adv_switch_port *pt = &s->port[out];

	if (pt->sending || pt->to_tell || pt->in_ready ||
	    !adv_egress_free(&pt->egress, p->priority))
		return false;
	adv_egress_pass(&pt->egress, p);
	pt->sending = true;
	adv_switch_add_telemetry(&pt->egress, now, p);
	return true;
}

/* Marks a frame that has left the queue if the queue is long. The length is measured when the frame
 * leaves, which informs senders earliest (DCQCN, SIGCOMM 2015, section 3.1). */
static inline void adv_switch_mark(struct adv_switch *s, uint64_t now, unsigned port,
				   struct adv_packet *p)
{
	const struct adv_class *class = &s->class[p->priority];
	uint64_t bytes = s->port[port].egress.queue[p->priority].bytes;

	if (bytes > class->ecn_min && class->ecn_max && (p->tclass & 3) != ADV_ECN_NOT_ECT)
		adv_switch_mark_long(s, now, port, p, bytes);
}

/* As adv_switch_tx(), of a port that owes no pause frame. */
static inline struct adv_packet *adv_switch_next(struct adv_switch *s, uint64_t now, unsigned port)
{
	struct adv_switch_port *pt = &s->port[port];
	struct adv_packet *p = adv_egress_pop(&pt->egress);

	if (!p)
		return NULL;
	pt->sending = true;
	adv_switch_mark(s, now, port, p);
	adv_switch_add_telemetry(&pt->egress, now, p);
	return p;
}

/* Ends the sending of a frame. `bytes`: its size, or 0 if it is a pause frame. */
static inline void adv_switch_end(struct adv_switch *s, uint64_t now, unsigned port,
				  unsigned in_port, unsigned priority, uint32_t bytes)
{
	struct adv_switch_port *pt = &s->port[port];

	assert(pt->sending);
	pt->sending = false;
	if (bytes) {
		s->counters.tx_frames++;
		s->counters.tx_bytes += bytes;
		adv_buffer_release(s, now, in_port, priority, bytes);
	}
}

/* ---- prefetch ---- */

/* Prefetches what comes first of a port: of a received or a sent frame. */
static inline void adv_switch_fetch_port(const struct adv_switch *s, unsigned port)
{
	__builtin_prefetch(&s->port[port]);
}

/* Prefetches the other data for adv_switch_store(). The data of adv_switch_fetch_port() and the
 * frame are in the cache. */
static inline void adv_switch_fetch_rx(const struct adv_switch *s, unsigned port,
				       const struct adv_packet *p)
{
	const struct adv_switch_port *out;

	if (p->kind != ADV_PACKET_DATA || p->out == ADV_NO_PORT)
		return;
	out = &s->port[p->out];
	__builtin_prefetch(adv_switch_in(s, port, p->priority));
	__builtin_prefetch(out);
	__builtin_prefetch(&out->egress.queue[p->priority]);
}

/* Prefetches the data for adv_switch_end(), and the next frame of the port. */
static inline void adv_switch_fetch_sent(const struct adv_switch *s, unsigned port,
					 unsigned in_port, unsigned priority)
{
	__builtin_prefetch(adv_switch_in(s, in_port, priority));
	__builtin_prefetch(s->port[port].egress.queue[priority].packets.head);
}

#endif
