/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/ucma/channel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "runtime/keeper/given.h"
#include "runtime/ucma/address.h"

#define OWN_EVENTS_FROM 16 /* types of events that librdmacm makes itself */

/* Adds a channel. *theirs is the client's end, which is in blocking mode. */
static int add_channel(struct adv_ucma_client *c, struct adv_ucma_channel **out, int *theirs)
{
	struct adv_ucma_channel *ch = calloc(1, sizeof(*ch));
	int pair[2], error;

	if (!ch)
		return ENOMEM;
	error = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0 ? errno : 0;
	if (!error) {
		error = adv_handles_add(&c->channels, ch, &ch->handle);
		if (error) {
			close(pair[0]);
			close(pair[1]);
		}
	}
	if (error) {
		free(ch);
		return error;
	}
	adv_given_refuse(pair[0]);
	ch->client = c;
	ch->fd = pair[0];
	adv_list_init(&ch->events);
	adv_list_add_tail(&c->channel_list, &ch->link);
	c->ucma->channel_count++;
	c->session.turn.user->channels++;
	c->session.turn.user->descriptors++;
	*out = ch;
	*theirs = pair[1];
	return 0;
}

/* True if the client may create another channel. If the daemon serves many users, no user may get
 * all descriptors. */
static bool may_have_more_channels(const struct adv_ucma_client *c)
{
	const struct adv_user *user = c->session.turn.user;
	const struct adv_ucma *u = c->ucma;

	if (c->channels.used >= ADV_UCMA_CLIENT_CHANNELS || u->channel_count >= u->channel_limit)
		return false;
	return !u->daemon->system ||
	       (user->channels < u->channel_limit / 2 && adv_users_may_open(u->users, user, 1));
}

int adv_ucma_create_channel(struct adv_ucma_client *c, struct adv_ucma_message *m, int *fd)
{
	struct adv_ucma_channel *ch = NULL;
	int error;

	if (!may_have_more_channels(c))
		return EMFILE;
	error = add_channel(c, &ch, fd);
	if (!error)
		m->channel = ch->handle;
	return error;
}

void adv_ucma_channel_free(struct adv_ucma_channel *ch)
{
	adv_handles_remove(&ch->client->channels, ch->handle);
	adv_list_del(&ch->link);
	ch->client->ucma->channel_count--;
	ch->client->session.turn.user->channels--;
	ch->client->session.turn.user->descriptors--;
	close(ch->fd);
	free(ch);
}

int adv_ucma_destroy_channel(struct adv_ucma_client *c, struct adv_ucma_message *m, int *fd)
{
	struct adv_ucma_channel *ch = adv_ucma_channel_find(c, m->channel);

	if (!ch)
		return ENOENT;
	if (ch->ids)
		return EBUSY;
	adv_ucma_channel_free(ch);
	return 0;
}

/* ---- queueing ---- */

static void pay_tokens(struct adv_ucma_channel *ch)
{
	while (ch->owed && send(ch->fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1)
		ch->owed--;
}

static void append_event(struct adv_ucma_channel *ch, struct adv_ucma_event *event)
{
	adv_list_add_tail(&ch->events, &event->channel_link);
	ch->owed++;
}

/* True if events of this type have parameters. Other events are queued without them: 100,000 events
 * may be queued. */
static bool has_param(uint32_t type)
{
	switch (type) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
	case RDMA_CM_EVENT_ESTABLISHED:
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_MULTICAST_JOIN:
		return true;
	default:
		return false;
	}
}

void adv_ucma_event_queue(const struct adv_ucma_event *event)
{
	struct adv_ucma_client *c = event->id->channel->client;
	size_t size =
		has_param(event->type) ? sizeof(*event) : offsetof(struct adv_ucma_event, param);
	struct adv_ucma_event *e = NULL;

	if (c->session.dead)
		return;
	if (c->event_count < ADV_UCMA_CLIENT_EVENTS + ADV_UCMA_ID_EVENTS * c->id_count)
		e = malloc(size);
	if (!e) {
		adv_warn("process %d (%s) does not fetch its events: disconnected",
			 (int)c->session.peer.pid, c->session.comm);
		c->session.dead = true;
		return;
	}
	memcpy(e, event, size);
	c->event_count++;
	adv_list_add_tail(&e->id->events, &e->id_link);
	append_event(e->id->channel, e);
	pay_tokens(e->id->channel);
}

void adv_ucma_event_queue_status(struct adv_ucma_id *id, enum rdma_cm_event_type type, int status)
{
	const struct adv_ucma_event event = {.id = id, .type = type, .status = status};

	adv_ucma_event_queue(&event);
}

/* Cancels one unsent byte, if there is one. */
static void forgive_token(struct adv_ucma_channel *ch)
{
	if (ch->owed)
		ch->owed--;
}

