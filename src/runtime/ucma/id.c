/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/ucma/id.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "runtime/ucma/address.h"
#include "runtime/ucma/bind.h"
#include "runtime/ucma/channel.h"
#include "runtime/ucma/multicast.h"
#include "runtime/ucma/neighbour.h"
#include "runtime/ucma/id_resolve.h"
#include "runtime/ucma/stream.h"
#include "runtime/ucma/stream_end.h"

#define BACKLOG_MAX		1024 /* net.rdma_ucm.max_backlog */
#define REJECT_NO_RESOURCES	3
#define REJECT_GID		12 /* primary remote port GID rejected */
#define REJECT_CONSUMER_DEFINED 28

/* ---- creating and freeing ---- */

static bool may_have_more_ids(const struct adv_ucma_client *c)
{
	return c->id_count < ADV_UCMA_CLIENT_IDS &&
	       (!c->ucma->daemon->system || c->session.turn.user->ids < ADV_UCMA_USER_IDS);
}

/* Makes an id on a channel. NULL: the client has too many ids, or there is no memory. */
static struct adv_ucma_id *id_new(struct adv_ucma_channel *ch)
{
	struct adv_ucma_client *c = ch->client;
	struct adv_ucma_id *id = may_have_more_ids(c) ? calloc(1, sizeof(*id)) : NULL;

	if (!id)
		return NULL;
	id->channel = ch;
	id->number = ++c->ucma->id_numbers;
	adv_list_init(&id->request_link);
	adv_list_init(&id->requests);
	adv_list_init(&id->events);
	adv_list_init(&id->memberships);
	adv_list_init(&id->query.link);
	adv_list_add_tail(&c->id_list, &id->link);
	ch->ids++;
	c->id_count++;
	c->ucma->id_count++;
	return id;
}

/* Frees the id except its CM id. */
static void id_release(struct adv_ucma_id *id)
{
	struct adv_ucma_client *c = id->channel->client;

	if (id->handle)
		adv_handles_remove(&c->ids, id->handle);
	adv_list_del(&id->link);
	adv_list_del(&id->request_link);
	id->channel->ids--;
	c->id_count--;
	c->ucma->id_count--;
	free(id);
}

void adv_ucma_id_free(struct adv_ucma_id *id)
{
	while (!adv_list_empty(&id->requests))
		adv_ucma_id_free(
			adv_container_of(id->requests.next, struct adv_ucma_id, request_link));
	adv_ucma_query_cancel(id);
	adv_ucma_events_drop(id, NULL);
	adv_ucma_leave_all(id);
	if (id->stream)
		adv_ucma_stream_close(id);
	adv_cm_id_destroy(id->cm, adv_clock_ns());
	id_release(id);
}

/* Chooses the QP type of an id. As in the kernel, the port space determines the type, except for
 * RDMA_PS_IB. 0 or EINVAL. */
static int choose_type(uint32_t port_space, uint32_t wish, enum ibv_qp_type *type)
{
	switch (port_space) {
	case RDMA_PS_UDP:
	case RDMA_PS_IPOIB:
		*type = IBV_QPT_UD;
		return 0;
	case RDMA_PS_TCP:
		*type = IBV_QPT_RC;
		return 0;
	case RDMA_PS_IB:
		*type = (enum ibv_qp_type)wish;
		return wish == IBV_QPT_RC || wish == IBV_QPT_UC || wish == IBV_QPT_UD ||
				       wish == IBV_QPT_XRC_SEND || wish == IBV_QPT_XRC_RECV
			       ? 0
			       : EINVAL;
	default:
		return EINVAL;
	}
}

