/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The time that a transfer takes in an empty network. */
#include "fabric/fabric_internal.h"

#define HOPS_MAX   64
#define WINDOW_MAX (1u << 20)

/* Bytes on the wire of a packet besides its payload: frame, IPv4, UDP, BTH and ICRC, as
 * queue_packet() counts them; RETH and AETH come on top. */
#define BASE_BYTES  (ADV_FRAME_OVERHEAD + ADV_WIRE_OVERHEAD + 12)
#define RETH_BYTES  16
#define AETH_BYTES  4
#define LEAST_BYTES (ADV_FRAME_MIN + ADV_WIRE_OVERHEAD)

/* The cables from one host to another. */
struct way {
	uint64_t delay;	      /* ps */
	uint64_t ps_per_byte; /* sum */
	uint64_t slowest;     /* ps per byte */
};

/* Follows the first of the routes. False: there is none. */
static bool follow(const struct adv_fabric *f, uint32_t from, uint32_t to, struct way *way)
{
	const struct adv_topology *t = f->config.topology;
	uint32_t wire = f->host[from].wire;

	*way = (struct way){0, 0, 0};
	for (unsigned hop = 0; hop < HOPS_MAX; hop++) {
		const struct adv_wire *w = &f->wire[wire];
		const struct adv_route_table *routes;
		const struct adv_route_set *set;

		way->delay += w->delay;
		way->ps_per_byte += w->ps_per_byte;
		if (w->ps_per_byte > way->slowest)
			way->slowest = w->ps_per_byte;
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

/* Bytes of headers of a message's packets. */
static uint64_t header_bytes(enum adv_fabric_operation operation, uint64_t packets)
{
	uint64_t bytes = packets * BASE_BYTES;

	if (operation == ADV_FABRIC_WRITE)
		return bytes + RETH_BYTES;
	if (operation == ADV_FABRIC_READ)
		return bytes + (packets > 1 ? 2 * AETH_BYTES : AETH_BYTES);
	return bytes;
}

/* Time of the data: the slowest cable carries all of it, the others are a packet behind. */
static uint64_t data_time(const struct adv_fabric *f, const struct adv_fabric_connection *c,
			  const struct way *way, uint64_t bytes)
{
	uint64_t mtu = f->config.mtu, whole = bytes / c->message, rest = bytes % c->message;
	uint64_t all = bytes, behind;

	all += whole * header_bytes(c->operation, divide_up(c->message, mtu));
	if (rest)
		all += header_bytes(c->operation, divide_up(rest, mtu));
	behind = bytes > mtu ? mtu + BASE_BYTES : all;
	if (behind < LEAST_BYTES)
		behind = all = LEAST_BYTES;
	return (all - behind) * way->slowest + behind * way->ps_per_byte + way->delay;
}

uint64_t adv_fabric_ideal(const struct adv_fabric *f, uint32_t connection, uint64_t bytes)
{
	const struct adv_fabric_connection *c = &f->peer[connection].config;
	struct way there, back;

	if (bytes == UINT64_MAX || !follow(f, c->initiator, c->target, &there) ||
	    !follow(f, c->target, c->initiator, &back))
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
		    !follow(f, host, to, &there) || !follow(f, to, host, &back))
			continue;
		time = packet_time(&there, bytes + RETH_BYTES) +
		       packet_time(&back, BASE_BYTES + AETH_BYTES);
		time = divide_up(time, bytes * f->wire[f->host[host].wire].ps_per_byte);
		most = time > most ? time : most;
	}
	return most < WINDOW_MAX ? (uint32_t)most : WINDOW_MAX;
}
