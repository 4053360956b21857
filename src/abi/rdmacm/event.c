/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Events. A thread fetches the daemon's event and counts it for the id in one step, under the
 * connection's lock. Another thread may destroy the id at the same time. If the destroying thread
 * gets the lock first, the daemon has no events of the id any more. Otherwise that thread waits
 * until this event is acknowledged. The fetching thread then applies the event to the id and its
 * QP, without the lock.
 */
#include "abi/rdmacm/event.h"

#include <errno.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "abi/rdmacm/ack.h"
#include "abi/rdmacm/channel.h"
#include "abi/rdmacm/establish.h"
#include "base/export.h"
#include "base/log.h"
#include "base/reason.h"
#include "abi/rdmacm/gid_index.h"
#include "abi/rdmacm/id.h"
#include "abi/rdmacm/newer.h"
#include "abi/rdmacm/qp.h"
#include "abi/rdmacm/route.h"
#include "abi/rdmacm/watch.h"

#define MLID_FIRST 0xc000 /* the first multicast LID */

/* With the lock held. */
static void count_event(struct adv_rdma_event *e, struct adv_rdma_id *id)
{
	e->counted = id;
	e->event.id = &id->id;
	id->reported++;
}

static struct adv_rdma_membership *find_membership(struct adv_rdma_id *id, uint64_t handle)
{
	adv_list_for_each(struct adv_rdma_membership, m, &id->memberships, link) {
		if (m->handle == handle)
			return m;
	}
	return NULL;
}

/* Makes the id of a new request. */
static int fetched_request(struct adv_rdma_event *e, const struct adv_ucma_message *m)
{
	struct adv_rdma_id *listen = e->counted;
	enum ibv_qp_type qp_type = listen->id.qp_type;
	struct adv_rdma_id *id;

	/* A listener for RC also accepts UC. */
	if (qp_type == IBV_QPT_RC && m->body.event.qp_type == IBV_QPT_UC)
		qp_type = IBV_QPT_UC;
	id = adv_rdma_id_of_request(listen, m->id, qp_type);
	if (!id)
		return ENOMEM;
	e->event.id = &id->id;
	e->event.listen_id = &listen->id;
	return 0;
}

/*
 * Fetches and counts the daemon's next event of the channel. Call it with the lock held. 0; EAGAIN:
 * there is no event, or the event is not for the application; ENODEV: the daemon has exited;
 * ENOMEM.
 */
static int fetch_event(struct adv_rdma_channel *ch, struct adv_rdma_event *e,
		       struct adv_ucma_message *m)
{
	struct adv_rdma_connection *c = ch->connection;
	struct adv_rdma_id *id;
	bool request;
	int err;

	adv_rdma_request(m, ADV_UCMA_CMD_GET_EVENT, 0);
	m->channel = ch->handle;
	err = adv_rdma_ask(c, m, NULL);
	if (err)
		return err;
	e->event.event = m->body.event.type;
	e->event.status = m->body.event.status;
	request = e->event.event == RDMA_CM_EVENT_CONNECT_REQUEST;
	id = adv_rdma_id_find(c, request ? m->body.event.listen : m->id);
	/* The application does not get events of a request that ended before it was accepted. */
	if (!id || (id->unaccepted && e->event.event != RDMA_CM_EVENT_DEVICE_REMOVAL))
		return EAGAIN;
	if (e->event.event == RDMA_CM_EVENT_MULTICAST_JOIN ||
	    e->event.event == RDMA_CM_EVENT_MULTICAST_ERROR) {
		e->membership = find_membership(id, m->body.event.multicast);
		if (!e->membership)
			return EAGAIN;
		e->membership->reported++;
	}
	if (e->event.event == RDMA_CM_EVENT_DEVICE_REMOVAL)
		id->removed = true;
	count_event(e, id);
	return request ? fetched_request(e, m) : 0;
}

/* Makes a DEVICE_REMOVAL event after the daemon has exited: each id gets it once. Call it with the
 * lock held. 0, or ENODEV: all ids have got the event. */
static int fetch_removal(struct adv_rdma_channel *ch, struct adv_rdma_event *e,
			 struct adv_ucma_message *m)
{
	struct adv_rdma_id *id;

