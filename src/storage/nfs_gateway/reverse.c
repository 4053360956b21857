/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A client of the gateway over TCP, and its connection to a server over RDMA. */
#include "storage/nfs_gateway/reverse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "storage/gateway/sessions.h"
#include "storage/nfs_gateway/reverse_internal.h"

enum {
	RECEIVES = ADV_NFS_CREDITS + 16, /* further ones: calls of the back channel */
	WORK_MAX = 256,
};

static void connect_server(struct adv_nfs_session *s);

/* --- the end --- */

static void end_turns(struct adv_nfs_session *s)
{
	adv_kit_turn_end(&s->stream_turn);
	adv_kit_turn_end(&s->call_turn);
	if (s->buffers)
		adv_gateway_serve_turns(s->buffers);
}

static void end_session(struct adv_nfs_session *s)
{
	end_turns(s);
	adv_nfs_reverse_free_calls(s);
	adv_nfs_session_free(s);
}

/* Ends the client's connection, and with it the session: now, or after that to the server. */
static void close_client(struct adv_nfs_session *s)
{
	struct adv_stream *stream = s->stream;

	s->stream = NULL;
	end_turns(s);
	if (stream)
		adv_stream_close(stream);
	if (s->endpoint)
		adv_endpoint_close(s->endpoint);
	else
		end_session(s);
}

/* --- the server --- */

static void rdma_server_connected(void *user, struct adv_kit_device *d, const void *private_data,
				  size_t length)
{
	struct adv_nfs_session *s = user;
	struct adv_rpcrdma_private_data theirs;

	if (s->device && s->device != d) {
		/* The memory of the calls is registered with the other device. */
		adv_gateway_report(&s->gateway->log, ADV_LOG_WARN,
				   "%s: the route to %s has changed", s->peer,
				   s->gateway->server_name);
		close_client(s);
		return;
	}
	s->device = d;
	s->buffers = d->user;
	adv_rpcrdma_private_data_decode(private_data, length, &theirs);
	s->threshold = adv_nfs_threshold(theirs.receive_size);
	s->receive_threshold = adv_nfs_threshold(theirs.send_size);
	s->credits = 1; /* until the first reply (RFC 8166, section 3.3.3) */
	s->connected = true;
	adv_nfs_report_connected(s);
	adv_nfs_reverse_send_calls(s);
	adv_nfs_reverse_unblock(s);
}

static void rdma_reply_received(void *user, struct adv_receive *r)
{
	static struct adv_rpcrdma_header h;
	struct adv_nfs_session *s = user;
	enum adv_rpc_kind kind;
	uint32_t xid;
	size_t used;

	if (s->connected &&
	    adv_rpcrdma_header_decode(r->data, r->length, &h, &used) == ADV_RPCRDMA_OK) {
		if (h.procedure == ADV_RPCRDMA_MSG &&
		    adv_rpc_kind(r->data + used, r->length - used, &xid, &kind) &&
		    kind == ADV_RPC_CALL)
			adv_nfs_back_to_tcp(s, r->data + used, r->length - used);
		else if (h.procedure != ADV_RPCRDMA_DONE)
			adv_nfs_reverse_reply(s, &h, r->data + used, r->length - used);
		s->wait_ms = 0;
	}
	adv_endpoint_repost(s->endpoint, r);
}

/* Connects again later. */
static void retry_later(struct adv_nfs_session *s)
{
	if (!s->reported)
		adv_gateway_report(&s->gateway->log, ADV_LOG_WARN, "%s: no connection to %s",
				   s->peer, s->gateway->server_name);
	adv_nfs_retry_later(s);
}

static void nfs_server_closed(void *user)
{
	struct adv_nfs_session *s = user;

	s->endpoint = NULL;
	s->connected = false;
	if (!s->stream) {
		end_session(s);
		return;
	}
	adv_nfs_reverse_take_back(s);
	/* A server closes idle connections; the next call connects again. */
	if (!s->buffers || adv_nfs_reverse_has_calls(s))
		retry_later(s);
}

