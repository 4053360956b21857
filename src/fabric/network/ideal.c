/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The time that a transfer takes in an empty network. */
#include "fabric/network/internal.h"

#define HOPS_MAX   64
#define WINDOW_MAX (1u << 20)

/* Bytes on the wire of a packet besides its payload: frame, IPv4, UDP, BTH and ICRC, as
 * make_frame() of host.c counts them; RETH and AETH come on top. */
#define BASE_BYTES  (ADV_FRAME_OVERHEAD + ADV_WIRE_OVERHEAD + 12)
#define RETH_BYTES  16
#define AETH_BYTES  4
#define LEAST_BYTES (ADV_FRAME_MIN + ADV_WIRE_OVERHEAD)

/* The cables from one host to another. */
struct way {
	uint64_t delay;	      /* ps */
	uint64_t ps_per_byte; /* sum */
	unsigned hops;
	uint64_t ps[HOPS_MAX]; /* per byte, of each cable */
};

/* Follows the first of the routes. False: there is none. */
static bool follow_route(const struct adv_fabric *f, uint32_t from, uint32_t to, struct way *way)
{
	const struct adv_topology *t = f->config.topology;
	uint32_t wire = f->host[from].wire;

	*way = (struct way){.delay = 0};
	for (unsigned hop = 0; hop < HOPS_MAX; hop++) {
		const struct adv_wire *w = &f->wire[wire];
		const struct adv_route_table *routes;
		const struct adv_route_set *set;

		way->delay += w->delay;
		way->ps_per_byte += w->ps_per_byte;
		way->ps[way->hops++] = w->ps_per_byte;
		if (w->to.node < t->hosts)
			return w->to.node == to;
		routes = &t->routes[w->to.node - t->hosts];
		set = adv_route_find(routes, to);
		if (set->count == 0)
			return false;
		wire = f->port_wire[f->first_port[w->to.node - t->hosts] +
				    routes->port[set->first]];
	}
	return false;
}

/* Time of one small packet on the way. */
static uint64_t packet_time(const struct way *way, uint64_t bytes)
{
	return (bytes < LEAST_BYTES ? LEAST_BYTES : bytes) * way->ps_per_byte + way->delay;
}

static uint64_t divide_up(uint64_t n, uint64_t by)
{
	return (n + by - 1) / by;
}

/* The times at which each cable has sent what it has got until now, without the cables' delays. */
struct line {
	const struct way *way;
	uint64_t busy[HOPS_MAX];
};

/* Sends packets of `bytes` each. A cable starts a packet when it has sent those before, and the
 * cable before has sent all of this one. Of several packets, the slowest of the cables that they
 * pass delays all but one. */
static void send_packets(struct line *l, uint64_t bytes, uint64_t count)
{
	const struct way *way = l->way;

	if (count == 0)
		return;
	if (bytes < LEAST_BYTES)
		bytes = LEAST_BYTES;
	for (unsigned h = way->hops; h-- > 0;) {
		uint64_t sum = 0, slowest = 0, last = 0;

		for (unsigned from = h + 1; from-- > 0;) {
			uint64_t end;

			sum += way->ps[from];
			slowest = way->ps[from] > slowest ? way->ps[from] : slowest;
			end = l->busy[from] + bytes * (sum + (count - 1) * slowest);
			last = end > last ? end : last;
		}
		l->busy[h] = last;
	}
}

/* Sends a message. The first packet of a WRITE and of a READ's responses has a further header, and
 * the last one of a READ's. */
static void send_message(const struct adv_fabric *f, enum adv_fabric_operation operation,
			 struct line *l, uint64_t bytes)
{
	uint64_t mtu = f->config.mtu, packets = divide_up(bytes, mtu), last, first = BASE_BYTES;