static void free_event(struct adv_ucma_event *e)
{
	e->id->channel->client->event_count--;
	adv_list_del(&e->channel_link);
	adv_list_del(&e->id_link);
	free(e);
}

void adv_ucma_events_drop(struct adv_ucma_id *id, const struct adv_ucma_membership *membership)
{
	adv_list_for_each_safe(struct adv_ucma_event, e, &id->events, id_link) {
		if (membership && e->membership != membership)
			continue;
		forgive_token(id->channel);
		free_event(e);
	}
}

int adv_ucma_write_event(struct adv_ucma_client *c, struct adv_ucma_message *m, int *fd)
{
	struct adv_ucma_event event = {
		.type = m->body.event.type, .status = m->body.event.status, .value = m->value};
	int error = 0;

	event.id = adv_ucma_id_find(c, m->id, &error);
	if (event.id && event.type < OWN_EVENTS_FROM)
		error = EINVAL;
	if (!error)
		adv_ucma_event_queue(&event);
	return error;
}

/* ---- fetching ---- */

static void fill_event_conn(const struct adv_cm_conn_param *p, struct adv_ucma_conn *out)
{
	out->qp_num = p->qp_num;
	out->qkey = p->qkey;
	out->srq_num = p->srq_num;
	out->ece_vendor_id = p->ece.vendor_id;
	out->ece_options = p->ece.options;
	out->qp_type = (uint8_t)p->qp_type;
	out->responder_resources = p->responder_resources;
	out->initiator_depth = p->initiator_depth;
	out->flow_control = p->flow_control;
	out->retry_count = p->retry_count;
	out->rnr_retry_count = p->rnr_retry_count;
	out->srq = p->srq;
	out->private_data_len = p->private_data_len;
	memcpy(out->private_data, p->private_data, p->private_data_len);
}

/* Delivers a request to its consumer: removes it from the listener's requests. */
static void deliver_request(struct adv_ucma_id *id, struct adv_ucma_message *m)
{
	m->body.event.listen = id->listener->handle;
	id->listener = NULL;
	adv_list_del(&id->request_link);
	adv_cm_request_taken(id->cm);
}

static void fill_event(const struct adv_ucma_event *e, struct adv_ucma_message *m)
{
	m->id = e->id->handle;
	m->value = e->value;
	m->body.event.type = e->type;
	m->body.event.status = e->status;
	m->body.event.port_space = adv_cm_id_port_space(e->id->cm);
	m->body.event.qp_type = adv_cm_id_qp_type(e->id->cm);
	if (e->type == RDMA_CM_EVENT_CONNECT_REQUEST)
		deliver_request(e->id, m);
	adv_ucma_fill_route(e->id, &m->body.event.route);
	if (e->membership) {
		m->body.event.multicast = e->membership->handle;
		m->body.event.route.dgid = e->membership->group;
		m->body.event.route.hop_limit = ADV_UCMA_HOP_LIMIT;
	}
	if (has_param(e->type))
		fill_event_conn(&e->param, &m->body.event.conn);
}

int adv_ucma_get_event(struct adv_ucma_client *c, struct adv_ucma_message *m, int *fd)
{
	struct adv_ucma_channel *ch = adv_ucma_channel_find(c, m->channel);
	struct adv_ucma_event *e;
	int error = 0;

	if (!ch)
		return ENOENT;
	pay_tokens(ch);
	if (adv_list_empty(&ch->events))
		return EAGAIN;
	e = adv_container_of(ch->events.next, struct adv_ucma_event, channel_link);
	if (e->type == RDMA_CM_EVENT_CONNECT_REQUEST)
		error = adv_handles_add(&c->ids, e->id, &e->id->handle);
	if (error)
		return error;
	memset(&m->body, 0, sizeof(m->body));
	fill_event(e, m);
	free_event(e);
	return 0;
}

/* ---- migrating ---- */

static void move_id(struct adv_ucma_id *id, struct adv_ucma_channel *to)
{
	struct adv_ucma_channel *from = id->channel;

	from->ids--;
	to->ids++;
	id->channel = to;
	adv_list_for_each(struct adv_ucma_event, e, &id->events, id_link) {
		forgive_token(from);
		adv_list_del(&e->channel_link);
		append_event(to, e);
	}
	pay_tokens(to);
}

int adv_ucma_migrate(struct adv_ucma_client *c, struct adv_ucma_message *m, int *fd)
{
	struct adv_ucma_channel *to = adv_ucma_channel_find(c, m->channel);
	int error = 0;
	struct adv_ucma_id *id = adv_ucma_id_find(c, m->id, &error);

	if (!to || !id)
		return ENOENT;
	if (id->channel == to)
		return 0;
	move_id(id, to);
	adv_list_for_each(struct adv_ucma_id, request, &id->requests, request_link)
		move_id(request, to);
	return 0;
}
