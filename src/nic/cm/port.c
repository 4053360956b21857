/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/cm/port.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nic/cm/address.h"
#include "nic/cm/hash.h"

/* The first port of Linux's default net.ipv4.ip_local_port_range. */
#define EPHEMERAL_FIRST 32768u
#define EPHEMERAL_LAST	60999u
#define EPHEMERAL	(EPHEMERAL_LAST - EPHEMERAL_FIRST + 1)

static bool same_address(const struct adv_cm_addr *a, const struct adv_cm_addr *b)
{
	return a->family == b->family && adv_gid_equal(&a->ip, &b->ip) &&
	       a->scope_id == b->scope_id;
}

static uint64_t port_hash(const struct adv_cm *cm, enum rdma_port_space ps, uint16_t number)
{
	return adv_cm_hash(cm->hash_key, ps, number);
}

static struct adv_cm_port *find_port(const struct adv_cm *cm, enum rdma_port_space ps,
				     uint16_t number)
{
	struct adv_table_node *n = NULL;

	while ((n = adv_table_next(&cm->ports, port_hash(cm, ps, number), n))) {
		struct adv_cm_port *port = adv_container_of(n, struct adv_cm_port, node);

		if (port->ps == ps && port->number == number)
			return port;
	}
	return NULL;
}

/* Returns the counter of used ephemeral ports in this port space. */
static unsigned *ephemeral_used(struct adv_cm *cm, enum rdma_port_space ps)
{
	switch (ps) {
	case RDMA_PS_TCP:
		return &cm->ephemeral_used[0];
	case RDMA_PS_UDP:
		return &cm->ephemeral_used[1];
	case RDMA_PS_IPOIB:
		return &cm->ephemeral_used[2];
	default:
		return &cm->ephemeral_used[3];
	}
}

static bool is_ephemeral(uint16_t number)
{
	return number >= EPHEMERAL_FIRST && number <= EPHEMERAL_LAST;
}

static void enter_port(struct adv_cm_id *id, struct adv_cm_port *port)
{
	id->port = port;
	id->local.port = port->number;
	adv_list_add_tail(&port->owners, &id->port_link);
	port->owner_count++;
}

static int add_port(struct adv_cm_id *id, uint16_t number)
{
	struct adv_cm_port *port = malloc(sizeof(*port));

	if (!port)
		return ENOMEM;
	adv_table_node_init(&port->node);
	port->ps = id->ps;
	port->number = number;
	port->owner_count = 0;
	adv_list_init(&port->owners);
	adv_table_add(&id->cm->ports, &port->node, port_hash(id->cm, id->ps, number));
	*ephemeral_used(id->cm, id->ps) += is_ephemeral(number);
	enter_port(id, port);
	return 0;
}

void adv_cm_port_release(struct adv_cm_id *id)
{
	struct adv_cm_port *port = id->port;

	if (!port)
		return;
	adv_list_del(&id->port_link);
	id->port = NULL;
	port->owner_count--;
	if (!adv_list_empty(&port->owners))
		return;
	adv_table_remove(&id->cm->ports, &port->node);
	*ephemeral_used(id->cm, port->ps) -= is_ephemeral(port->number);
	free(port);
}

static bool only_own_family(const struct adv_cm_id *id)
{
	return id->local.family == AF_INET || (id->bind_flags & ADV_CM_BIND_AFONLY);
}

static bool has_room(const struct adv_cm_port *port)
{
	return port->owner_count < ADV_CM_OWNERS_MAX;
}

/* True if the two ids exclude each other at one port. `reuse`: `id` may share the port. */
static bool is_conflict(const struct adv_cm_id *id, const struct adv_cm_id *owner, bool reuse)
{
	if (reuse && owner->state != ADV_CM_LISTENING && (owner->bind_flags & ADV_CM_BIND_REUSE))
		return false;
	if (only_own_family(id) && only_own_family(owner) &&
	    id->local.family != owner->local.family)
		return false;
	return adv_cm_addr_any(&id->local) || adv_cm_addr_any(&owner->local) ||
	       same_address(&id->local, &owner->local);
}

bool adv_cm_port_is_taken(const struct adv_cm_id *id, const struct adv_cm_port *port, bool reuse)
{
	adv_list_for_each(const struct adv_cm_id, owner, &port->owners, port_link) {
		if (owner != id && is_conflict(id, owner, reuse))
			return true;
	}
	return false;
}

/*
 * True if the connecting id may share this port: all owners have peers, and no owner has the id's
 * peer. The id's peer may be unknown yet.
 */
