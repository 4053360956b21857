/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/ucma/address.h"

#include <arpa/inet.h>
#include <string.h>

static const struct adv_gid any4 = {.raw = {[10] = 0xff, [11] = 0xff}};
static const struct adv_gid any6;

bool adv_ucma_from_sockaddr(const union adv_ucma_sockaddr *in, struct adv_cm_addr *out)
{
	*out = (struct adv_cm_addr){.family = in->family};
	if (in->family == AF_INET) {
		out->port = ntohs(in->in.sin_port);
		out->ip = any4;
		memcpy(out->ip.raw + 12, &in->in.sin_addr, 4);
		return true;
	}
	if (in->family == AF_INET6) {
		out->port = ntohs(in->in6.sin6_port);
		memcpy(out->ip.raw, &in->in6.sin6_addr, 16);
		out->scope_id = in->in6.sin6_scope_id;
		return true;
	}
	return false;
}

void adv_ucma_to_sockaddr(const struct adv_cm_addr *in, union adv_ucma_sockaddr *out)
{
	memset(out, 0, sizeof(*out));
	if (in->family == AF_INET) {
		out->in.sin_family = AF_INET;
		out->in.sin_port = htons(in->port);
		memcpy(&out->in.sin_addr, in->ip.raw + 12, 4);
	} else if (in->family == AF_INET6) {
		out->in6.sin6_family = AF_INET6;
		out->in6.sin6_port = htons(in->port);
		memcpy(&out->in6.sin6_addr, in->ip.raw, 16);
		out->in6.sin6_scope_id = in->scope_id;
	}
}

bool adv_ucma_is_any(const struct adv_cm_addr *a)
{
	return adv_gid_equal(&a->ip, a->family == AF_INET ? &any4 : &any6);
}

bool adv_ucma_is_link_local(const struct adv_gid *g)
{
	return g->raw[0] == 0xfe && (g->raw[1] & 0xc0) == 0x80;
}

const struct adv_gid_entry *adv_ucma_find_gid(const struct adv_ucma *u, const struct adv_gid *gid,
					      uint32_t ifindex)
{
	for (uint32_t i = 0; i < u->gids.count; i++) {
		const struct adv_gid_entry *e = &u->gids.entry[i];

		if (adv_gid_equal(&e->gid, gid) && (!ifindex || e->ifindex == ifindex))
			return e;
	}
	return NULL;
}

int adv_ucma_gid_index(const struct adv_ucma *u, enum adv_roce roce, const struct adv_gid_entry *e,
		       bool v1)
{
	const uint32_t plain = (uint32_t)(e - u->gids.entry);
	const uint32_t index = v1 ? adv_roce_v1_index(roce, plain, u->gids.count) : plain;

	return index < ADV_GID_TABLE_ENTRIES ? (int)index : -1;
}

static void fill_route_path(const struct adv_cm_route *r, struct adv_ucma_route *out)
{
	out->has_path = 1;
	out->sgid = r->path.sgid;
	out->dgid = r->path.dgid;
	out->flow_label = r->path.flow_label;
	out->tclass = r->path.tclass;
	out->hop_limit = r->path.hop_limit;
	out->sl = r->path.sl;
	out->mtu = (uint8_t)r->mtu;
	out->rate = r->rate;
	out->packet_life_time = r->packet_life_time;
}

void adv_ucma_fill_route(const struct adv_ucma_id *id, struct adv_ucma_route *out)
{
	const struct adv_ucma *u = id->channel->client->ucma;
	const struct adv_cm_addr *local = adv_cm_id_local(id->cm);
	const struct adv_cm_addr *remote = adv_cm_id_remote(id->cm);
	const struct adv_cm_route *route = adv_cm_id_route(id->cm);
	const struct adv_gid_entry *e;
	int index;

	memset(out, 0, sizeof(*out));
	adv_ucma_to_sockaddr(local, &out->local);
	adv_ucma_to_sockaddr(remote, &out->remote);
	if (!id->ifindex)
		return;
	out->port_num = 1;
	out->pkey = route ? route->pkey : u->gids.pkeys.pkey[0];
	out->sgid = local->ip;
	if (remote->family)
		out->dgid = remote->ip;
	if (route)
		fill_route_path(route, out);
	/* Looks up the index again: it changes when addresses are removed. */
	e = adv_ucma_find_gid(u, &out->sgid, id->ifindex);
	out->ifindex = id->ifindex;
	out->v1 = route && route->path.v1;
	index = e ? adv_ucma_gid_index(u, id->roce, e, route && route->path.v1) : 0;
	out->no_gid = index < 0;
	out->sgid_index = index < 0 ? 0 : (uint8_t)index;
}
