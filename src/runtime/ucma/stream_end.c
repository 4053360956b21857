/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/ucma/stream_end.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/ucma/tcp.h"
#include "runtime/ucma/channel.h"
#include "runtime/ucma/stream_wait.h"

#define DISCARD_READS 16
#define REFUSED_MS    1000 /* for a refused peer to end the connection, as siw does */
#define ENDING_MS     4000 /* for a peer to end the connection, too */

static void close_socket(struct adv_ucma_stream *s)
{
	adv_tcp_limit_rest(s->fd);
	close(s->fd);
	s->fd = -1;
	s->ucma->streams.sockets--;
	s->user->streams--;
	s->user->descriptors--;
	adv_users_release(s->user);
	s->user = NULL;
}

void adv_ucma_stream_end(struct adv_ucma_stream *s)
{
	/* The process may have copies of the socket, so the set would keep it. */
	adv_ucma_stream_unwatch(s);
	if (s->fd >= 0)
		close_socket(s);
	s->state = ADV_UCMA_STREAM_ENDED;
	adv_ucma_stream_set_timer(s, 0);
}

void adv_ucma_stream_free(struct adv_ucma_stream *s)
{
	adv_ucma_stream_end(s);
	adv_list_del(&s->child);
	free(s);
}

static void await_end(struct adv_ucma_stream *s, enum adv_ucma_stream_state state, unsigned ms)
{
	s->state = state;
	adv_ucma_stream_watch(s, EPOLLIN | EPOLLRDHUP);
	adv_ucma_stream_set_timer(s, ms);
}

/* Sends the end of the stream, and waits for the peer's. */
static void begin_ending(struct adv_ucma_stream *s)
{
	(void)shutdown(s->fd, SHUT_WR);
	await_end(s, ADV_UCMA_STREAM_ENDING, ENDING_MS);
}

/* Sends the reply that refuses the peer's request. The end of the stream does not follow at once:
 * Linux joins both to one segment while siw's socket is busy, and siw handles the end first. Its
 * program would not get the private data. */
static void refuse_request(struct adv_ucma_stream *s, const uint8_t *private_data, uint8_t len)
{
	struct adv_mpa_frame reply;

	adv_mpa_refuse(&s->request, private_data, len, &reply);
	(void)adv_mpa_socket_send(s->fd, &reply);
	await_end(s, ADV_UCMA_STREAM_REFUSED, REFUSED_MS);
}

void adv_ucma_stream_refuse_awaited(struct adv_ucma_stream *s)
{
	refuse_request(s, NULL, 0);
}

void adv_ucma_stream_ended(struct adv_ucma_stream *s)
{
	struct adv_ucma_id *id = s->id;
	bool reports = !s->rejected && (s->state == ADV_UCMA_STREAM_CONNECTED ||
					s->state == ADV_UCMA_STREAM_ENDING);

	adv_ucma_stream_end(s);
	if (!id)
		adv_ucma_stream_free(s);
	else if (reports)
		adv_ucma_event_queue_status(id, RDMA_CM_EVENT_DISCONNECTED, 0);
}

void adv_ucma_stream_end_is_due(struct adv_ucma_stream *s)
{
	if (s->state == ADV_UCMA_STREAM_REFUSED)
		begin_ending(s);
	else
		adv_ucma_stream_ended(s);
}

void adv_ucma_stream_discard(struct adv_ucma_stream *s)
{
	static uint8_t sink[65536];
	ssize_t n = 1;

	for (unsigned i = 0; i < DISCARD_READS && n > 0; i++)
		n = recv(s->fd, sink, sizeof(sink), MSG_DONTWAIT);
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		adv_ucma_stream_ended(s);
}

int adv_ucma_stream_reject(struct adv_ucma_id *id, const uint8_t *private_data, uint8_t len)
{
	struct adv_ucma_stream *s = id->stream;

	if (s->state == ADV_UCMA_STREAM_REQUEST_RECEIVED)
		refuse_request(s, private_data, len);
	else if (s->state == ADV_UCMA_STREAM_REPLY_RECEIVED)
		begin_ending(s);
	else if (s->state != ADV_UCMA_STREAM_ENDED)
		return EINVAL;
	s->rejected = true;
	return 0;
}

int adv_ucma_stream_disconnect(struct adv_ucma_id *id)
{
	struct adv_ucma_stream *s = id->stream;

	if (s->state == ADV_UCMA_STREAM_CONNECTED || s->state == ADV_UCMA_STREAM_REPLY_RECEIVED)
		begin_ending(s);
	else if (s->state < ADV_UCMA_STREAM_REFUSED)
		return EINVAL;
	return 0;
}

/* The listener is destroyed: its awaited requests end at once, refused ones in order. */
static void leave_children(struct adv_ucma_stream *listener)
{
	adv_list_for_each_safe(struct adv_ucma_stream, s, &listener->children, child) {
		if (s->state < ADV_UCMA_STREAM_REFUSED) {
			adv_ucma_stream_free(s);
			continue;
		}
		adv_list_del(&s->child);
		s->listener = NULL;
		adv_list_add_tail(&s->ucma->streams.orphans, &s->child);
	}
}

void adv_ucma_stream_close(struct adv_ucma_id *id)
{
	struct adv_ucma_stream *s = id->stream;

	leave_children(s);
	id->stream = NULL;
	s->id = NULL;
	if (s->state == ADV_UCMA_STREAM_REQUEST_RECEIVED)
		refuse_request(s, NULL, 0);
	else if (s->state == ADV_UCMA_STREAM_REPLY_RECEIVED ||
		 s->state == ADV_UCMA_STREAM_CONNECTED)
		begin_ending(s);
	if (s->state == ADV_UCMA_STREAM_REFUSED || s->state == ADV_UCMA_STREAM_ENDING)
		adv_list_add_tail(&s->ucma->streams.orphans, &s->child);
	else
		adv_ucma_stream_free(s);
}

bool adv_ucma_streams_ending(const struct adv_ucma *u)
{
	return !adv_list_empty(&u->streams.orphans);
}