	if (adv_list_empty(&ch->ids) || ch->connection->foreign)
		return ENODEV;
	id = adv_container_of(ch->ids.next, struct adv_rdma_id, of_channel);
	if (id->removed)
		return ENODEV;
	id->removed = true;
	adv_list_del(&id->of_channel);
	adv_list_add_tail(&ch->ids, &id->of_channel);
	adv_rdma_request(m, ADV_UCMA_CMD_GET_EVENT, 0);
	e->event.event = RDMA_CM_EVENT_DEVICE_REMOVAL;
	count_event(e, id);
	return 0;
}

static void *copy_private(struct adv_rdma_event *e, const struct adv_ucma_conn *conn)
{
	if (conn->private_data_len == 0)
		return NULL;
	memcpy(e->private_data, conn->private_data, conn->private_data_len);
	return e->private_data;
}

static void set_conn_param(struct adv_rdma_event *e, const struct adv_ucma_conn *conn)
{
	struct rdma_conn_param *p = &e->event.param.conn;

	p->private_data = copy_private(e, conn);
	p->private_data_len = conn->private_data_len;
	p->responder_resources = conn->responder_resources;
	p->initiator_depth = conn->initiator_depth;
	p->flow_control = conn->flow_control;
	p->retry_count = conn->retry_count;
	p->rnr_retry_count = conn->rnr_retry_count;
	p->srq = conn->srq;
	p->qp_num = conn->qp_num;
}

static void set_ud_param(struct adv_rdma_event *e, const struct adv_ucma_message *m)
{
	const struct adv_ucma_conn *conn = &m->body.event.conn;
	struct adv_ucma_route route = m->body.event.route;
	struct rdma_ud_param *p = &e->event.param.ud;

	/* If the address is gone, the index stays, and the address handle is of no use. */
	(void)adv_rdma_own_gid_index(e->event.id->verbs, &route);
	p->private_data = copy_private(e, conn);
	p->private_data_len = conn->private_data_len;
	p->qp_num = conn->qp_num;
	p->qkey = conn->qkey;
	memcpy(p->ah_attr.grh.dgid.raw, route.dgid.raw, sizeof(p->ah_attr.grh.dgid.raw));
	p->ah_attr.grh.flow_label = route.flow_label;
	p->ah_attr.grh.sgid_index = route.sgid_index;
	p->ah_attr.grh.hop_limit = route.hop_limit;
	p->ah_attr.grh.traffic_class = route.tclass;
	p->ah_attr.sl = route.sl;
	p->ah_attr.static_rate = route.rate;
	p->ah_attr.is_global = 1;
	p->ah_attr.port_num = route.port_num;
}

static void set_event_param(struct adv_rdma_event *e, const struct adv_ucma_message *m)
{
	if (e->event.event == ADV_EVENT_USER)
		memcpy(&e->event.param, &m->value, sizeof(m->value));
	else if (adv_rdma_is_ud(e->event.id))
		set_ud_param(e, m);
	else
		set_conn_param(e, &m->body.event.conn);
}

/* Handles a connection request. 0 or errno; after an error the application does not get the event.
 */
static int on_request(struct adv_rdma_event *e, const struct adv_ucma_message *m)
{
	struct adv_rdma_id *id = adv_rdma_id_of(e->event.id);
	int err;

	id->responder_resources = m->body.event.conn.responder_resources;
	id->initiator_depth = m->body.event.conn.initiator_depth;
	id->remote_ece.vendor_id = m->body.event.conn.ece_vendor_id;
	id->remote_ece.options = m->body.event.conn.ece_options;
	err = adv_rdma_id_set_route(id, &m->body.event.route);
	if (!err && e->counted->sync)
		err = adv_rdma_id_migrate(id, NULL);
	if (err)
		rdma_destroy_id(&id->id);
	return err;
}

/* False: the program has destroyed the queue pair since it connected. It may have made another one.
 */
static bool has_connecting_qp(const struct adv_rdma_id *id)
{
	return id->id.qp && (!id->connects_qp || id->id.qp->qp_num == id->qp_num);
}