int adv_ucma_create_id(struct adv_ucma_client *c, struct adv_ucma_message *m, int *fd)
{
	struct adv_ucma_channel *ch = adv_ucma_channel_find(c, m->channel);
	enum ibv_qp_type type = IBV_QPT_RC;
	struct adv_ucma_id *id;
	int error = choose_type(m->body.create.port_space, m->body.create.qp_type, &type);

	if (!ch)
		return ENOENT;
	if (error)
		return error;
	if (m->body.create.roce >= ADV_ROCE_UNKNOWN)
		return EINVAL;
	if (m->body.create.roce != ADV_ROCE_V2 && !m->body.create.iwarp)
		error = adv_ucma_start_v1(c->ucma);
	/* A process with both versions can still connect by RoCE v2. */
	if (error && m->body.create.roce == ADV_ROCE_V1)
		return error;
	id = id_new(ch);
	if (!id)
		return ENOMEM;
	id->roce = (enum adv_roce)m->body.create.roce;
	id->cm = adv_cm_id_create(c->ucma->cm, (enum rdma_port_space)m->body.create.port_space,
				  type, id);
	error = id->cm ? 0 : errno;
	if (!error && m->body.create.iwarp)
		error = adv_ucma_stream_create(c->ucma, id, m->body.create.crc,
					       m->body.create.markers);
	if (!error)
		error = adv_handles_add(&c->ids, id, &id->handle);
	if (!error) {
		adv_cm_id_charge(id->cm, &c->session.turn.user->ids);
		m->id = id->handle;
		return 0;
	}
	if (id->stream)
		adv_ucma_stream_close(id);
	if (id->cm)
		adv_cm_id_destroy(id->cm, adv_clock_ns());
	id_release(id);
	return error;
}

int adv_ucma_destroy_id(struct adv_ucma_client *c, struct adv_ucma_message *m, int *fd)
{
	int error = 0;
	struct adv_ucma_id *id = adv_ucma_id_find(c, m->id, &error);

	if (!id)
		return error;
	adv_cm_expect_relisten(id->cm, adv_clock_ns());
	adv_ucma_id_free(id);
	return 0;
}

/* ---- addresses ---- */

int adv_ucma_bind(struct adv_ucma_client *c, struct adv_ucma_message *m, int *fd)
{
	struct adv_cm_addr a;
	int error = 0;
	struct adv_ucma_id *id = adv_ucma_id_find(c, m->id, &error);

	if (!id)
		return error;
	if (!adv_ucma_from_sockaddr(&m->body.addr.local, &a))
		return EAFNOSUPPORT;
	error = adv_ucma_bind_to(c, id, &a);
	if (!error)
		adv_ucma_fill_route(id, &m->body.route);
	return error;
}

int adv_ucma_query_route(struct adv_ucma_client *c, struct adv_ucma_message *m, int *fd)
{
	int error = 0;
	struct adv_ucma_id *id = adv_ucma_id_find(c, m->id, &error);

	if (id)
		adv_ucma_fill_route(id, &m->body.route);
	return error;
}

int adv_ucma_listen(struct adv_ucma_client *c, struct adv_ucma_message *m, int *fd)
{
	static const struct adv_cm_addr any = {.family = AF_INET,
					       .ip = {.raw = {[10] = 0xff, [11] = 0xff}}};
	int64_t wish = (int64_t)m->value;
	unsigned backlog = wish > 0 && wish < BACKLOG_MAX ? (unsigned)wish : BACKLOG_MAX;
	int error = 0;
	struct adv_ucma_id *id = adv_ucma_id_find(c, m->id, &error);

	if (!id)
		return error;
	if (id->state == ADV_UCMA_IDLE)
		error = adv_ucma_bind_to(c, id, &any);
	if (!error && id->state != ADV_UCMA_BOUND)
		error = EINVAL;
	if (!error)
		error = id->stream ? adv_ucma_stream_listen(id, backlog)
				   : adv_cm_listen(id->cm, backlog);
	if (error)
		return error;
	id->state = ADV_UCMA_LISTEN;
	adv_ucma_fill_route(id, &m->body.route);
	return 0;
}

/* ---- options ---- */

static int read_int_option(const struct adv_ucma_message *m, int *value)
{
	if (m->body.option.len != sizeof(*value))
		return EINVAL;
	memcpy(value, m->body.option.data, sizeof(*value));
	return 0;
}

static void set_bind_flag(struct adv_ucma_id *id, unsigned flag, bool on)
{
	id->bind_flags = on ? id->bind_flags | flag : id->bind_flags & ~flag;
	adv_cm_set_bind_flags(id->cm, id->bind_flags);
}

