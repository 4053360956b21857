/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The life of an id, and the tables it is found by. */
#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cm/internal.h"
#include "wire/frame.h"

#define SIDR_BIT (UINT64_C(1) << 32)

/* ---- counted ---- */

/* Takes an id out of what is counted by state, or puts it back in. */
static void count(const struct adv_cm_id *id, int by)
{
	struct adv_cm *cm = id->cm;

	if (id->owned && adv_cm_id_busy(id))
		cm->busy += (unsigned)by;
	else if (!id->owned && id->state == ADV_CM_DREQ_SENT)
		cm->closing += (unsigned)by;
}

void adv_cm_id_charge(struct adv_cm_id *id, unsigned *charged)
{
	if (id->charged)
		--*id->charged;
	if (charged)
		++*charged;
	id->charged = charged;
}

void adv_cm_id_set_state(struct adv_cm_id *id, enum adv_cm_state state)
{
	count(id, -1);
	id->state = state;
	count(id, 1);
}

/* ---- made and freed ---- */

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

static void drop_events(struct adv_cm_id *id)
{
	while (!adv_list_empty(&id->events))
		adv_cm_event_drop(
			adv_container_of(id->events.next, struct adv_cm_event_node, of_id));
}

/* Out of all tables, the timer stopped. */
static void leave(struct adv_cm_id *id)
{
	struct adv_cm *cm = id->cm;

	adv_cm_id_answered(id);
	adv_cm_timer_set(&cm->timers, &id->timer, ADV_CM_NEVER);
	adv_table_remove(&cm->by_comm_id, &id->by_comm_id);
	adv_table_remove(&cm->by_remote, &id->by_remote);
	adv_table_remove(&cm->by_qpn, &id->by_qpn);
}

/* The events of requests that are delivered name their listener no more; those here do. */
static void forget_listener(struct adv_cm_id *id)
{
	while (!adv_list_empty(&id->requests))
		adv_cm_request_taken(
			adv_container_of(id->requests.next, struct adv_cm_id, request_link));
}