static void on_response(struct adv_rdma_event *e, const struct adv_ucma_message *m)
{
	struct adv_rdma_id *id = e->counted;
	int err;

	id->remote_ece.vendor_id = m->body.event.conn.ece_vendor_id;
	id->remote_ece.options = m->body.event.conn.ece_options;
	adv_rdma_qp_lock(id);
	if (!id->id.qp && !id->connects_qp) {
		adv_rdma_qp_unlock(id);
		return;
	}
	err = has_connecting_qp(id) ? adv_rdma_finish_connect(id) : EINVAL;
	adv_rdma_qp_unlock(id);
	if (!err) {
		e->event.event = RDMA_CM_EVENT_ESTABLISHED;
		return;
	}
	adv_reason_tell(err, "RDMA_CM_EVENT_CONNECT_ERROR(%p)", (void *)&id->id);
	adv_rdma_lock(id->connection);
	id->connect_error = true;
	adv_rdma_unlock(id->connection);
	e->event.event = RDMA_CM_EVENT_CONNECT_ERROR;
	e->event.status = -err;
}

static void on_resolved(struct adv_rdma_event *e, const struct adv_ucma_message *m,
			enum rdma_cm_event_type failed)
{
	int err = adv_rdma_id_set_route(e->counted, &m->body.event.route);

	if (!err && !e->event.id->verbs)
		err = ENODEV;
	if (!err)
		return;
	e->event.event = failed;
	e->event.status = -err;
}

static void on_join(struct adv_rdma_event *e)
{
	struct adv_rdma_membership *m = e->membership;
	struct rdma_cm_id *id = e->event.id;
	int err = 0;

	/* RoCE needs no LID. This LID names the id's interface for ibv_attach_mcast(). */
	e->event.param.ud.ah_attr.dlid =
		(uint16_t)(MLID_FIRST + e->event.param.ud.ah_attr.grh.sgid_index);
	m->mgid = e->event.param.ud.ah_attr.grh.dgid;
	m->mlid = e->event.param.ud.ah_attr.dlid;
	adv_rdma_qp_lock(e->counted);
	if (id->qp && !m->send_only) {
		err = ibv_attach_mcast(id->qp, &m->mgid, m->mlid);
		m->attached = err == 0;
	}
	adv_rdma_qp_unlock(e->counted);
	if (!err)
		return;
	e->event.event = RDMA_CM_EVENT_MULTICAST_ERROR;
	e->event.status = -err;
}

/* True if the library has reported its own CONNECT_ERROR, possibly in another thread. Later events
 * of the connection are not reported. */
static bool has_failed(struct adv_rdma_id *id)
{
	bool failed;

	adv_rdma_lock(id->connection);
	failed = id->connect_error;
	adv_rdma_unlock(id->connection);
	return failed;
}

/* Records the state for rdma_disconnect(). */
static void note_state(struct adv_rdma_event *e)
{
	adv_rdma_lock(e->counted->connection);
	if (e->event.event == RDMA_CM_EVENT_ESTABLISHED)
		e->counted->connected = true;
	if (e->event.event == RDMA_CM_EVENT_DISCONNECTED)
		e->counted->disconnected = true;
	adv_rdma_unlock(e->counted->connection);
}

/* Applies the event to its id. False: the application does not get the event. */
static bool process_event(struct adv_rdma_event *e, const struct adv_ucma_message *m)
{
	set_event_param(e, m);
	if (e->membership)
		e->event.param.ud.private_data = e->membership->context;
	switch ((int)e->event.event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		on_resolved(e, m, RDMA_CM_EVENT_ADDR_ERROR);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		on_resolved(e, m, RDMA_CM_EVENT_ROUTE_ERROR);
		break;
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		return on_request(e, m) == 0;
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		on_response(e, m);
		break;
	case RDMA_CM_EVENT_REJECTED:
		if (has_failed(e->counted))
			return false;
		adv_rdma_qp_lock(e->counted);
		adv_rdma_qp_to_error(e->counted);
		adv_rdma_qp_unlock(e->counted);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		if (has_failed(e->counted))
			return false;
		break;
	case RDMA_CM_EVENT_MULTICAST_JOIN:
		on_join(e);
		break;
	default:
		break;
	}
	note_state(e);
	return true;
}

