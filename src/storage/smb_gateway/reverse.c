/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/smb_gateway/reverse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "storage/gateway/peer.h"
#include "storage/smb_gateway/memory.h"
#include "storage/smb_gateway/reverse_internal.h"

enum { READ_WRITE_SIZE = 8 << 20 }; /* the longest RDMA transfer of a request, bytes */

static void close_stream(struct adv_smb_reverse *s)
{
	struct adv_stream *stream = s->stream;

	s->stream = NULL;
	adv_kit_turn_end(&s->record_turn);
	if (s->buffers)
		adv_gateway_serve_turns(s->buffers);
	if (stream)
		adv_stream_close(stream);
}

/* --- the server --- */

static void server_ready(void *user, struct adv_kit_device *d)
{
	struct adv_smb_reverse *s = user;

	s->device = d;
	s->buffers = d->user;
	if (s->stream)
		adv_stream_resume(s->stream);
}

static uint8_t *message_buffer(void *user, size_t length)
{
	struct adv_smb_reverse *s = user;

	return adv_smb_message_get(s->gateway, &s->message_turn, length);
}

static bool take_message_turn(struct adv_kit_turn *t)
{
	struct adv_smb_reverse *s = adv_container_of(t, struct adv_smb_reverse, message_turn);

	return adv_smb_direct_resume(s->direct);
}

static void message_dropped(void *user, uint8_t *message, size_t length)
{
	struct adv_smb_reverse *s = user;

	adv_smb_message_put(s->buffers, message, length);
}

static void smb_response_received(void *user, uint8_t *m, size_t length)
{
	struct adv_smb_reverse *s = user;

	if (s->closing || !s->stream)
		message_dropped(s, m, length);
	else
		adv_smb_reverse_response(s, m, length);
}

static void smb_server_closed(void *user, const char *reason)
{
	struct adv_smb_reverse *s = user;

	if (!s->closing)
		adv_gateway_report(
			&s->gateway->log, ADV_LOG_WARN, "%s: the connection to %s %s%s%s", s->peer,
			s->gateway->server_name, s->device ? "has ended" : "cannot be made",
			reason ? ": " : "", reason ? reason : "");
	s->closing = true;
	adv_kit_turn_end(&s->message_turn);
	close_stream(s);
	adv_smb_reverse_free_calls(s);
	adv_list_del(&s->link);
	s->gateway->session_count--;
	adv_gateway_client_put(&s->gateway->stats, s->client);
	adv_gateway_report(&s->gateway->log, ADV_LOG_INFO, "%s disconnected", s->peer);
	free(s);
}

static const struct adv_smb_direct_ops direct_ops = {
	server_ready, message_buffer, smb_response_received, message_dropped, smb_server_closed};

/* --- the client --- */

static uint8_t *get_smb_record_buffer(void *user, size_t length)
{
	struct adv_smb_reverse *s = user;

	/* Without buffers, the stream goes on when the connection to the server is ready. */
	return s->buffers ? adv_gateway_get_call(s->buffers, &s->record_turn, length) : NULL;
}

static bool take_record_turn(struct adv_kit_turn *t)
{
	struct adv_smb_reverse *s = adv_container_of(t, struct adv_smb_reverse, record_turn);

	return adv_stream_resume(s->stream);
}

static void smb_record_dropped(void *user, uint8_t *b, size_t size)
{
	struct adv_smb_reverse *s = user;

	adv_gateway_put_call(s->buffers, b, size);
}

static void smb_request_received(void *user, uint8_t *b, size_t size, size_t length)
{
	struct adv_smb_reverse *s = user;

	if (s->closing)
		smb_record_dropped(s, b, size);
	else
		adv_smb_reverse_call(s, b, size, length);
}

static void smb_client_lost(void *user, int err)
{
	struct adv_smb_reverse *s = user;

	close_stream(s);
	if (err == ETIME)
		adv_smb_reverse_end(s, "it does not complete a message");
	else
		adv_smb_reverse_end(s, err ? strerror(err) : NULL);
}

static const struct adv_stream_ops stream_ops = {NULL,
						 get_smb_record_buffer,
						 smb_request_received,
						 smb_record_dropped,
						 smb_client_lost,
						 ADV_STREAM_SMB};

/* --- the beginning and the end --- */

/* Makes a session, whose stream has the descriptor. NULL and errno. */
static struct adv_smb_reverse *new_session(struct adv_gateway *g, struct adv_connections *c, int fd)
{
	struct adv_smb_reverse *s = NULL;
	struct adv_smb_direct_config config = {
		.ops = &direct_ops,
		.longest = ADV_SMB_MESSAGE_MAX,
		.read_write_size = READ_WRITE_SIZE,
		.timeout_ms = g->timeout_ms,
	};

	if (g->session_count >= g->session_max)
		errno = EUSERS;
	else
		s = config.user = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->gateway = g;
	adv_list_init(&s->calls);
	adv_kit_turn_init(&s->message_turn, take_message_turn);
	adv_kit_turn_init(&s->record_turn, take_record_turn);
	adv_gateway_name_socket(s->peer, sizeof(s->peer), fd);
	s->direct =
		adv_smb_direct_connect(g->loop, c, (const struct sockaddr *)&g->server, &config);
	if (!s->direct) {
		free(s);
		return NULL;
	}
	adv_list_add_tail(&g->sessions, &s->link);
	g->session_count++;
	s->client = adv_gateway_client_get(&g->stats, s->peer);
	return s;
}

void adv_smb_reverse_accept(struct adv_gateway *g, struct adv_connections *c, int fd)
{
	struct adv_smb_reverse *s = new_session(g, c, fd);
	int err = errno;
	char peer[ADV_GATEWAY_PEER];

	if (!s) {
		adv_gateway_name_socket(peer, sizeof(peer), fd);
		adv_gateway_report(&g->log, ADV_LOG_WARN, "%s: connection refused: %s", peer,
				   strerror(err));
		close(fd);
		return;
	}
	adv_gateway_report(&s->gateway->log, ADV_LOG_INFO, "%s connected", s->peer);
	s->stream = adv_stream_accepted(g->loop, fd, g->timeout_ms, ADV_SMB_MESSAGE_MAX,
					&stream_ops, s);
	if (!s->stream) {
		close(fd);
		adv_smb_reverse_end(s, "no memory");
	}
}

void adv_smb_reverse_close_all(struct adv_gateway *g)
{
	adv_list_for_each(struct adv_smb_reverse, s, &g->sessions, link)
		adv_smb_reverse_end(s, NULL);
}
