/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/cm/id.h"

#include <errno.h>
#include <stdlib.h>

#include "nic/cm/backlog.h"
#include "nic/cm/event.h"
#include "nic/cm/find.h"
#include "nic/cm/port.h"
#include "nic/wire/frame.h"

/* ---- creating and freeing ---- */

struct adv_cm_id *adv_cm_id_new(struct adv_cm *cm)
{
	struct adv_cm_id *id;

	if (cm->owned + cm->ending >= cm->config.max_ids)
		return NULL;
	if (adv_cm_timers_reserve(&cm->timers))
		return NULL;
	id = calloc(1, sizeof(*id));
	if (!id) {
		adv_cm_timers_release(&cm->timers);
		return NULL;
	}
	id->cm = cm;
	id->owned = true;
	adv_list_init(&id->events);
	adv_list_init(&id->port_link);
	adv_list_init(&id->requests);
	adv_list_init(&id->request_link);
	adv_table_node_init(&id->by_comm_id);
	adv_table_node_init(&id->by_remote);
	adv_table_node_init(&id->by_qpn);
	adv_list_add_tail(&cm->ids, &id->link);
	cm->owned++;
	return id;
}

struct adv_cm_id *adv_cm_id_create(struct adv_cm *cm, enum rdma_port_space ps,
				   enum ibv_qp_type qp_type, void *user)
{
	struct adv_cm_id *id;

	switch (ps) {
	case RDMA_PS_TCP:
	case RDMA_PS_UDP:
	case RDMA_PS_IPOIB:
	case RDMA_PS_IB:
		break;
	default:
		errno = EPROTONOSUPPORT;
		return NULL;
	}
	id = adv_cm_id_new(cm);
	if (!id) {
		errno = ENOMEM;
		return NULL;
	}
	id->ps = ps;
	id->qp_type = qp_type;
	id->user = user;
	return id;
}

/* Ends retransmission and removes the id from all tables. */
static void stop_protocol(struct adv_cm_id *id)
{
	adv_cm_id_answered(id);
	adv_cm_timers_stop(id);
	adv_cm_id_leave_tables(id);
}

/* Makes undelivered requests forget this listener. Delivered ones no longer refer to it. */
static void forget_listener(struct adv_cm_id *id)
{
	while (!adv_list_empty(&id->requests))
		adv_cm_request_taken(
			adv_container_of(id->requests.next, struct adv_cm_id, request_link));
}

void adv_cm_id_free(struct adv_cm_id *id)
{
	struct adv_cm *cm = id->cm;

	stop_protocol(id);
	adv_cm_id_drop_events(id);
	adv_cm_port_release(id);
	adv_cm_request_taken(id);
	forget_listener(id);
	adv_list_del(&id->link);
	adv_cm_id_uncount(id);
	adv_cm_timers_release(&cm->timers);
	free(id);
}

/* ---- ending ---- */

void adv_cm_id_close(struct adv_cm_id *id)
{
	stop_protocol(id);
	adv_cm_id_set_state(id, ADV_CM_CLOSED);
	if (!id->owned)
		adv_cm_id_free(id);
}

void adv_cm_id_timewait(struct adv_cm_id *id, uint64_t now)
{
	uint64_t ns = id->cm->config.timewait_ns;
	uint8_t n = id->timeout < ADV_CM_TIMEWAIT_LONGEST ? id->timeout : ADV_CM_TIMEWAIT_LONGEST;

	adv_cm_id_answered(id);
	/* As in Linux, the peer may use its QP number again at once. */
	adv_cm_id_leave_qpn(id);
	adv_cm_id_set_state(id, ADV_CM_TIMEWAIT);
	adv_cm_timewait_timer_set(id, now + (ns ? ns : adv_cm_iba_ns(n)));
}

/* ---- attributes ---- */

void adv_cm_id_set_user(struct adv_cm_id *id, void *user)
{
	id->user = user;
}

void *adv_cm_id_user(const struct adv_cm_id *id)
{
	return id->user;
}

enum rdma_port_space adv_cm_id_port_space(const struct adv_cm_id *id)
{
	return id->ps;
}

enum ibv_qp_type adv_cm_id_qp_type(const struct adv_cm_id *id)
{
	return id->qp_type;
}

uint32_t adv_cm_id_qpn(const struct adv_cm_id *id)
{
	return id->local_qpn;
}

const struct adv_cm_addr *adv_cm_id_local(const struct adv_cm_id *id)
{
	return &id->local;
}

const struct adv_cm_addr *adv_cm_id_remote(const struct adv_cm_id *id)
{
	return &id->remote;
}

const struct adv_cm_route *adv_cm_id_route(const struct adv_cm_id *id)
{
	return id->has_route ? &id->route : NULL;
}

int adv_cm_set_addresses(struct adv_cm_id *id, const struct adv_cm_addr *local,
			 const struct adv_cm_addr *remote)
{
	if (id->state != ADV_CM_IDLE)
		return EINVAL;
	id->local = *local;
	id->remote = *remote;
	adv_cm_id_set_state(id, ADV_CM_ADDRESSED);
	return 0;
}

int adv_cm_set_tos(struct adv_cm_id *id, uint8_t tos)
{
	id->tos = tos;
	id->tos_set = true;
	return 0;
}

int adv_cm_set_ack_timeout(struct adv_cm_id *id, uint8_t ack_timeout)
{
	if (ack_timeout > 31)
		return EINVAL;
	id->ack_timeout = ack_timeout;
	id->ack_timeout_set = true;
	return 0;
}

/* Chooses a flow label, as in Linux. Both ends of a connection derive their UDP source port from
 * it. */
static uint32_t choose_flow_label(struct adv_cm_id *id)
{
	uint32_t v = (id->local.port * 31u + id->remote.port) & 0xfffff;

	return v ? v : 1 + (uint32_t)adv_rng_below(&id->cm->rng, 0xfffff);
}

int adv_cm_set_route(struct adv_cm_id *id, const struct adv_cm_route *route)
{
	struct adv_path *path = &id->route.path;

	if (id->state == ADV_CM_REQ_RCVD || id->state == ADV_CM_SIDR_REQ_RCVD) {
		if (route->mtu && route->mtu < id->route.mtu)
			return EMSGSIZE;
		path->sgid_index = route->path.sgid_index;
		path->hop_limit = route->path.hop_limit;
		id->route.rate = route->rate;
		return 0;
	}
	if (id->state != ADV_CM_ADDRESSED && id->state != ADV_CM_ROUTED)
		return EINVAL;
	id->route = *route;
	if (!id->route.pkey)
		id->route.pkey = id->cm->config.pkeys.pkey[0];
	if (!path->flow_label)
		path->flow_label = choose_flow_label(id);
	path->sport = adv_frame_sport(path->flow_label, 0, 0);
	id->has_route = true;
	adv_cm_id_set_state(id, ADV_CM_ROUTED);
	return 0;
}
