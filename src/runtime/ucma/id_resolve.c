/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rdma_resolve_addr(3) and rdma_resolve_route(3). The kernel returns the route at once. Resolving
 * the neighbour may take time. Ids that wait for a neighbour are in a list, ordered by the time of
 * the next check.
 */
#include "runtime/ucma/id_resolve.h"

#include <errno.h>
#include <limits.h>

#include "base/clock.h"
#include "runtime/ucma/address.h"
#include "runtime/ucma/bind.h"
#include "runtime/ucma/channel.h"

#define QUERIES_A_ROUND	  128
#define INTERVAL_FIRST_MS 1
#define INTERVAL_LAST_MS  100
#define PACKET_LIFE_TIME  18 /* 1.07 s, as in Linux for RoCE (CMA_IBOE_PACKET_LIFETIME) */

/* ---- the way ---- */

static const struct adv_gid loopback4 = {.raw = {[10] = 0xff, [11] = 0xff, 127, 0, 0, 1}};
static const struct adv_gid loopback6 = {.raw = {[15] = 1}};

/* Finds the outgoing interface, if the address alone does not determine it. */
static int outgoing_interface(const struct adv_ucma_id *id, const struct adv_cm_addr *to,
			      uint32_t *ifindex)
{
	bool link_local = adv_ucma_is_link_local(&to->ip);

	*ifindex = 0;
	if (!link_local && !adv_gid_is_multicast(&to->ip))
		return 0;
	*ifindex = to->scope_id ? to->scope_id : id->ifindex;
	return link_local && !*ifindex ? EINVAL : 0;
}

/*
 * Finds the route to *to from the id's address; if the id has none, from any address. A wildcard
 * *to is replaced by the loopback address. ENODEV: the source is not an address of the device.
 */
static int find_way(const struct adv_ucma_id *id, struct adv_cm_addr *to, struct adv_ip_route *way)
{
	struct adv_ucma *u = id->channel->client->ucma;
	const struct adv_cm_addr *local = adv_cm_id_local(id->cm);
	const struct adv_gid *source = adv_ucma_is_any(local) ? NULL : &local->ip;
	uint32_t ifindex;
	int error;

	if (adv_ucma_is_any(to))
		to->ip = source ? *source : to->family == AF_INET ? loopback4 : loopback6;
	else if (to->family == AF_INET6 && adv_gid_is_ipv4(&to->ip))
		return ENETUNREACH;
	error = outgoing_interface(id, to, &ifindex);
	if (!error)
		error = adv_resolve_way(u->resolver, &to->ip, source, ifindex, way);
	if (error)
		return error;
	return way->has_source && adv_ucma_find_gid(u, &way->source, 0) ? 0 : ENODEV;
}

/*
 * Returns the MTU of the path from e to `to`. Packets to this machine cross no wire, so the MTU is
 * 4096. `leaves_by` is the outgoing interface, which need not be the interface of the source
 * address.
 */
static enum ibv_mtu mtu_of(const struct adv_ucma *u, const struct adv_gid_entry *e,
			   const struct adv_cm_addr *to, uint32_t leaves_by)
{
	uint32_t bytes = e->path_mtu;

	if (adv_ucma_find_gid(u, &to->ip, adv_ucma_is_link_local(&to->ip) ? e->ifindex : 0))
		return IBV_MTU_4096;
	for (uint32_t i = 0; i < u->gids.count; i++)
		if (u->gids.entry[i].ifindex == leaves_by && u->gids.entry[i].path_mtu < bytes)
			bytes = u->gids.entry[i].path_mtu;
	for (int code = IBV_MTU_4096; code > IBV_MTU_256; code--)
		if (adv_mtu_bytes(code) <= bytes)
			return (enum ibv_mtu)code;
	return IBV_MTU_256;
}

/* Returns the rate of the port, as iboe_get_rate() in the kernel. */
static uint8_t rate_of(const struct adv_gid_entry *e)
{
	if (e->speed_mbps >= 40000)
		return IBV_RATE_40_GBPS;
	if (e->speed_mbps >= 30000)
		return IBV_RATE_30_GBPS;
	if (e->speed_mbps >= 20000)
		return IBV_RATE_20_GBPS;
	return e->speed_mbps >= 10000 ? IBV_RATE_10_GBPS : IBV_RATE_MAX;
}

