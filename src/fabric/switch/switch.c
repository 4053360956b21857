/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/network/calendar.h"
#include "fabric/switch/internal.h"
#include "nic/wire/packet.h"

const char *adv_drop_name(enum adv_drop reason)
{
	static const char *const names[ADV_DROP_REASONS] = {
		[ADV_DROP_HEADROOM] = "headroom full",	  [ADV_DROP_QUEUE] = "queue too long",
		[ADV_DROP_BUFFER] = "shared buffer full", [ADV_DROP_NO_ROUTE] = "no route",
		[ADV_DROP_HOPS] = "too many hops",	  [ADV_DROP_WATCHDOG] = "watchdog",
	};

	return names[reason];
}

/* ---- create and destroy ---- */

/* Returns reserved bytes and headroom of all ports. */
static uint64_t dedicated_bytes(const struct adv_switch *s)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < s->ports; i++)
		for (unsigned p = 0; p < ADV_PRIORITIES; p++)
			sum += s->class[p].reserved + (uint64_t)adv_switch_in(s, i, p)->headroom;
	return sum;
}

static bool make_port(struct adv_switch *s, unsigned i, uint32_t ps_per_byte)
{
	struct adv_switch_port *pt = &s->port[i];
	uint8_t weight[ADV_PRIORITIES];

	for (unsigned p = 0; p < ADV_PRIORITIES; p++) {
		weight[p] = s->class[p].weight;
		adv_switch_in(s, i, p)->headroom = s->class[p].lossless ? s->class[p].headroom : 0;
	}
	adv_egress_init(&pt->egress, ps_per_byte, weight);
	pt->repeat = (uint64_t)s->pause_quanta * ADV_QUANTUM_BYTES * ps_per_byte / 2;
	if (!s->watchdog.poll)
		return true;
	pt->guard = calloc(ADV_PRIORITIES, sizeof(*pt->guard));
	return pt->guard != NULL;
}

static int set_up_switch(struct adv_switch *s, const struct adv_switch_config *config)
{
	uint64_t used;

	s->routes = config->routes;
	s->pool = config->pool;
	s->balance = config->balance;
	s->pause_quanta = config->pause_quanta ? config->pause_quanta : ADV_QUANTA_MAX;
	s->watchdog = config->watchdog;
	s->ready_first = ADV_NO_PORT;
	memcpy(s->class, config->class, sizeof(s->class));
	adv_rng_seed(&s->rng, config->seed);
	s->route_seed = (uint32_t)adv_rng_next(&s->rng);
	s->poll_at = s->watchdog.poll;
	s->deadline = s->watchdog.poll ? s->poll_at : ADV_CALENDAR_NEVER;
	s->ports = (uint16_t)config->ports;
	s->ingress = calloc((size_t)config->ports * ADV_PRIORITIES, sizeof(*s->ingress));
	if (!s->ingress)
		return ENOMEM;
	for (unsigned i = 0; i < config->ports; i++)
		if (!make_port(s, i, config->ps_per_byte[i]))
			return ENOMEM;
	for (unsigned i = 0; config->number && i < config->ports; i++)
		s->port[i].number = config->number[i];
	used = dedicated_bytes(s);
	if (used > config->buffer)
		return EINVAL;
	s->shared = config->buffer - used;
	return 0;
}

struct adv_switch *adv_switch_create(const struct adv_switch_config *config)
{
	struct adv_switch *s;
	size_t size;
	int err;

	if (config->ports == 0 || config->ports > ADV_SWITCH_PORTS || config->buffer > UINT32_MAX) {
		errno = EINVAL;
		return NULL;
	}
	size = sizeof(*s) + config->ports * sizeof(s->port[0]);
	s = aligned_alloc(_Alignof(struct adv_switch), size);
	if (!s)
		return NULL;
	memset(s, 0, size);
	err = set_up_switch(s, config);
	if (err) {
		adv_switch_destroy(s);
		errno = err;
		return NULL;
	}
	return s;
}

void adv_switch_destroy(struct adv_switch *s)
{
	struct adv_packet *p;

	if (!s)
		return;
	for (unsigned i = 0; i < s->ports; i++) {
		for (unsigned k = 0; k < ADV_PRIORITIES; k++)
			while ((p = adv_egress_flush(&s->port[i].egress, k)) != NULL)
				adv_packet_give_back(s->pool, p);
		free(s->port[i].guard);
	}
	free(s->ingress);
	free(s);
}

int adv_switch_set_headroom(struct adv_switch *s, unsigned port, unsigned priority, uint32_t bytes)
{
	struct adv_ingress *in = adv_switch_in(s, port, priority);

	assert(s->used == 0);
	if (bytes > in->headroom && bytes - in->headroom > s->shared)
		return EINVAL;
	s->shared += in->headroom;
	s->shared -= bytes;
	in->headroom = bytes;
	return 0;
}

void adv_switch_watch(struct adv_switch *s, adv_switch_watch_fn *fn, void *user)
{
	s->watch = fn;
	s->watch_user = user;
}

/* ---- ports that may be able to send ---- */

int adv_switch_next_ready(struct adv_switch *s)
{
	return s->ready_first == ADV_NO_PORT ? -1 : adv_switch_take_ready(s);
}

/* ---- drops, and ports for one frame ---- */