void adv_cm_id_free(struct adv_cm_id *id)
{
	struct adv_cm *cm = id->cm;

	leave(id);
	drop_events(id);
	adv_cm_port_release(id);
	adv_cm_request_taken(id);
	forget_listener(id);
	adv_list_del(&id->link);
	count(id, -1);
	adv_cm_id_charge(id, NULL);
	if (id->owned)
		cm->owned--;
	else
		cm->ending--;
	adv_cm_timers_release(&cm->timers);
	free(id);
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

/* ---- ended ---- */

void adv_cm_id_close(struct adv_cm_id *id)
{
	leave(id);
	adv_cm_id_set_state(id, ADV_CM_CLOSED);
	if (!id->owned)
		adv_cm_id_free(id);
}

void adv_cm_id_timewait(struct adv_cm_id *id, uint64_t now)
{
	uint64_t ns = id->cm->config.timewait_ns;
	uint8_t n = id->timeout < ADV_CM_TIMEWAIT_LONGEST ? id->timeout : ADV_CM_TIMEWAIT_LONGEST;

	adv_cm_id_answered(id);
	/* Its QP number may be used again, as far as we are asked (as in Linux). */
	adv_table_remove(&id->cm->by_qpn, &id->by_qpn);
	adv_cm_id_set_state(id, ADV_CM_TIMEWAIT);
	adv_cm_timer_set(&id->cm->timers, &id->timer, now + (ns ? ns : adv_cm_iba_ns(n)));
}

/* Nobody owns it from now on. */
static void disown(struct adv_cm_id *id)
{
	drop_events(id);
	adv_cm_port_release(id);
	adv_cm_request_taken(id);
	id->user = NULL;
	count(id, -1);
	id->owned = false;
	count(id, 1);
	id->cm->owned--;
	id->cm->ending++;
}

/* Has the request come to its consumer's knowledge? */
static bool undelivered(const struct adv_cm_id *id)
{
	const struct adv_cm_event_node *first;

	if (adv_list_empty(&id->events))
		return false;
	first = adv_container_of(id->events.next, struct adv_cm_event_node, of_id);
	return first->event.type == RDMA_CM_EVENT_CONNECT_REQUEST;
}

static void destroy_requests(struct adv_cm_id *listener, uint64_t now)
{
	struct adv_list *link = listener->requests.next;

	while (link != &listener->requests) {
		struct adv_cm_id *id = adv_container_of(link, struct adv_cm_id, request_link);

		link = link->next;
		if (undelivered(id))
			adv_cm_id_destroy(id, now);
	}
}

void adv_cm_id_destroy(struct adv_cm_id *id, uint64_t now)
{
	switch (id->state) {
	case ADV_CM_LISTENING:
		destroy_requests(id, now);
		break;
	case ADV_CM_REQ_SENT:
		adv_cm_send_rej(id, ADV_CM_REJ_TIMEOUT, NULL, 0);
		break;
	case ADV_CM_REQ_RCVD:
	case ADV_CM_REP_RCVD:
		adv_cm_send_rej(id, ADV_CM_REJ_CONSUMER_DEFINED, NULL, 0);
		break;
	case ADV_CM_REP_SENT:
		adv_cm_send_rej(id, ADV_CM_REJ_CONSUMER_DEFINED, NULL, 0);
		disown(id);
		adv_cm_id_timewait(id, now);
		return;
	case ADV_CM_ESTABLISHED:
		disown(id);
		adv_cm_send_dreq(id, now);
		return;
	case ADV_CM_DREQ_SENT:
	case ADV_CM_TIMEWAIT:
		disown(id);
		return;
	case ADV_CM_SIDR_REQ_RCVD:
		adv_cm_send_sidr_rep(id, ADV_CM_SIDR_REJECT, NULL);
		break;
	default:
		break;
	}
	adv_cm_id_free(id);
}

/* ---- what is asked and set ---- */

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

bool adv_cm_id_busy(const struct adv_cm_id *id)
{
	switch (id->state) {
	case ADV_CM_REQ_SENT:
	case ADV_CM_REP_RCVD:
	case ADV_CM_REQ_RCVD:
	case ADV_CM_REP_SENT:
	case ADV_CM_ESTABLISHED:
	case ADV_CM_DREQ_SENT:
	case ADV_CM_SIDR_REQ_SENT:
	case ADV_CM_SIDR_REQ_RCVD:
		return true;
	default:
		return false;
	}
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

/* Both ends of a connection send from the UDP port that follows from this. As Linux. */
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
	if (!path->flow_label)
		path->flow_label = choose_flow_label(id);
	path->sport = adv_udp_sport(path->flow_label, 0, 0);
	id->has_route = true;
	adv_cm_id_set_state(id, ADV_CM_ROUTED);
	return 0;
}

/* ---- found ---- */

void adv_cm_id_begin(struct adv_cm_id *id)
{
	struct adv_cm *cm = id->cm;
	uint64_t hash;

	do {
		id->local_comm_id = (uint32_t)adv_rng_secret(&cm->rng, cm->secret_key);
		hash = adv_cm_hash(cm->hash_key, id->local_comm_id, 0);
	} while (!id->local_comm_id || adv_table_next(&cm->by_comm_id, hash, NULL));
	adv_table_add(&cm->by_comm_id, &id->by_comm_id, hash);
	id->local_psn = (uint32_t)adv_rng_secret(&cm->rng, cm->secret_key) & 0xffffff;
	id->tid = adv_rng_secret(&cm->rng, cm->secret_key);
}

static uint64_t remote_hash(const struct adv_cm *cm, const struct adv_gid *gid, uint64_t guid,
			    uint32_t remote_comm_id, bool sidr)
{
	return adv_cm_hash_gid(cm->hash_key, gid, guid, remote_comm_id | (sidr ? SIDR_BIT : 0));
}

void adv_cm_id_enter_remote(struct adv_cm_id *id, uint32_t remote_comm_id)
{
	struct adv_cm *cm = id->cm;

	id->remote_comm_id = remote_comm_id;
	adv_table_add(&cm->by_remote, &id->by_remote,
		      remote_hash(cm, &id->route.path.dgid, id->remote_guid, remote_comm_id,
				  id->qp_type == IBV_QPT_UD));
}

void adv_cm_id_enter_qpn(struct adv_cm_id *id)
{
	struct adv_cm *cm = id->cm;

	adv_table_add(&cm->by_qpn, &id->by_qpn,
		      adv_cm_hash_gid(cm->hash_key, &id->route.path.dgid, id->remote_guid,
				      id->remote_qpn));
}

static bool addresses_fit(const struct adv_cm_id *id, const struct adv_rx_meta *meta)
{
	return adv_gid_equal(&id->route.path.dgid, &meta->sgid) &&
	       adv_gid_equal(&id->route.path.sgid, &meta->dgid);
}

struct adv_cm_id *adv_cm_find(struct adv_cm *cm, const struct adv_rx_meta *meta,
			      uint32_t local_comm_id)
{
	uint64_t hash = adv_cm_hash(cm->hash_key, local_comm_id, 0);
	struct adv_table_node *n = NULL;

	while ((n = adv_table_next(&cm->by_comm_id, hash, n))) {
		struct adv_cm_id *id = adv_container_of(n, struct adv_cm_id, by_comm_id);

		if (id->local_comm_id == local_comm_id)
			return addresses_fit(id, meta) ? id : NULL;
	}
	return NULL;
}

struct adv_cm_id *adv_cm_find_both(struct adv_cm *cm, const struct adv_rx_meta *meta,
				   uint32_t local_comm_id, uint32_t remote_comm_id)
{
	struct adv_cm_id *id = adv_cm_find(cm, meta, local_comm_id);

	return id && adv_table_node_is_in(&id->by_remote) && id->remote_comm_id == remote_comm_id
		       ? id
		       : NULL;
}

struct adv_cm_id *adv_cm_find_remote(struct adv_cm *cm, const struct adv_rx_meta *meta,
				     uint64_t guid, uint32_t remote_comm_id, bool sidr)
{
	uint64_t hash = remote_hash(cm, &meta->sgid, guid, remote_comm_id, sidr);
	struct adv_table_node *n = NULL;

	while ((n = adv_table_next(&cm->by_remote, hash, n))) {
		struct adv_cm_id *id = adv_container_of(n, struct adv_cm_id, by_remote);

		if (id->remote_comm_id == remote_comm_id && id->remote_guid == guid &&
		    (id->qp_type == IBV_QPT_UD) == sidr && addresses_fit(id, meta))
			return id;
	}
	return NULL;
}

struct adv_cm_id *adv_cm_find_qpn(struct adv_cm *cm, const struct adv_gid *gid, uint64_t guid,
				  uint32_t qpn)
{
	uint64_t hash = adv_cm_hash_gid(cm->hash_key, gid, guid, qpn);
	struct adv_table_node *n = NULL;

	while ((n = adv_table_next(&cm->by_qpn, hash, n))) {
		struct adv_cm_id *id = adv_container_of(n, struct adv_cm_id, by_qpn);

		if (id->remote_qpn == qpn && id->remote_guid == guid &&
		    adv_gid_equal(&id->route.path.dgid, gid))
			return id;
	}
	return NULL;
}
