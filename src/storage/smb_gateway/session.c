/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A client of the SMB gateway: its two connections. */
#include "storage/smb_gateway/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "storage/gateway/peer.h"
#include "storage/smb_gateway/session_internal.h"

static void close_stream(struct adv_smb_session *s)
{
	struct adv_stream *stream = s->stream;

	s->stream = NULL;
	adv_kit_turn_end(&s->reply_turn);
	adv_gateway_serve_turns(s->buffers);
	if (stream)
		adv_stream_close(stream);
}

/* --- the server --- */

static void smb_server_connected(void *user)
{
}

static uint8_t *reply_buffer(void *user, size_t length)
{
	struct adv_smb_session *s = user;

	return adv_gateway_get_reply(s->buffers, &s->reply_turn, length);
}

static bool take_reply_turn(struct adv_kit_turn *t)
{
	struct adv_smb_session *s = adv_container_of(t, struct adv_smb_session, reply_turn);

	return adv_stream_resume(s->stream);
}

static void reply_dropped(void *user, uint8_t *buffer, size_t size)
{
	struct adv_smb_session *s = user;

	adv_gateway_put_reply(s->buffers, buffer, size);
}

static void smb_record_received(void *user, uint8_t *buffer, size_t size, size_t length)
{
	struct adv_smb_session *s = user;

	if (s->closing)
		adv_gateway_put_reply(s->buffers, buffer, size);
	else
		adv_smb_response(s, buffer, size, length);
}

static void smb_server_lost(void *user, int err)
{
	struct adv_smb_session *s = user;

	close_stream(s);
	if (!s->closing && err)
		adv_gateway_report(&s->gateway->log, ADV_LOG_WARN,
				   "%s: the connection to %s is lost: %s", s->peer,
				   s->gateway->server_name, strerror(err));
	adv_smb_session_end(s, NULL);
}

static const struct adv_stream_ops stream_ops = {smb_server_connected, reply_buffer,
						 smb_record_received,  reply_dropped,
						 smb_server_lost,      ADV_STREAM_SMB};

/* --- the client --- */

static void client_ready(void *user, struct adv_kit_device *d)
{
}

static uint8_t *message_buffer(void *user, size_t length)
{
	struct adv_smb_session *s = user;

	return adv_smb_message_get(s->gateway, &s->message_turn, length);
}

static bool take_message_turn(struct adv_kit_turn *t)
{
	struct adv_smb_session *s = adv_container_of(t, struct adv_smb_session, message_turn);

	return adv_smb_direct_resume(s->direct);
}

static void message_dropped(void *user, uint8_t *message, size_t length)
{
	struct adv_smb_session *s = user;

	adv_smb_message_put(s->buffers, message, length);
}

/* The first message connects to the server: an RDMA connection alone costs the server nothing. */
static void smb_message_received(void *user, uint8_t *m, size_t length)
{
	struct adv_smb_session *s = user;

	if (!s->closing && !s->stream) {
		s->stream =
			adv_stream_connect(s->gateway->loop, (struct sockaddr *)&s->gateway->server,
					   false, ADV_SMB_MESSAGE_MAX, &stream_ops, s);
		if (!s->stream)
			adv_smb_session_end(s, strerror(errno));
	}
	if (s->closing)
		message_dropped(s, m, length);
	else
		adv_smb_request(s, m, length);
}

static void smb_client_closed(void *user, const char *reason)
{
	struct adv_smb_session *s = user;

	if (reason && !s->closing)
		adv_gateway_report(&s->gateway->log, ADV_LOG_WARN,
				   "%s: the client is disconnected: %s", s->peer, reason);
	s->closing = true;
	adv_kit_turn_end(&s->message_turn);
	adv_kit_turn_end(&s->data_turn);
	close_stream(s);
	adv_smb_free_requests(s);
	adv_smb2_requests_free(&s->table);
	adv_list_del(&s->link);
	s->gateway->session_count--;
	adv_gateway_client_put(&s->gateway->stats, s->client);
	adv_gateway_report(&s->gateway->log, ADV_LOG_INFO, "%s disconnected", s->peer);
	free(s);
}

static const struct adv_smb_direct_ops direct_ops = {
	client_ready, message_buffer, smb_message_received, message_dropped, smb_client_closed};

/* --- the beginning and the end --- */

bool adv_smb_session_accept(struct adv_gateway *g, struct adv_kit_device *d, struct rdma_cm_id *id,
			    const struct rdma_conn_param *param)
{
	struct adv_smb_direct_config config = {
		.ops = &direct_ops,
		.longest = ADV_SMB_MESSAGE_MAX,
		.read_write_size = ADV_SMB_READ_WRITE_SIZE,
		.timeout_ms = g->timeout_ms,
	};
	struct adv_smb_session *s;

	if (g->session_count >= g->session_max) {
		errno = EUSERS;
		return false;
	}
	s = config.user = calloc(1, sizeof(*s));
	if (!s)
		return false;
	s->gateway = g;
	s->buffers = d->user;
	adv_list_init(&s->requests);
	adv_kit_turn_init(&s->message_turn, take_message_turn);
	adv_kit_turn_init(&s->data_turn, adv_smb_take_data_turn);
	adv_kit_turn_init(&s->reply_turn, take_reply_turn);
	adv_smb2_requests_init(&s->table, ADV_SMB_READ_WRITE_SIZE);
	adv_gateway_name_id(s->peer, sizeof(s->peer), id);
	s->direct = adv_smb_direct_accept(g->loop, d, id, param, &config);
	if (!s->direct) {
		free(s);
		return false;
	}
	adv_list_add_tail(&g->sessions, &s->link);
	g->session_count++;
	s->client = adv_gateway_client_get(&g->stats, s->peer);
	adv_gateway_report(&s->gateway->log, ADV_LOG_INFO, "%s connected", s->peer);
	return true;
}

void adv_smb_close_all(struct adv_gateway *g)
{
	adv_list_for_each(struct adv_smb_session, s, &g->sessions, link)
		adv_smb_session_end(s, NULL);
}
