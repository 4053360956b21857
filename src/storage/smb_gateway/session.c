/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A client of the SMB gateway: its two connections. */
#include "storage/smb_gateway/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "storage/gateway/sessions.h"
#include "storage/smb_gateway/session_internal.h"

enum { REVERSE_READ_WRITE_SIZE = 8 << 20 }; /* the longest RDMA transfer of a request, bytes */

/* --- the end --- */

void adv_smb_close_all(struct adv_gateway *g)
{
	adv_list_for_each(struct adv_smb_session, s, &g->sessions, link)
		adv_smb_session_end(s, NULL);
}

static void close_stream(struct adv_smb_session *s)
{
	struct adv_stream *stream = s->stream;

	s->stream = NULL;
	adv_kit_turn_end(&s->stream_turn);
	if (s->buffers)
		adv_gateway_serve_turns(s->buffers);
	if (stream)
		adv_stream_close(stream);
}

/* Reports that the SMB Direct connection has ended first. */
static void report_end(struct adv_smb_session *s, const char *reason)
{
	if (s->reverse)
		adv_gateway_report(
			&s->gateway->log, ADV_LOG_WARN, "%s: the connection to %s %s%s%s", s->peer,
			s->gateway->server_name, s->device ? "has ended" : "cannot be made",
			reason ? ": " : "", reason ? reason : "");
	else if (reason)
		adv_gateway_report(&s->gateway->log, ADV_LOG_WARN,
				   "%s: the client is disconnected: %s", s->peer, reason);
}

static void smb_direct_closed(void *user, const char *reason)
{
	struct adv_smb_session *s = user;

	if (!s->closing)
		report_end(s, reason);
	s->closing = true;
	adv_kit_turn_end(&s->message_turn);
	adv_kit_turn_end(&s->data_turn);
	close_stream(s);
	adv_smb_free_requests(s);
	adv_smb_reverse_free_calls(s);
	adv_smb2_requests_free(&s->table);
	adv_gateway_sessions_remove(s->gateway, &s->link, s->client, s->peer);
	free(s);
}

/* --- the stream --- */

static void smb_stream_connected(void *user)
{
}

static struct adv_gateway_pool *records_of(struct adv_smb_session *s)
{
	return s->reverse ? &s->buffers->calls : &s->buffers->replies;
}

static uint8_t *get_record_buffer(void *user, size_t length)
{
	struct adv_smb_session *s = user;

	/* Without buffers, the stream goes on when the SMB Direct connection is ready. */
	return s->buffers ? adv_gateway_get(records_of(s), &s->stream_turn, length) : NULL;
}

static bool take_stream_turn(struct adv_kit_turn *t)
{
	struct adv_smb_session *s = adv_container_of(t, struct adv_smb_session, stream_turn);

	return adv_stream_resume(s->stream);
}

static void smb_record_dropped(void *user, uint8_t *buffer, size_t size)
{
	adv_gateway_put(records_of(user), buffer, size);
}

static void smb_record_received(void *user, uint8_t *buffer, size_t size, size_t length)
{
	struct adv_smb_session *s = user;

	if (s->closing)
		smb_record_dropped(s, buffer, size);
	else if (s->reverse)
		adv_smb_reverse_call(s, buffer, size, length);
	else
		adv_smb_response(s, buffer, size, length);
}

static void smb_stream_lost(void *user, int err)
{
	struct adv_smb_session *s = user;
	char why[160];

	close_stream(s);
	if (!err)
		adv_smb_session_end(s, NULL);
	else if (s->reverse)
		adv_smb_session_end(s, err == ETIME ? "it does not complete a message"
						    : strerror(err));
	else {
		snprintf(why, sizeof(why), "the connection to %s is lost: %s",
			 s->gateway->server_name, strerror(err));
		adv_smb_session_end(s, why);
	}
}

static const struct adv_stream_ops stream_ops = {smb_stream_connected, get_record_buffer,
						 smb_record_received,  smb_record_dropped,
						 smb_stream_lost,      ADV_STREAM_SMB};

/* --- the SMB Direct connection --- */

static void smb_direct_ready(void *user, struct adv_kit_device *d)
{
	struct adv_smb_session *s = user;

	s->device = d;
	s->buffers = d->user;
	if (s->stream)
		adv_stream_resume(s->stream);
}