static int set_reuse_option(struct adv_ucma_id *id, const struct adv_ucma_message *m)
{
	int value, error = read_int_option(m, &value);

	if (error)
		return error;
	if (!value && id->state != ADV_UCMA_IDLE)
		return EINVAL;
	set_bind_flag(id, ADV_CM_BIND_REUSE, value != 0);
	return 0;
}

static int set_afonly_option(struct adv_ucma_id *id, const struct adv_ucma_message *m)
{
	int value, error = read_int_option(m, &value);

	if (error)
		return error;
	if (id->state != ADV_UCMA_IDLE && id->state != ADV_UCMA_BOUND)
		return EINVAL;
	set_bind_flag(id, ADV_CM_BIND_AFONLY, value != 0);
	return 0;
}

static int set_tos_option(struct adv_ucma_id *id, const struct adv_ucma_message *m)
{
	if (m->body.option.len != 1)
		return EINVAL;
	if (id->stream)
		adv_ucma_stream_set_tos(id, m->body.option.data[0]);
	return adv_cm_set_tos(id->cm, m->body.option.data[0]);
}

static int set_ack_timeout_option(struct adv_ucma_id *id, const struct adv_ucma_message *m)
{
	enum ibv_qp_type type = adv_cm_id_qp_type(id->cm);

	if (m->body.option.len != 1 || (type != IBV_QPT_RC && type != IBV_QPT_XRC_SEND))
		return EINVAL;
	return adv_cm_set_ack_timeout(id->cm, m->body.option.data[0]);
}

int adv_ucma_set_option(struct adv_ucma_client *c, struct adv_ucma_message *m, int *fd)
{
	int error = 0;
	struct adv_ucma_id *id = adv_ucma_id_find(c, m->id, &error);

	if (!id)
		return error;
	/* The only option of RDMA_OPTION_IB sets path records, which a RoCE port does not have. */
	if (m->body.option.level != RDMA_OPTION_ID)
		return ENOSYS;
	switch (m->body.option.name) {
	case RDMA_OPTION_ID_TOS:
		return set_tos_option(id, m);
	case RDMA_OPTION_ID_REUSEADDR:
		return set_reuse_option(id, m);
	case RDMA_OPTION_ID_AFONLY:
		return set_afonly_option(id, m);
	case RDMA_OPTION_ID_ACK_TIMEOUT:
		return set_ack_timeout_option(id, m);
	default:
		return ENOSYS;
	}
}

/* ---- connections ---- */

static int read_conn_param(const struct adv_ucma_id *id, const struct adv_ucma_conn *in,
			   struct adv_cm_conn_param *out)
{
	if (in->private_data_len > sizeof(out->private_data))
		return EINVAL;
	*out = (struct adv_cm_conn_param){
		.qp_num = in->qp_num,
		.qkey = in->qkey,
		.srq_num = in->srq_num,
		.qp_type = in->qp_type ? (enum ibv_qp_type)in->qp_type : adv_cm_id_qp_type(id->cm),
		.responder_resources = in->responder_resources,
		.initiator_depth = in->initiator_depth,
		.flow_control = in->flow_control,
		.retry_count = in->retry_count,
		.rnr_retry_count = in->rnr_retry_count,
		.srq = in->srq,
		.ece = {.vendor_id = in->ece_vendor_id, .options = in->ece_options},
		.private_data_len = in->private_data_len,
	};
	memcpy(out->private_data, in->private_data, in->private_data_len);
	return 0;
}

int adv_ucma_connect(struct adv_ucma_client *c, struct adv_ucma_message *m, int *fd)
{
	struct adv_cm_conn_param param;
	int error = 0;
	struct adv_ucma_id *id = adv_ucma_id_find_bound(c, m->id, &error);

	if (id && id->state != ADV_UCMA_ROUTE_RESOLVED)
		error = EINVAL;
	if (!error)
		error = read_conn_param(id, &m->body.conn, &param);
	if (!error)
		error = id->stream ? adv_ucma_stream_connect(id, &param)
				   : adv_cm_connect(id->cm, adv_clock_ns(), &param);
	if (!error)
		id->state = ADV_UCMA_CONNECT;
	return error;
}

