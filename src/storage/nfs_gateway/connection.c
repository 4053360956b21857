/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the sessions of both directions have in common: their records, and the wait for the server.
 */
#include <stdlib.h>

#include "storage/gateway/sessions.h"
#include "storage/nfs_gateway/session_internal.h"

enum { WAIT_FIRST_MS = 100, WAIT_MOST_MS = 5000 };

static bool take_stream_turn(struct adv_kit_turn *t)
{
	struct adv_nfs_session *s = adv_container_of(t, struct adv_nfs_session, stream_turn);

	return adv_stream_resume(s->stream) || s->blocked;
}

struct adv_nfs_session *adv_nfs_session_new(struct adv_gateway *g, bool reverse,
					    bool (*take_call_turn)(struct adv_kit_turn *t),
					    void (*reconnect)(struct adv_kit_timer *t))
{
	struct adv_nfs_session *s = adv_gateway_sessions_allocate(g, sizeof(*s));

	if (!s)
		return NULL;
	s->gateway = g;
	s->reverse = reverse;
	adv_list_init(&s->calls);
	adv_list_init(&s->back_calls);
	adv_kit_turn_init(&s->stream_turn, take_stream_turn);
	adv_kit_turn_init(&s->call_turn, take_call_turn);
	adv_kit_timer_init(&s->reconnect, reconnect);
	return s;
}

void adv_nfs_session_free(struct adv_nfs_session *s)
{
	adv_kit_timer_cancel(&s->reconnect);
	adv_gateway_sessions_remove(s->gateway, &s->link, s->client, s->peer);
	free(s);
}

struct adv_gateway_pool *adv_nfs_records(struct adv_nfs_session *s)
{
	return s->reverse ? &s->buffers->calls : &s->buffers->replies;
}

uint8_t *adv_nfs_record_buffer(void *user, size_t length)
{
	struct adv_nfs_session *s = user;
	uint8_t *b = NULL;

	s->blocked = s->reverse && (!s->buffers || s->call_count >= ADV_NFS_CALLS_MAX);
	if (!s->blocked)
		b = adv_gateway_get(adv_nfs_records(s), &s->stream_turn,
				    length + ADV_NFS_HEADER_ROOM);
	return b ? b + ADV_NFS_HEADER_ROOM : NULL;
}

void adv_nfs_record_dropped(void *user, uint8_t *message, size_t size)
{
	struct adv_nfs_session *s = user;

	adv_gateway_put(adv_nfs_records(s), message - ADV_NFS_HEADER_ROOM,
			size + ADV_NFS_HEADER_ROOM);
}

void adv_nfs_retry_later(struct adv_nfs_session *s)
{
	s->reported = true;
	s->wait_ms = s->wait_ms ? s->wait_ms * 2 : WAIT_FIRST_MS;
	if (s->wait_ms > WAIT_MOST_MS)
		s->wait_ms = WAIT_MOST_MS;
	adv_loop_start_timer(s->gateway->loop, &s->reconnect, s->wait_ms);
}

void adv_nfs_report_connected(struct adv_nfs_session *s)
{
	if (s->reported)
		adv_gateway_report(&s->gateway->log, ADV_LOG_INFO, "%s: connected to %s again",
				   s->peer, s->gateway->server_name);
	s->reported = false;
}