static bool leads_elsewhere(const struct adv_cm_id *id, const struct adv_cm_port *port)
{
	adv_list_for_each(const struct adv_cm_id, owner, &port->owners, port_link) {
		if (owner->state == ADV_CM_LISTENING || !owner->remote.family)
			return false;
		if (owner->remote.port == id->remote.port &&
		    same_address(&owner->remote, &id->remote))
			return false;
	}
	return true;
}

static int bind_ephemeral(struct adv_cm_id *id)
{
	uint32_t start = (uint32_t)adv_rng_below(&id->cm->rng, EPHEMERAL), i;
	bool any_free = *ephemeral_used(id->cm, id->ps) < EPHEMERAL;
	struct adv_cm_port *port;

	for (i = 0; any_free && i < EPHEMERAL; i++) {
		uint16_t number = (uint16_t)(EPHEMERAL_FIRST + (start + i) % EPHEMERAL);

		if (!find_port(id->cm, id->ps, number))
			return add_port(id, number);
	}
	for (i = 0; i < EPHEMERAL; i++) {
		port = find_port(id->cm, id->ps,
				 (uint16_t)(EPHEMERAL_FIRST + (start + i) % EPHEMERAL));
		if (has_room(port) && leads_elsewhere(id, port)) {
			enter_port(id, port);
			return 0;
		}
	}
	return EADDRINUSE;
}

static int bind_port(struct adv_cm_id *id)
{
	struct adv_cm_port *port;

	if (!id->local.port)
		return bind_ephemeral(id);
	port = find_port(id->cm, id->ps, id->local.port);
	if (!port)
		return add_port(id, id->local.port);
	if (!has_room(port) || adv_cm_port_is_taken(id, port, id->bind_flags & ADV_CM_BIND_REUSE))
		return EADDRINUSE;
	enter_port(id, port);
	return 0;
}

int adv_cm_bind(struct adv_cm_id *id, const struct adv_cm_addr *addr, unsigned flags)
{
	int err;

	if (id->state != ADV_CM_IDLE)
		return EINVAL;
	if (addr->family != AF_INET && addr->family != AF_INET6)
		return EAFNOSUPPORT;
	id->local = *addr;
	id->bind_flags = flags;
	err = bind_port(id);
	if (err) {
		memset(&id->local, 0, sizeof(id->local));
		id->bind_flags = 0;
		return err;
	}
	adv_cm_id_set_state(id, ADV_CM_BOUND);
	return 0;
}

void adv_cm_set_bind_flags(struct adv_cm_id *id, unsigned flags)
{
	if (id->port)
		id->bind_flags = flags;
}

int adv_cm_set_peer(struct adv_cm_id *id, const struct adv_cm_addr *local,
		    const struct adv_cm_addr *remote)
{
	struct adv_cm_addr before = id->remote;
	int err;

	if (id->state != ADV_CM_IDLE && id->state != ADV_CM_BOUND &&
	    id->state != ADV_CM_ADDRESSED && id->state != ADV_CM_ROUTED)
		return EINVAL;
	if ((remote->family != AF_INET && remote->family != AF_INET6) ||
	    local->family != remote->family)
		return EAFNOSUPPORT;
	if (id->state == ADV_CM_IDLE) {
		id->remote = *remote;
		err = adv_cm_bind(id, local, 0);
		if (err) {
			id->remote = before;
			return err;
		}
	} else {
		uint16_t port = id->local.port;

		id->local = *local;
		id->local.port = port;
	}
	id->remote = *remote;
	id->has_route = false;
	adv_cm_id_set_state(id, ADV_CM_ADDRESSED);
	return 0;
}

/* Returns how well a listener matches this address: 0: not, 1: by the wildcard, 2: exactly. */
static int listens_at(const struct adv_cm_id *id, const struct adv_cm_ip_header *header)
{
	sa_family_t family = header->ip_version == 4 ? AF_INET : AF_INET6;

	if (adv_cm_addr_any(&id->local))
		return family == id->local.family || !only_own_family(id);
	return family == id->local.family && adv_gid_equal(&id->local.ip, &header->destination) ? 2
												: 0;
}

struct adv_cm_id *adv_cm_listener_find(struct adv_cm *cm, uint64_t service_id,
				       const struct adv_cm_ip_header *header)
{
	const struct adv_cm_port *port =
		find_port(cm, (enum rdma_port_space)(service_id >> 16), (uint16_t)service_id);
	struct adv_cm_id *best = NULL;
	int best_fit = 0;

	/* find_port() above used only the low 32 bits of the service ID; the others must be 0. */
	if (service_id >> 32 || !port)
		return NULL;
	adv_list_for_each(struct adv_cm_id, id, &port->owners, port_link) {
		int fit = listens_at(id, header);

		if (id->state != ADV_CM_LISTENING)
			break;
		if (fit > best_fit) {
			best = id;
			best_fit = fit;
		}
	}
	return best;
}