int adv_ucma_accept(struct adv_ucma_client *c, struct adv_ucma_message *m, int *fd)
{
	struct adv_cm_conn_param param;
	int error = 0;
	struct adv_ucma_id *id = adv_ucma_id_find_bound(c, m->id, &error);

	if (id && id->state != ADV_UCMA_CONNECT)
		error = EINVAL;
	if (!error)
		error = read_conn_param(id, &m->body.conn, &param);
	if (!error && id->stream) {
		memset(&m->body, 0, sizeof(m->body));
		error = adv_ucma_stream_accept(id, &param, fd, &m->body.agreement);
	} else if (!error) {
		error = adv_cm_accept(id->cm, adv_clock_ns(), &param);
	}
	if (!error)
		id->unanswered = false;
	return error;
}

int adv_ucma_reject(struct adv_ucma_client *c, struct adv_ucma_message *m, int *fd)
{
	const struct adv_ucma_conn *conn = &m->body.conn;
	int error = 0;
	struct adv_ucma_id *id = adv_ucma_id_find_bound(c, m->id, &error);

	if (id && id->state != ADV_UCMA_CONNECT)
		error = EINVAL;
	if (!error && id->stream)
		error = adv_ucma_stream_reject(id, conn->private_data, conn->private_data_len);
	else if (!error)
		error = adv_cm_reject(id->cm, adv_clock_ns(),
				      conn->reason ? conn->reason : REJECT_CONSUMER_DEFINED,
				      conn->private_data, conn->private_data_len);
	if (!error)
		id->unanswered = false;
	return error;
}

/* Returns ENOTCONN for a step that is invalid because the connection has ended. */
static int ended_or(const struct adv_ucma_id *id, int error)
{
	return error == EINVAL && adv_cm_id_disconnected(id->cm) ? ENOTCONN : error;
}

int adv_ucma_establish(struct adv_ucma_client *c, struct adv_ucma_message *m, int *fd)
{
	int error = 0;
	struct adv_ucma_id *id = adv_ucma_id_find_bound(c, m->id, &error);

	if (id && id->stream) {
		memset(&m->body, 0, sizeof(m->body));
		return adv_ucma_stream_establish(id, fd, &m->body.agreement);
	}
	return id ? ended_or(id, adv_cm_establish(id->cm, adv_clock_ns())) : error;
}

/* Disconnects. As in the kernel, the call also succeeds if the id's connection has ended or is
 * ending. */
int adv_ucma_disconnect(struct adv_ucma_client *c, struct adv_ucma_message *m, int *fd)
{
	int error = 0;
	struct adv_ucma_id *id = adv_ucma_id_find_bound(c, m->id, &error);

	if (!id)
		return error;
	error = id->stream ? adv_ucma_stream_disconnect(id)
			   : adv_cm_disconnect(id->cm, adv_clock_ns());
	return error == EINVAL && id->state == ADV_UCMA_CONNECT ? 0 : error;
}

int adv_ucma_qp_attr(struct adv_ucma_client *c, struct adv_ucma_message *m, int *fd)
{
	const enum ibv_qp_state state = (enum ibv_qp_state)m->value;
	struct adv_ucma_route route;
	struct ibv_qp_attr attr;
	int mask = 0, error = 0;
	struct adv_ucma_id *id = adv_ucma_id_find_bound(c, m->id, &error);

	if (!id)
		return error;
	if (m->value != IBV_QPS_INIT && m->value != IBV_QPS_RTR && m->value != IBV_QPS_RTS)
		return EINVAL;
	memset(&attr, 0, sizeof(attr));
	error = id->stream ? adv_ucma_stream_qp_attr(id, state, &attr, &mask)
			   : ended_or(id, adv_cm_qp_attr(id->cm, state, &attr, &mask));
	if (error)
		return error;
	adv_ucma_fill_route(id, &route);
	if (route.no_gid)
		return EADDRNOTAVAIL;
	attr.ah_attr.grh.sgid_index = route.sgid_index;
	memset(&m->body, 0, sizeof(m->body));
	m->body.qp_attr.attr = attr;
	m->body.qp_attr.mask = mask;
	m->body.qp_attr.route = route;
	return 0;
}