	first += operation == ADV_FABRIC_WRITE ? RETH_BYTES : 0;
	first += operation == ADV_FABRIC_READ ? AETH_BYTES : 0;
	bytes = divide_up(bytes, 4) * 4; /* pad bytes of the BTH */
	if (packets <= 1) {
		send_packets(l, first + bytes, 1);
		return;
	}
	send_packets(l, first + mtu, 1);
	send_packets(l, BASE_BYTES + mtu, packets - 2);
	last = BASE_BYTES + bytes - (packets - 1) * mtu;
	send_packets(l, last + (operation == ADV_FABRIC_READ ? AETH_BYTES : 0), 1);
}

/* Bytes on the wire of a whole message. */
static uint64_t message_bytes(const struct adv_fabric *f, const struct adv_fabric_connection *c)
{
	struct way one_byte = {.hops = 1, .ps = {1}};
	struct line l = {.way = &one_byte};

	send_message(f, c->operation, &l, c->message);
	return l.busy[0];
}

/* Sends messages whose packets need no look of their own: the slowest cable delays all bytes. */
static void send_bytes(struct line *l, uint64_t bytes)
{
	for (unsigned h = l->way->hops; h-- > 0;) {
		uint64_t slowest = 0, last = 0;

		for (unsigned from = h + 1; from-- > 0;) {
			uint64_t end;

			slowest = l->way->ps[from] > slowest ? l->way->ps[from] : slowest;
			end = l->busy[from] + bytes * slowest;
			last = end > last ? end : last;
		}
		l->busy[h] = last;
	}
}

/* Time of the data. Only the first and the last two of many whole messages are looked at packet by
 * packet: the longest sequence of packets that wait for each other gets to another cable there. */
static uint64_t data_time(const struct adv_fabric *f, const struct adv_fabric_connection *c,
			  const struct way *way, uint64_t bytes)
{
	uint64_t whole = bytes / c->message, rest = bytes % c->message;
	struct line l = {.way = way};

	for (uint64_t i = 0; i < whole; i++) {
		if (i == 1 && whole > 3) {
			send_bytes(&l, (whole - 3) * message_bytes(f, c));
			i = whole - 2;
		}
		send_message(f, c->operation, &l, c->message);
	}
	if (rest || whole == 0)
		send_message(f, c->operation, &l, rest);
	return l.busy[way->hops - 1] + way->delay;
}

uint64_t adv_fabric_ideal(const struct adv_fabric *f, uint32_t connection, uint64_t bytes)
{
	const struct adv_fabric_connection *c = &f->peer[connection].config;
	struct way there, back;

	if (bytes == UINT64_MAX || !follow_route(f, c->initiator, c->target, &there) ||
	    !follow_route(f, c->target, c->initiator, &back))
		return 0;
	if (c->operation == ADV_FABRIC_READ)
		return packet_time(&there, BASE_BYTES + RETH_BYTES) + data_time(f, c, &back, bytes);
	return data_time(f, c, &there, bytes) + packet_time(&back, BASE_BYTES + AETH_BYTES);
}

/* True if hosts a and b have equal cables to the same node, so that paths to them are alike. */
static bool are_alike(const struct adv_fabric *f, uint32_t a, uint32_t b)
{
	const struct adv_wire *v = &f->wire[f->host[a].wire], *w = &f->wire[f->host[b].wire];

	return v->to.node == w->to.node && v->ps_per_byte == w->ps_per_byte && v->delay == w->delay;
}

uint32_t adv_fabric_bdp(const struct adv_fabric *f, uint32_t host)
{
	uint64_t bytes = f->config.mtu + BASE_BYTES, most = 1;

	for (uint32_t to = 0; to < f->config.topology->hosts; to++) {
		struct way there, back;
		uint64_t time;

		if (to == host || (to && to - 1 != host && are_alike(f, to, to - 1)) ||
		    !follow_route(f, host, to, &there) || !follow_route(f, to, host, &back))
			continue;
		time = packet_time(&there, bytes + RETH_BYTES) +
		       packet_time(&back, BASE_BYTES + AETH_BYTES);
		time = divide_up(time, bytes * f->wire[f->host[host].wire].ps_per_byte);
		most = time > most ? time : most;
	}
	return most < WINDOW_MAX ? (uint32_t)most : WINDOW_MAX;
}