static uint8_t *get_message_memory(void *user, size_t length)
{
	struct adv_smb_session *s = user;

	return adv_smb_message_get(s->gateway, &s->message_turn, length);
}

static bool take_message_turn(struct adv_kit_turn *t)
{
	struct adv_smb_session *s = adv_container_of(t, struct adv_smb_session, message_turn);

	return adv_smb_direct_resume(s->direct);
}

static void smb_message_dropped(void *user, uint8_t *message, size_t length)
{
	struct adv_smb_session *s = user;

	adv_smb_message_put(s->buffers, message, length);
}

static void smb_message_received(void *user, uint8_t *m, size_t length)
{
	struct adv_smb_session *s = user;

	/* A client's first message connects to the server: an RDMA connection alone costs the
	 * server nothing. */
	if (!s->reverse && !s->closing && !s->stream) {
		s->stream =
			adv_stream_connect(s->gateway->loop, (struct sockaddr *)&s->gateway->server,
					   false, ADV_SMB_MESSAGE_MAX, &stream_ops, s);
		if (!s->stream)
			adv_smb_session_end(s, strerror(errno));
	}
	if (s->closing || !s->stream)
		smb_message_dropped(s, m, length);
	else if (s->reverse)
		adv_smb_reverse_response(s, m, length);
	else
		adv_smb_request(s, m, length);
}

static const struct adv_smb_direct_ops direct_ops = {smb_direct_ready, get_message_memory,
						     smb_message_received, smb_message_dropped,
						     smb_direct_closed};

/* --- the beginning --- */

/* Makes a session, and the configuration of its SMB Direct connection. NULL and errno. */
static struct adv_smb_session *new_session(struct adv_gateway *g, bool reverse,
					   struct adv_smb_direct_config *config)
{
	struct adv_smb_session *s = adv_gateway_sessions_allocate(g, sizeof(*s));

	if (!s)
		return NULL;
	s->gateway = g;
	s->reverse = reverse;
	adv_list_init(&s->requests);
	adv_list_init(&s->calls);
	adv_kit_turn_init(&s->message_turn, take_message_turn);
	adv_kit_turn_init(&s->stream_turn, take_stream_turn);
	adv_kit_turn_init(&s->data_turn, adv_smb_take_data_turn);
	adv_smb2_requests_init(&s->table, ADV_SMB_READ_WRITE_SIZE);
	*config = (struct adv_smb_direct_config){
		.ops = &direct_ops,
		.longest = ADV_SMB_MESSAGE_MAX,
		.read_write_size = reverse ? REVERSE_READ_WRITE_SIZE : ADV_SMB_READ_WRITE_SIZE,
		.timeout_ms = g->timeout_ms,
		.user = s,
	};
	return s;
}

/* The session has its SMB Direct connection. False: it has none, and is freed. */
static bool begin_session(struct adv_smb_session *s)
{
	if (!s->direct) {
		free(s);
		return false;
	}
	s->client = adv_gateway_sessions_add(s->gateway, &s->link, s->peer);
	return true;
}

bool adv_smb_session_accept(struct adv_gateway *g, struct adv_kit_device *d, struct rdma_cm_id *id,
			    const struct rdma_conn_param *param)
{
	struct adv_smb_direct_config config;
	struct adv_smb_session *s = new_session(g, false, &config);

	if (!s)
		return false;
	s->buffers = d->user;
	adv_gateway_name_id(s->peer, sizeof(s->peer), id);
	s->direct = adv_smb_direct_accept(g->loop, d, id, param, &config);
	return begin_session(s);
}

void adv_smb_reverse_accept(struct adv_gateway *g, struct adv_connections *c, int fd)
{
	struct adv_smb_direct_config config;
	struct adv_smb_session *s = new_session(g, true, &config);

	if (s) {
		adv_gateway_name_socket(s->peer, sizeof(s->peer), fd);
		s->direct = adv_smb_direct_connect(g->loop, c, (const struct sockaddr *)&g->server,
						   &config);
	}
	if (!s || !begin_session(s)) {
		adv_gateway_sessions_refuse(g, fd, errno);
		return;
	}
	s->stream = adv_stream_accepted(g->loop, fd, g->timeout_ms, ADV_SMB_MESSAGE_MAX,
					&stream_ops, s);
	if (!s->stream) {
		close(fd);
		adv_smb_session_end(s, "no memory");
	}
}
