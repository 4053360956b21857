/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rdma_join_multicast(3). The group's GID is its IP address. The process's socket joins the group
 * when the process attaches its queue pair. So a membership in this file only identifies its
 * events.
 */
#include "runtime/ucma/multicast.h"

#include <errno.h>
#include <net/if.h>
#include <stdlib.h>

#include "runtime/ucma/address.h"
#include "runtime/ucma/channel.h"

static void queue_membership_event(struct adv_ucma_membership *m, int error)
{
	struct adv_ucma_event event = {
		.id = m->id,
		.membership = m,
		.type = error ? RDMA_CM_EVENT_MULTICAST_ERROR : RDMA_CM_EVENT_MULTICAST_JOIN,
		.status = -error,
		.param = {.qp_num = ADV_QPN_MULTICAST,
			  .qkey = ADV_CM_UDP_QKEY,
			  .qp_type = IBV_QPT_UD},
	};

	m->lost = error != 0;
	adv_ucma_event_queue(&event);
}

/* Returns 0, or an errno if the id's interface cannot join a multicast group. */
static int check_interface(const struct adv_ucma_id *id)
{
	struct adv_ucma *u = id->channel->client->ucma;
	uint32_t flags;

	if (!adv_ucma_find_gid(u, &adv_cm_id_local(id->cm)->ip, id->ifindex))
		return ENODEV;
	flags = adv_resolve_interface_flags(u->resolver, id->ifindex);
	/* lo carries multicast too, although it does not have IFF_MULTICAST. */
	return flags & (IFF_MULTICAST | IFF_LOOPBACK) ? 0 : EOPNOTSUPP;
}

int adv_ucma_join(struct adv_ucma_client *c, struct adv_ucma_message *m, int *fd)
{
	struct adv_ucma_membership *new;
	struct adv_cm_addr group;
	int error = 0;
	struct adv_ucma_id *id = adv_ucma_id_find_bound(c, m->id, &error);

	if (!id)
		return error;
	if (id->stream)
		return ENOSYS; /* as the kernel, for iWARP */
	if ((id->state != ADV_UCMA_BOUND && id->state != ADV_UCMA_ADDR_RESOLVED) ||
	    adv_cm_id_qp_type(id->cm) != IBV_QPT_UD ||
	    m->body.join.join_flags >= RDMA_MC_JOIN_FLAG_RESERVED ||
	    !adv_ucma_from_sockaddr(&m->body.join.addr, &group) ||
	    !adv_gid_is_multicast(&group.ip) ||
	    adv_gid_is_ipv4(&group.ip) != (group.family == AF_INET))
		return EINVAL;
	if (c->memberships.used >= ADV_UCMA_CLIENT_JOINS ||
	    (c->ucma->daemon->system && c->session.turn.user->joins >= ADV_UCMA_USER_JOINS))
		return ENOBUFS;
	new = calloc(1, sizeof(*new));
	if (!new)
		return ENOMEM;
	new->id = id;
	new->group = group.ip;
	error = adv_handles_add(&c->memberships, new, &new->handle);
	if (error) {
		free(new);
		return error;
	}
	adv_list_add_tail(&id->memberships, &new->link);
	c->session.turn.user->joins++;
	m->value = new->handle;
	queue_membership_event(new, check_interface(id));
	return 0;
}

static void leave_group(struct adv_ucma_membership *m)
{
	adv_ucma_events_drop(m->id, m);
	adv_handles_remove(&m->id->channel->client->memberships, m->handle);
	m->id->channel->client->session.turn.user->joins--;
	adv_list_del(&m->link);
	free(m);
}

int adv_ucma_leave(struct adv_ucma_client *c, struct adv_ucma_message *m, int *fd)
{
	int error = 0;
	struct adv_ucma_id *id = adv_ucma_id_find(c, m->id, &error);
	struct adv_ucma_membership *found =
		m->value <= UINT32_MAX ? adv_handles_find(&c->memberships, (uint32_t)m->value)
				       : NULL;

	if (!id)
		return error;
	if (!found || found->id != id)
		return ENOENT;
	leave_group(found);
	return 0;
}

void adv_ucma_leave_all(struct adv_ucma_id *id)
{
	while (!adv_list_empty(&id->memberships))
		leave_group(
			adv_container_of(id->memberships.next, struct adv_ucma_membership, link));
}

void adv_ucma_memberships_lost(struct adv_ucma_id *id)
{
	adv_list_for_each(struct adv_ucma_membership, m, &id->memberships, link) {
		if (!m->lost)
			queue_membership_event(m, ENODEV);
	}
}