int adv_ucma_set_route(struct adv_ucma_id *id)
{
	const struct adv_ucma *u = id->channel->client->ucma;
	const struct adv_gid_entry *e =
		adv_ucma_find_gid(u, &adv_cm_id_local(id->cm)->ip, id->ifindex);
	const struct adv_cm_addr *remote = adv_cm_id_remote(id->cm);
	struct adv_cm_route route;
	int error;

	if (!e)
		return ENODEV;
	route = (struct adv_cm_route){
		.path = {.sgid = e->gid,
			 .dgid = remote->ip,
			 .hop_limit = ADV_UCMA_HOP_LIMIT,
			 .sgid_index = (uint8_t)(e - u->gids.entry),
			 .v1 = id->roce == ADV_ROCE_V1 && !id->query.way.local},
		.mtu = mtu_of(u, e, remote, id->query.way.ifindex),
		.packet_life_time = PACKET_LIFE_TIME,
		.rate = rate_of(e),
	};
	error = adv_cm_set_route(id->cm, &route);
	if (error == EMSGSIZE)
		adv_cm_reject_mtu(id->cm, adv_clock_ns(), route.mtu);
	return error;
}

/* ---- waiting ---- */

static void finish_query(struct adv_ucma_id *id, int error)
{
	const bool addr = id->state == ADV_UCMA_ADDR_QUERY;

	adv_ucma_query_cancel(id);
	if (!error && !addr)
		error = adv_ucma_set_route(id);
	if (addr) {
		id->state = error ? ADV_UCMA_BOUND : ADV_UCMA_ADDR_RESOLVED;
		adv_ucma_event_queue_status(
			id, error ? RDMA_CM_EVENT_ADDR_ERROR : RDMA_CM_EVENT_ADDR_RESOLVED, -error);
	} else {
		id->state = error ? ADV_UCMA_ADDR_RESOLVED : ADV_UCMA_ROUTE_RESOLVED;
		adv_ucma_event_queue_status(
			id, error ? RDMA_CM_EVENT_ROUTE_ERROR : RDMA_CM_EVENT_ROUTE_RESOLVED,
			-error);
	}
}

/* Inserts a query into the list. Searches from the end, because most new queries are due later than
 * the queries in the list. */
static void schedule_query(struct adv_ucma *u, struct adv_ucma_query *q, uint64_t now)
{
	struct adv_list *after = u->queries.prev;

	q->due_ms = now + q->interval_ms;
	if (q->due_ms > q->deadline_ms)
		q->due_ms = q->deadline_ms;
	if (q->interval_ms < INTERVAL_LAST_MS)
		q->interval_ms *= 2;
	while (after != &u->queries &&
	       adv_container_of(after, struct adv_ucma_query, link)->due_ms > q->due_ms)
		after = after->prev;
	adv_list_add(after, &q->link);
}

static enum adv_neighbour look_up_neighbour(struct adv_ucma *u, struct adv_ucma_query *q)
{
	enum adv_neighbour n = adv_resolve_neighbour(u->resolver, &q->way);

	if (n == ADV_NEIGHBOUR_KNOWN || q->provoked)
		return n;
	adv_resolve_probe_neighbour(u->resolver, &q->to, &q->way);
	q->provoked = true;
	n = adv_resolve_neighbour(u->resolver, &q->way);
	/* If the kernel still does not resolve the neighbour, the interface needs no neighbours. */
	return n == ADV_NEIGHBOUR_NONE ? ADV_NEIGHBOUR_KNOWN : n;
}

/* Checks the neighbour: finishes the id's query, or schedules its next check. The query is in no
 * list at the call. */
static void continue_query(struct adv_ucma_id *id, uint64_t now)
{
	struct adv_ucma_client *c = id->channel->client;
	struct adv_ucma_query *q = &id->query;

	switch (look_up_neighbour(c->ucma, q)) {
	case ADV_NEIGHBOUR_KNOWN:
		finish_query(id, 0);
		return;
	case ADV_NEIGHBOUR_FAILED:
		finish_query(id, EHOSTUNREACH);
		return;
	default:
		break;
	}
	if (now >= q->deadline_ms) {
		finish_query(id, ETIMEDOUT);
		return;
	}
	c->query_count++;
	c->session.turn.user->queries++;
	schedule_query(c->ucma, q, now);
}

void adv_ucma_query_cancel(struct adv_ucma_id *id)
{
	if (adv_list_empty(&id->query.link))
		return;
	adv_list_del(&id->query.link);
	id->channel->client->query_count--;
	id->channel->client->session.turn.user->queries--;
}