void adv_switch_drop(struct adv_switch *s, uint64_t now, unsigned port, struct adv_packet *p,
		     enum adv_drop reason)
{
	s->counters.drops[reason]++;
	s->counters.dropped_bytes += p->bytes;
	adv_switch_tell(s, now, ADV_SWITCH_DROP, port, p->priority, p, reason);
	adv_packet_give_back(s->pool, p);
}

/* Returns a port of the set for one frame, whatever its flow. The frame at the head of the wire
 * does not count as queued. */
static uint16_t balance_ports(struct adv_switch *s, const struct adv_route_set *set,
			      unsigned priority)
{
	const uint16_t *port = &s->routes->port[set->first];
	uint32_t best = (uint32_t)adv_rng_below(&s->rng, set->count), from = best;

	for (uint32_t i = 1; s->balance == ADV_BALANCE_ADAPTIVE && i < set->count; i++) {
		uint32_t k = (from + i) % set->count;

		if (s->port[port[k]].egress.queue[priority].bytes <
		    s->port[port[best]].egress.queue[priority].bytes)
			best = k;
	}
	return port[best];
}

uint16_t adv_switch_choose(struct adv_switch *s, uint64_t now, unsigned port, struct adv_packet *p)
{
	const struct adv_route_set *set =
		p->to < s->routes->hosts ? adv_route_find(s->routes, p->to) : NULL;

	if (set && set->count)
		return balance_ports(s, set, p->priority);
	adv_switch_drop(s, now, port, p, ADV_DROP_NO_ROUTE);
	return ADV_NO_PORT;
}

void adv_switch_pause(struct adv_switch *s, uint64_t now, unsigned port,
		      const struct adv_packet *frame)
{
	struct adv_egress *e = &s->port[port].egress;
	uint64_t at;

	s->counters.rx_pause++;
	adv_egress_pause(e, now, frame);
	if (adv_egress_ready(e))
		adv_switch_wake(s, port);
	at = adv_egress_deadline(e);
	if (at < s->deadline)
		s->deadline = at;
}

/* ---- cables that fail ---- */

void adv_switch_link_down(struct adv_switch *s, uint64_t now, unsigned port)
{
	adv_switch_tell(s, now, ADV_SWITCH_DOWN, port, 0, NULL, 0);
	adv_egress_resume(&s->port[port].egress, now);
	if (adv_egress_ready(&s->port[port].egress))
		adv_switch_wake(s, port);
}

void adv_switch_link_up(struct adv_switch *s, uint64_t now, unsigned port)
{
	struct adv_switch_port *pt = &s->port[port];

	adv_switch_tell(s, now, ADV_SWITCH_UP, port, 0, NULL, 0);
	pt->to_tell |= pt->told;
	if (pt->to_tell)
		adv_switch_wake(s, port);
}

void adv_switch_set_pool(struct adv_switch *s, struct adv_packet_pool *pool)
{
	assert(s->used == 0);
	s->pool = pool;
}

void adv_switch_set_routes(struct adv_switch *s, const struct adv_route_table *routes)
{
	s->routes = routes;
}

/* ---- marks and telemetry ---- */

void adv_switch_mark_long(struct adv_switch *s, uint64_t now, unsigned port, struct adv_packet *p,
			  uint64_t bytes)
{
	const struct adv_class *class = &s->class[p->priority];

	if (bytes <= class->ecn_max &&
	    adv_rng_below(&s->rng, 1000000ull * (class->ecn_max - class->ecn_min)) >=
		    (bytes - class->ecn_min) * class->ecn_ppm)
		return;
	p->tclass |= ADV_ECN_CE;
	s->counters.ecn_marked++;
	adv_switch_tell(s, now, ADV_SWITCH_MARK, port, p->priority, p, bytes);
}

/* The bytes on the wire count, so that a port that sends all the time has a utilization of 1. */
void adv_switch_add_hop(const struct adv_egress *e, uint64_t now, struct adv_telemetry *t)
{
	struct adv_telemetry_hop *hop;

	if (t->hops == ADV_TELEMETRY_HOPS)
		return;
	hop = &t->hop[t->hops++];
	*hop = (struct adv_telemetry_hop){.at = now / ADV_PS_PER_NS,
					  .mbps = ADV_PS_MBPS / e->ps_per_byte};
	for (unsigned p = 0; p < ADV_PRIORITIES; p++) {
		const struct adv_egress_queue *q = &e->queue[p];

		hop->queue += (uint32_t)q->bytes;
		hop->bytes += q->sent_bytes + q->sent * ADV_WIRE_OVERHEAD;
	}
}

/* ---- queries ---- */

const struct adv_switch_counters *adv_switch_counters(const struct adv_switch *s)
{
	return &s->counters;
}

unsigned adv_switch_ports(const struct adv_switch *s)
{
	return s->ports;
}

uint64_t adv_switch_used(const struct adv_switch *s)
{
	return s->used;
}

uint64_t adv_switch_take_peak(struct adv_switch *s, unsigned port, unsigned priority)
{
	return adv_egress_take_peak(&s->port[port].egress, priority);
}

const struct adv_egress *adv_switch_egress(const struct adv_switch *s, unsigned port)
{
	return &s->port[port].egress;
}

const struct adv_ingress *adv_switch_ingress(const struct adv_switch *s, unsigned port,
					     unsigned priority)
{
	return adv_switch_in(s, port, priority);
}