static bool is_failure(const struct rdma_cm_event *event)
{
	switch ((int)event->event) {
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_MULTICAST_ERROR:
	case ADV_EVENT_ADDRINFO_ERROR:
		return true;
	default:
		return false;
	}
}

/* Logs an event that reports a failure, and the command that explains it. */
static void log_failure(const struct rdma_cm_event *event)
{
	const struct sockaddr_storage *peer = &event->id->route.addr.dst_storage;
	const char *name = rdma_event_str(event->event);
	char host[INET6_ADDRSTRLEN + IF_NAMESIZE + 1], port[8];

	if (!is_failure(event) || !adv_log_enabled(ADV_LOG_WARN))
		return;
	/* It fails for an address that is not known yet, and for one of InfiniBand. */
	if (getnameinfo((const struct sockaddr *)(const void *)peer, sizeof(*peer), host,
			sizeof(host), port, sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV) == 0)
		adv_warn("connection manager: %s, status %d, peer %s, port %s; see: adverb explain "
			 "%s/%d",
			 name, event->status, host, port, name, event->status);
	else
		adv_warn("connection manager: %s, status %d; see: adverb explain %s/%d", name,
			 event->status, name, event->status);
}

/* Takes one event after adv_rdma_channel_wait() returned `token`. 0 or errno (EAGAIN: there is no
 * event). */
static int take_event(struct adv_rdma_channel *ch, int token, struct rdma_cm_event **event)
{
	struct adv_rdma_event *e = calloc(1, sizeof(*e));
	struct adv_ucma_message m;
	int err = 0;

	if (!e)
		return ENOMEM;
	adv_rdma_lock(ch->connection);
	if (token > 0)
		err = fetch_event(ch, e, &m);
	if (token == 0 || err == ENODEV)
		err = fetch_removal(ch, e, &m);
	adv_rdma_unlock(ch->connection);
	if (!err && !process_event(e, &m))
		err = EAGAIN;
	if (!err) {
		log_failure(&e->event);
		*event = &e->event;
		return 0;
	}
	if (e->counted)
		rdma_ack_cm_event(&e->event);
	else
		free(e);
	return err;
}

static int next_event(struct adv_rdma_channel *ch, struct rdma_cm_event **event)
{
	int token, err;

	do {
		token = adv_rdma_channel_wait(ch);
		err = token < 0 ? errno : take_event(ch, token, event);
	} while (token >= 0 && err == EAGAIN);
	return err;
}

static void leave_channel(void *channel)
{
	adv_rdma_channel_leave(channel);
}

static void watch_event(const struct rdma_cm_event *event, const void *caller)
{
	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
		adv_rdma_watch_created(event->id, caller);
	adv_rdma_observer->cm_event(event);
}

/* Waits for an event. A program may destroy the channel during the call: the thread keeps waiting,
 * and its reference keeps the channel. */
ADV_EXPORT int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	struct adv_rdma_channel *ch = adv_rdma_channel_of(channel);
	volatile int err;

	if (!channel || !event)
		return adv_rdma_result(EINVAL, __func__, channel);
	err = adv_rdma_channel_enter(ch);
	if (err)
		return adv_rdma_result(err, __func__, channel);
	pthread_cleanup_push(leave_channel, ch);
	err = next_event(ch, event);
	pthread_cleanup_pop(1);
	if (!err && adv_rdma_observer)
		watch_event(*event, __builtin_return_address(0));
	return adv_rdma_result(err, __func__, channel);
}

int adv_rdma_complete(struct adv_rdma_id *id)
{
	struct rdma_cm_event *event;
	int status;

	adv_rdma_drop_event(id);
	if (rdma_get_cm_event(id->id.channel, &event))
		return errno;
	adv_rdma_lock(id->connection);
	id->id.event = event;
	adv_rdma_unlock(id->connection);
	status = event->status;
	if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
		return ENODEV;
	if (status && event->event == RDMA_CM_EVENT_REJECTED)
		return ECONNREFUSED;
	return status < 0 ? -status : status;
}