void adv_ucma_queries_run(struct adv_ucma *u, uint64_t now_ms)
{
	for (int i = 0; i < QUERIES_A_ROUND && !adv_list_empty(&u->queries); i++) {
		struct adv_ucma_query *q =
			adv_container_of(u->queries.next, struct adv_ucma_query, link);
		struct adv_ucma_id *id = adv_container_of(q, struct adv_ucma_id, query);

		if (q->due_ms > now_ms)
			return;
		adv_ucma_query_cancel(id);
		continue_query(id, now_ms);
	}
}

static void start_query(struct adv_ucma_id *id, const struct adv_cm_addr *to,
			const struct adv_ip_route *way, uint32_t timeout_ms)
{
	uint64_t now = adv_clock_ms();

	id->query.to = to->ip;
	id->query.way = *way;
	id->query.provoked = false;
	id->query.interval_ms = INTERVAL_FIRST_MS;
	id->query.deadline_ms = now + (timeout_ms < INT_MAX ? timeout_ms : INT_MAX);
	continue_query(id, now);
}

/* ---- the commands ---- */

static bool may_have_more_queries(const struct adv_ucma_client *c)
{
	return c->query_count < ADV_UCMA_CLIENT_QUERIES &&
	       (!c->ucma->daemon->system || c->session.turn.user->queries < ADV_UCMA_USER_QUERIES);
}

/* Binds an unbound id: to `source`, or to the wildcard address if source->family is 0. */
static int bind_source(struct adv_ucma_client *c, struct adv_ucma_id *id,
		       const union adv_ucma_sockaddr *source, const struct adv_cm_addr *to)
{
	struct adv_cm_addr a = {.family = to->family};

	if (id->state != ADV_UCMA_IDLE)
		return id->state == ADV_UCMA_BOUND ? 0 : EINVAL;
	if (source->family && !adv_ucma_from_sockaddr(source, &a))
		return EAFNOSUPPORT;
	if (a.family != to->family)
		return EINVAL;
	if (!source->family && a.family == AF_INET)
		a.ip.raw[10] = a.ip.raw[11] = 0xff;
	return adv_ucma_bind_to(c, id, &a);
}

static int set_resolved_peer(struct adv_ucma_id *id, const struct adv_cm_addr *to,
			     const struct adv_ip_route *way)
{
	const struct adv_gid_entry *e;
	struct adv_cm_addr local = *adv_cm_id_local(id->cm);
	int error;

	local.ip = way->source;
	e = adv_ucma_find_gid(id->channel->client->ucma, &local.ip,
			      adv_ucma_is_link_local(&local.ip) ? way->ifindex : 0);
	if (!e)
		return ENODEV;
	local.scope_id = adv_ucma_is_link_local(&local.ip) ? e->ifindex : 0;
	error = adv_cm_set_peer(id->cm, &local, to);
	if (!error)
		id->ifindex = e->ifindex;
	return error;
}

int adv_ucma_resolve_addr(struct adv_ucma_client *c, struct adv_ucma_message *m, int *fd)
{
	struct adv_cm_addr to;
	struct adv_ip_route way;
	int error = 0;
	struct adv_ucma_id *id = adv_ucma_id_find(c, m->id, &error);

	if (!id)
		return error;
	if (!adv_ucma_from_sockaddr(&m->body.addr.remote, &to))
		return EINVAL;
	if (!may_have_more_queries(c))
		return ENOMEM;
	error = bind_source(c, id, &m->body.addr.local, &to);
	if (!error && adv_cm_id_local(id->cm)->family != to.family)
		error = EINVAL;
	if (error)
		return error;
	error = find_way(id, &to, &way);
	if (!error)
		error = set_resolved_peer(id, &to, &way);
	if (error && error != ENODEV)
		return error;
	id->state = ADV_UCMA_ADDR_QUERY;
	if (error)
		finish_query(id, error);
	else
		start_query(id, &to, &way, m->body.addr.timeout_ms);
	return 0;
}

int adv_ucma_resolve_route(struct adv_ucma_client *c, struct adv_ucma_message *m, int *fd)
{
	struct adv_cm_addr to;
	struct adv_ip_route way;
	int error = 0;
	struct adv_ucma_id *id = adv_ucma_id_find_bound(c, m->id, &error);

	if (!id)
		return error;
	if (id->state != ADV_UCMA_ADDR_RESOLVED)
		return EINVAL;
	if (!may_have_more_queries(c))
		return ENOMEM;
	to = *adv_cm_id_remote(id->cm);
	error = find_way(id, &to, &way);
	id->state = ADV_UCMA_ROUTE_QUERY;
	if (error)
		finish_query(id, error);
	else
		start_query(id, &to, &way, m->body.addr.timeout_ms);
	return 0;
}