static void connect_server(struct adv_nfs_session *s)
{
	struct adv_endpoint_config config = {
		.receives = RECEIVES,
		.receive_size = ADV_NFS_INLINE,
		.work_max = WORK_MAX,
		.private_data = s->private_data,
		.private_data_length = sizeof(s->private_data),
		.connected = rdma_server_connected,
		.received = rdma_reply_received,
		.closed = nfs_server_closed,
		.user = s,
	};

	if (!adv_connections_connect(s->connections, (struct sockaddr *)&s->gateway->server,
				     &config, &s->endpoint)) {
		s->endpoint = NULL;
		retry_later(s);
	}
}

static void reconnect_rdma_server(struct adv_kit_timer *t)
{
	connect_server(adv_container_of(t, struct adv_nfs_session, reconnect));
}

/* --- the client --- */

static void tcp_call_received(void *user, uint8_t *message, size_t size, size_t length)
{
	struct adv_nfs_session *s = user;
	uint8_t *whole = message - ADV_NFS_HEADER_ROOM;
	enum adv_rpc_kind kind;
	uint32_t xid;

	size += ADV_NFS_HEADER_ROOM;
	if (adv_rpc_kind(message, length, &xid, &kind) && kind == ADV_RPC_REPLY) {
		adv_nfs_back_to_rdma(s, whole, size, length, xid);
		return;
	}
	if (!adv_nfs_reverse_add_call(s, whole, size, length)) {
		adv_gateway_report(&s->gateway->log, ADV_LOG_WARN, "%s: a record is no RPC call",
				   s->peer);
		close_client(s);
		return;
	}
	if (!s->endpoint && adv_list_empty(&s->reconnect.link))
		connect_server(s);
	adv_nfs_reverse_send_calls(s);
}

static void nfs_client_lost(void *user, int err)
{
	struct adv_nfs_session *s = user;

	if (err == ETIME)
		adv_gateway_report(&s->gateway->log, ADV_LOG_WARN,
				   "%s: the client does not complete a message", s->peer);
	else if (err)
		adv_gateway_report(&s->gateway->log, ADV_LOG_WARN, "%s: the connection is lost: %s",
				   s->peer, strerror(err));
	close_client(s);
}

static const struct adv_stream_ops stream_ops = {NULL,
						 adv_nfs_record_buffer,
						 tcp_call_received,
						 adv_nfs_record_dropped,
						 nfs_client_lost,
						 ADV_STREAM_RPC};

/* --- the beginning --- */

static struct adv_nfs_session *new_session(struct adv_gateway *g, struct adv_connections *c, int fd)
{
	struct adv_rpcrdma_private_data ours = {false, ADV_NFS_INLINE, ADV_NFS_INLINE};
	struct adv_nfs_session *s = adv_nfs_session_new(g, true, adv_nfs_reverse_take_reply_turn,
							reconnect_rdma_server);

	if (!s)
		return NULL;
	s->stream = adv_stream_accepted(g->loop, fd, g->timeout_ms, ADV_NFS_MESSAGE_MAX,
					&stream_ops, s);
	if (!s->stream) {
		free(s);
		return NULL;
	}
	s->connections = c;
	adv_rpcrdma_private_data_encode(&ours, s->private_data);
	adv_gateway_name_socket(s->peer, sizeof(s->peer), fd);
	return s;
}

void adv_nfs_reverse_accept(struct adv_gateway *g, struct adv_connections *c, int fd)
{
	struct adv_nfs_session *s = new_session(g, c, fd);

	if (!s) {
		adv_gateway_sessions_refuse(g, fd, errno);
		return;
	}
	s->client = adv_gateway_sessions_add(g, &s->link, s->peer);
	connect_server(s);
}

void adv_nfs_reverse_close_device(struct adv_gateway *g, const struct adv_kit_device *d)
{
	adv_list_for_each_safe(struct adv_nfs_session, s, &g->sessions, link) {
		if (s->device != d)
			continue;
		adv_gateway_report(&s->gateway->log, ADV_LOG_WARN,
				   "%s: the device of the connection to %s is gone", s->peer,
				   s->gateway->server_name);
		close_client(s);
	}
}

void adv_nfs_reverse_close_all(struct adv_gateway *g)
{
	adv_list_for_each_safe(struct adv_nfs_session, s, &g->sessions, link)
		close_client(s);
}