/* ---- events of the CM ---- */

/* Rejects and destroys a request that cannot be delivered to a consumer. */
static void reject_request(struct adv_cm_id *cm, uint8_t reason)
{
	adv_cm_reject(cm, adv_clock_ns(), reason, NULL, 0);
	adv_cm_id_destroy(cm, adv_clock_ns());
}

/* True if the listener's process has a GID of the request's version of RoCE. Requests of this
 * machine come by RoCE v2, whatever the process uses. */
static bool has_version(const struct adv_ucma *u, const struct adv_ucma_id *listener,
			const struct adv_cm_id *request)
{
	const struct adv_gid_entry *own = adv_ucma_find_gid(u, &adv_cm_id_local(request)->ip, 0);

	if (adv_cm_id_route(request)->path.v1)
		return listener->roce != ADV_ROCE_V2 && own &&
		       adv_ucma_gid_index(u, listener->roce, own, true) >= 0;
	return listener->roce != ADV_ROCE_V1 ||
	       adv_ucma_find_gid(u, &adv_cm_id_remote(request)->ip, 0);
}

/* Makes an id for a request to a listener. NULL: the client has too many. */
static struct adv_ucma_id *request_new(struct adv_ucma *u, struct adv_ucma_id *listener,
				       struct adv_cm_id *cm)
{
	const struct adv_gid_entry *e = adv_ucma_find_gid(u, &adv_cm_id_local(cm)->ip, 0);
	struct adv_ucma_id *id;

	id = listener->channel->client->session.dead ? NULL : id_new(listener->channel);
	if (!id)
		return NULL;
	id->cm = cm;
	adv_cm_id_charge(id->cm, &listener->channel->client->session.turn.user->ids);
	id->roce = listener->roce;
	id->state = ADV_UCMA_CONNECT;
	id->unanswered = true;
	id->ifindex = e ? e->ifindex : 0;
	id->listener = listener;
	adv_list_add_tail(&listener->requests, &id->request_link);
	adv_cm_id_set_user(id->cm, id);
	return id;
}

struct adv_ucma_id *adv_ucma_id_of_request(struct adv_ucma_id *listener,
					   const struct adv_cm_addr *local,
					   const struct adv_cm_addr *remote)
{
	struct adv_ucma *u = listener->channel->client->ucma;
	struct adv_cm_id *cm =
		adv_cm_id_create(u->cm, adv_cm_id_port_space(listener->cm), IBV_QPT_RC, NULL);
	struct adv_ucma_id *id = NULL;

	if (cm && adv_cm_set_addresses(cm, local, remote) == 0)
		id = request_new(u, listener, cm);
	if (id)
		(void)adv_ucma_set_route(id); /* without a route, the kernel still knows one */
	else if (cm)
		adv_cm_id_destroy(cm, adv_clock_ns());
	return id;
}

static void add_request(struct adv_ucma *u, const struct adv_cm_event *event)
{
	struct adv_ucma_event note = {.type = event->type, .param = event->param};
	struct adv_ucma_id *listener = adv_cm_id_user(event->listen), *id;

	if (!has_version(u, listener, event->id)) {
		reject_request(event->id, REJECT_GID);
		return;
	}
	id = request_new(u, listener, event->id);
	if (!id) {
		reject_request(event->id, REJECT_NO_RESOURCES);
		return;
	}
	/* If this end has no route to the peer, the CM uses the route of the request. */
	if (adv_ucma_set_route(id) == EMSGSIZE) {
		adv_ucma_id_free(id);
		return;
	}
	note.id = id;
	adv_ucma_event_queue(&note);
}

void adv_ucma_id_on_event(struct adv_ucma *u, const struct adv_cm_event *event)
{
	struct adv_ucma_event note = {
		.type = event->type, .status = event->status, .param = event->param};

	if (event->type == RDMA_CM_EVENT_CONNECT_REQUEST) {
		add_request(u, event);
		return;
	}
	note.id = adv_cm_id_user(event->id);
	/* As in the kernel, an unanswered request reports no events: the consumer gets the error
	 * when it answers the request. */
	if (!note.id->unanswered)
		adv_ucma_event_queue(&note);
}
