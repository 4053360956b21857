/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lists the connection manager's ids for tools. */
#include <string.h>

#include "runtime/ucma/ucma.h"
#include "runtime/ucma/address.h"
#include "runtime/ucma/stream.h"
#include "runtime/exchange/resource_exchange.h"

_Static_assert(sizeof(union adv_ucma_sockaddr) == ADV_RESOURCE_SOCKADDR, "room for an address");

struct asker {
	const struct adv_ucma *ucma;
	uid_t uid;
};

/* Returns the id's state as a number of the kernel (enum rdma_cm_state in
 * include/rdma/rdma_cm.h). */
static uint8_t state_of(const struct adv_ucma_id *id, bool has_peer)
{
	enum {
		IDLE,
		ADDR_QUERY,
		ADDR_RESOLVED,
		ROUTE_QUERY,
		ROUTE_RESOLVED,
		CONNECT,
		DISCONNECT,
		ADDR_BOUND,
		LISTEN
	};
	static const uint8_t states[] = {
		[ADV_UCMA_IDLE] = IDLE,
		[ADV_UCMA_BOUND] = ADDR_BOUND,
		[ADV_UCMA_ADDR_QUERY] = ADDR_QUERY,
		[ADV_UCMA_ADDR_RESOLVED] = ADDR_RESOLVED,
		[ADV_UCMA_ROUTE_QUERY] = ROUTE_QUERY,
		[ADV_UCMA_ROUTE_RESOLVED] = ROUTE_RESOLVED,
		[ADV_UCMA_CONNECT] = CONNECT,
		[ADV_UCMA_LISTEN] = LISTEN,
	};

	if (id->state == ADV_UCMA_CONNECT && !has_peer)
		return DISCONNECT;
	return states[id->state];
}

static void describe_id(const struct adv_ucma_id *id, struct adv_object *out)
{
	union adv_ucma_sockaddr address;
	uint32_t qpn = adv_cm_id_qpn(id->cm);
	bool has_peer = id->stream ? adv_ucma_stream_has_peer(id, &qpn) : adv_cm_id_busy(id->cm);

	out->number = id->number;
	out->pid = (uint32_t)id->channel->client->session.peer.pid;
	out->state = state_of(id, has_peer);
	out->type = (uint8_t)adv_cm_id_qp_type(id->cm);
	out->port = id->ifindex ? 1 : 0;
	out->cm_id.port_space = adv_cm_id_port_space(id->cm);
	out->cm_id.qpn = qpn;
	adv_ucma_to_sockaddr(adv_cm_id_local(id->cm), &address);
	memcpy(out->cm_id.local, &address, sizeof(address));
	adv_ucma_to_sockaddr(adv_cm_id_remote(id->cm), &address);
	memcpy(out->cm_id.remote, &address, sizeof(address));
}

/* Lists the ids of a client without the first *skip. */
static unsigned list_client_ids(const struct adv_ucma_client *c, uint64_t *skip,
				struct adv_object *out, unsigned room)
{
	unsigned count = 0;

	if (*skip >= c->id_count) {
		*skip -= c->id_count;
		return 0;
	}
	adv_list_for_each(const struct adv_ucma_id, id, &c->id_list, link) {
		if (count == room)
			break;
		if (*skip)
			(*skip)--;
		else
			describe_id(id, &out[count++]);
	}
	return count;
}

/* Lists ids for one message. *from is the number of ids in earlier messages. */
static unsigned list_objects(void *user, enum adv_resource_kind kind, uint64_t *from,
			     struct adv_object *out, unsigned room)
{
	const struct asker *a = user;
	const struct adv_list *clients = &a->ucma->clients;
	uint64_t skip = kind == ADV_RESOURCE_CM_ID ? *from : 0;
	unsigned count = 0, all = 0;

	memset(out, 0, room * sizeof(*out));
	adv_list_for_each(const struct adv_ucma_client, c, clients, link) {
		if (a->uid != 0 && c->session.peer.uid != a->uid)
			continue;
		all += c->id_count;
		if (kind == ADV_RESOURCE_CM_ID && count < room)
			count += list_client_ids(c, &skip, out + count, room - count);
	}
	*from = count == room ? *from + count : ADV_RESOURCES_END;
	if (kind != ADV_RESOURCE_SUMMARY)
		return count;
	out->type = ADV_RESOURCE_CM_ID;
	out->users = all;
	return 1;
}

int adv_ucma_objects(struct adv_ucma *u, uid_t uid, int fd)
{
	struct asker a = {u, uid};

	adv_resource_answer(fd, ADV_SLOT_DAEMON, list_objects, &a);
	return 0;
}
