/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/kit/stream.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "storage/kit/turn.h"
#include "base/bytes.h"

#define LAST 0x80000000u
enum {
	PARTS_AT_ONCE = ADV_STREAM_PARTS_MAX + 1, /* with the length of a record */
	PIECES_AT_ONCE = 64, /* that are received before the loop handles other things */
	/* Bytes that are received with what is needed: a record with 4 KiB of data is one call. */
	AHEAD = 8192,
	PRIVILEGED_FIRST = 600,
	PRIVILEGED_END = 1024,
};

struct adv_stream {
	struct adv_loop *loop;
	struct adv_watch watch;
	const struct adv_stream_ops *ops;
	void *user;
	size_t limit;
	bool connected, paused;
	bool blocked;		/* sendmsg() could not: the loop tells when it can */
	uint32_t events;	/* that are watched */
	struct adv_task work;	/* sends, and handles what is in `ahead` */
	bool receiving, closed; /* closed: freed when the receiving ends */
	struct adv_list out;
	/* In which a record with memory has to arrive, and the first one of `out` to be sent. 0: no
	 * limit. */
	unsigned timeout_ms;
	struct adv_kit_timer incomplete, unsent;

	uint8_t head[4];
	unsigned head_length;
	uint8_t *record; /* NULL: there is no memory yet */
	size_t size;	 /* of `record` */
	size_t length;	 /* received */
	size_t fragment; /* bytes of the fragment that are missing */
	bool last;	 /* the fragment is the record's last one */

	uint8_t ahead[AHEAD]; /* received, but not part of a record yet */
	size_t ahead_first, ahead_end;
	bool drained; /* nothing else could be received the last time */
};

static void update_events(struct adv_stream *s)
{
	/* The end of a paused stream is noticed too. */
	uint32_t events = s->paused ? EPOLLRDHUP : EPOLLIN;

	if (!s->connected || s->blocked)
		events |= EPOLLOUT;
	if (events != s->events)
		adv_loop_change(s->loop, &s->watch, events);
	s->events = events;
}

/* --- sending --- */

/* Removes sent bytes from a record. True: it is finished. */
static bool consume_sent(struct adv_stream_out *out, size_t *sent)
{
	size_t head = sizeof(out->head) - out->head_sent;

	if (head > *sent)
		head = *sent;
	out->head_sent += (unsigned)head;
	*sent -= head;
	while (out->count > 0 && *sent >= out->parts->iov_len) {
		*sent -= out->parts->iov_len;
		out->parts++;
		out->count--;
	}
	if (out->count > 0) {
		out->parts->iov_base = (uint8_t *)out->parts->iov_base + *sent;
		out->parts->iov_len -= *sent;
		*sent = 0;
	}
	return out->count == 0 && out->head_sent == sizeof(out->head);
}

static unsigned gather_parts(struct adv_stream *s, struct iovec *parts)
{
	unsigned n = 0;

	adv_list_for_each(struct adv_stream_out, out, &s->out, link) {
		if (n + 1 + out->count > PARTS_AT_ONCE)
			break;
		parts[n++] = (struct iovec){out->head + out->head_sent,
					    sizeof(out->head) - out->head_sent};
		memcpy(parts + n, out->parts, out->count * sizeof(*parts));
		n += out->count;
	}
	return n;
}

/* A record has become the first one. */
static void limit_sending(struct adv_stream *s)
{
	const struct adv_stream_out *out =
		adv_container_of(s->out.next, struct adv_stream_out, link);
	uint64_t now = adv_clock_ms(), end = now + s->timeout_ms;
	uint64_t latest = out->since + (uint64_t)s->timeout_ms * ADV_TURN_LATEST;

	if (end > latest)
		end = latest;
	if (s->timeout_ms)
		adv_loop_start_timer(s->loop, &s->unsent, end > now ? (unsigned)(end - now) : 0);
}

/* Ends the sending of the first record. */
static void finish_record(struct adv_stream *s, struct adv_stream_out *out, bool ok)
{
	adv_list_del(&out->link);
	if (adv_list_empty(&s->out))
		adv_kit_timer_cancel(&s->unsent);
	else
		limit_sending(s);
	out->done(out, ok);
}

/* Sends what can be sent. Returns 0, or why the connection is lost. */
static int flush_records(struct adv_stream *s)
{
	struct iovec parts[PARTS_AT_ONCE];

	while (s->connected && !s->blocked && !adv_list_empty(&s->out)) {
		struct msghdr m = {.msg_iov = parts, .msg_iovlen = gather_parts(s, parts)};
		ssize_t n = sendmsg(s->watch.fd, &m, MSG_NOSIGNAL);
		size_t sent;

		s->blocked = n < 0;
		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : errno;
		sent = (size_t)n;
		while (!adv_list_empty(&s->out)) {
			struct adv_stream_out *out =
				adv_container_of(s->out.next, struct adv_stream_out, link);

			if (!consume_sent(out, &sent))
				break;
			finish_record(s, out, true);
		}
	}
	return 0;
}

void adv_stream_send(struct adv_stream *s, struct adv_stream_out *out, size_t length)
{
	adv_put_be32(out->head, (s->ops->framing == ADV_STREAM_RPC ? LAST : 0) | (uint32_t)length);
	out->head_sent = 0;
	out->since = adv_clock_ms();
	adv_list_add_tail(&s->out, &out->link);
	if (s->out.next == &out->link)
		limit_sending(s);
	/* The loop sends, several records at once: errors are reported from there only. */
	if (s->connected && !s->blocked)
		adv_loop_defer(s->loop, &s->work);
}

/* --- receiving --- */

/* Interprets the 4 bytes before a fragment. Returns 0, or why the connection is lost. */
static int begin_fragment(struct adv_stream *s)
{
	uint32_t head = adv_get_be32(s->head);

	if (s->ops->framing == ADV_STREAM_SMB && head >> 24 != 0)
		return EPROTO;
	s->last = s->ops->framing == ADV_STREAM_SMB || (head & LAST);
	s->fragment = head & ~LAST;
	if (s->length + s->fragment > s->limit)
		return EMSGSIZE;
	/* What follows a first fragment is not known: it gets as much as a record may have. */
	if (!s->record)
		s->size = s->last ? s->fragment : s->limit;
	return 0;
}

/* Moves bytes from `ahead`. */
static void take_ahead(struct adv_stream *s, uint8_t *to, size_t wanted)
{
	memcpy(to, s->ahead + s->ahead_first, wanted);
	s->ahead_first += wanted;
}

static size_t ahead_of(const struct adv_stream *s)
{
	return s->ahead_end - s->ahead_first;
}

/* Receives the missing part of a fragment, and more into `ahead`, which is empty. Returns what
 * recvmsg() returns; 0 also if the peer closed. */
static ssize_t receive_some(struct adv_stream *s)
{
	bool body = s->head_length == sizeof(s->head);
	struct iovec parts[] = {{body ? s->record + s->length : NULL, body ? s->fragment : 0},
				{s->ahead, AHEAD}};
	struct msghdr m = {.msg_iov = parts, .msg_iovlen = 2};
	ssize_t n = recvmsg(s->watch.fd, &m, 0);
	size_t direct = parts[0].iov_len;

	if (n <= 0)
		return n;
	s->drained = (size_t)n < direct + AHEAD;
	if (direct > (size_t)n)
		direct = (size_t)n;
	s->length += direct;
	s->fragment -= direct;
	s->ahead_first = 0;
	s->ahead_end = (size_t)n - direct;
	return n;
}

/* Uses what is in `ahead` for the length of a fragment, or for the fragment. Returns 0, or why the
 * connection is lost. */
static int use_ahead(struct adv_stream *s)
{
	size_t n = ahead_of(s), wanted = sizeof(s->head) - s->head_length;

	if (wanted == 0) {
		n = n < s->fragment ? n : s->fragment;
		take_ahead(s, s->record + s->length, n);
		s->length += n;
		s->fragment -= n;
		return 0;
	}
	n = n < wanted ? n : wanted;
	take_ahead(s, s->head + s->head_length, n);
	s->head_length += (unsigned)n;
	return n == wanted ? begin_fragment(s) : 0;
}

/* Gets memory if a record needs it. False: there is none now. */
static bool has_memory(struct adv_stream *s)
{
	if (s->head_length < sizeof(s->head) || s->record)
		return true;
	s->record = s->ops->buffer(s->user, s->size ? s->size : 1);
	if (s->record && s->timeout_ms)
		adv_loop_start_timer(s->loop, &s->incomplete, s->timeout_ms);
	return s->record != NULL;
}

/* Hands over a record. The user may close the stream. */
static void hand_over(struct adv_stream *s)
{
	uint8_t *record = s->record;
	size_t length = s->length;

	adv_kit_timer_cancel(&s->incomplete);
	s->record = NULL;
	s->length = 0;
	s->ops->record(s->user, record, s->size ? s->size : 1, length);
}

static void give_up(struct adv_kit_timer *t)
{
	struct adv_stream *s = adv_container_of(t, struct adv_stream, incomplete);

	s->ops->lost(s->user, ETIME);
}

static void not_taken(struct adv_kit_timer *t)
{
	struct adv_stream *s = adv_container_of(t, struct adv_stream, unsent);

	s->ops->lost(s->user, ETIMEDOUT);
}

/* Receives one piece. False: nothing more can be received now, or the stream is closed. */
static bool receive_piece(struct adv_stream *s)
{
	if (!has_memory(s)) {
		s->paused = true;
		update_events(s);
		return false;
	}
	if (s->head_length < sizeof(s->head) || s->fragment > 0) {
		ssize_t n = 1;
		int err = 0;

		if (ahead_of(s) == 0) {
			if (s->drained)
				return false;
			n = receive_some(s);
			err = n < 0 ? errno : 0;
		}
		if (n < 0 && (err == EAGAIN || err == EINTR))
			return false;
		if (n > 0)
			err = use_ahead(s);
		if (n <= 0 || err) {
			s->ops->lost(s->user, err);
			return false;
		}
	}
	if (s->head_length < sizeof(s->head) || s->fragment > 0 || !s->record)
		return true;
	s->head_length = 0;
	if (s->last)
		hand_over(s);
	return !s->closed;
}

static void receive_all(struct adv_stream *s)
{
	s->receiving = true;
	for (unsigned i = 0; i < PIECES_AT_ONCE && receive_piece(s); i++)
		;
	s->receiving = false;
	if (s->closed)
		free(s);
	/* The loop calls handle_socket_events() while something can be received, not for this. */
	else if (ahead_of(s) > 0 && !s->paused)
		adv_loop_defer(s->loop, &s->work);
}

/* The stream may be closed afterwards. */
static void finish_connecting(struct adv_stream *s)
{
	int err = 0;
	socklen_t len = sizeof(err);

	getsockopt(s->watch.fd, SOL_SOCKET, SO_ERROR, &err, &len);
	if (err) {
		s->ops->lost(s->user, err);
		return;
	}
	s->connected = true;
	update_events(s);
	adv_loop_defer(s->loop, &s->work);
	s->ops->connected(s->user);
}

static void handle_socket_events(struct adv_watch *w, uint32_t events)
{
	struct adv_stream *s = adv_container_of(w, struct adv_stream, watch);
	bool ended = events & (EPOLLHUP | EPOLLERR);
	int err;

	if (!s->connected) {
		finish_connecting(s);
		return;
	}
	if (ended || (events & EPOLLOUT))
		s->blocked = false;
	err = flush_records(s);
	if (!err && s->paused && (ended || (events & EPOLLRDHUP)))
		err = ECONNRESET;
	if (err) {
		s->ops->lost(s->user, err);
		return;
	}
	update_events(s);
	s->drained = false;
	if (ended || (events & EPOLLIN))
		receive_all(s);
}

/* Sends, and handles what was received before. */
static void run_work(struct adv_task *t)
{
	struct adv_stream *s = adv_container_of(t, struct adv_stream, work);
	int err = flush_records(s);

	if (err) {
		s->ops->lost(s->user, err);
		return;
	}
	update_events(s);
	if (ahead_of(s) > 0 && !s->paused)
		receive_all(s);
}

bool adv_stream_resume(struct adv_stream *s)
{
	if (!has_memory(s))
		return false;
	s->paused = false;
	update_events(s);
	if (ahead_of(s) > 0)
		adv_loop_defer(s->loop, &s->work);
	return true;
}

/* --- connecting --- */

/* Binds to a privileged port, as NFS servers ask for by default. Without the right to do so, or
 * without a free port, the kernel chooses one. */
static void bind_privileged(int fd, sa_family_t family)
{
	static unsigned next;
	struct sockaddr_storage any = {.ss_family = family};
	socklen_t len =
		family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
	unsigned ports = PRIVILEGED_END - PRIVILEGED_FIRST;

	for (unsigned i = 0; i < ports; i++) {
		uint16_t port = htons((uint16_t)(PRIVILEGED_END - 1 - next++ % ports));

		if (family == AF_INET6)
			((struct sockaddr_in6 *)&any)->sin6_port = port;
		else
			((struct sockaddr_in *)&any)->sin_port = port;
		if (bind(fd, (struct sockaddr *)&any, len) == 0 || errno != EADDRINUSE)
			return;
	}
}

static struct adv_stream *new_stream(struct adv_loop *l, int fd, size_t limit,
				     const struct adv_stream_ops *ops, void *user)
{
	struct adv_stream *s = calloc(1, sizeof(*s));
	int one = 1;

	if (!s)
		return NULL;
	s->loop = l;
	s->ops = ops;
	s->user = user;
	s->limit = limit;
	s->watch.ready = handle_socket_events;
	s->watch.fd = fd;
	s->events = EPOLLIN | EPOLLOUT;
	adv_list_init(&s->out);
	adv_kit_timer_init(&s->incomplete, give_up);
	adv_kit_timer_init(&s->unsent, not_taken);
	adv_task_init(&s->work, run_work);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	return s;
}

struct adv_stream *adv_stream_accepted(struct adv_loop *l, int fd, unsigned timeout_ms,
				       size_t limit, const struct adv_stream_ops *ops, void *user)
{
	struct adv_stream *s = new_stream(l, fd, limit, ops, user);

	if (!s)
		return NULL;
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, sizeof(timeout_ms));
	s->timeout_ms = timeout_ms;
	s->connected = true;
	s->events = EPOLLIN;
	if (adv_loop_watch(l, &s->watch, s->events) == 0)
		return s;
	free(s);
	return NULL;
}

struct adv_stream *adv_stream_connect(struct adv_loop *l, const struct sockaddr *to,
				      bool privileged, size_t limit,
				      const struct adv_stream_ops *ops, void *user)
{
	socklen_t len = to->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
						  : sizeof(struct sockaddr_in);
	int fd = socket(to->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct adv_stream *s = fd >= 0 ? new_stream(l, fd, limit, ops, user) : NULL;

	if (s) {
		if (privileged)
			bind_privileged(s->watch.fd, to->sa_family);
		if ((connect(s->watch.fd, to, len) == 0 || errno == EINPROGRESS) &&
		    adv_loop_watch(l, &s->watch, s->events) == 0)
			return s;
	}
	if (fd >= 0)
		close(fd);
	free(s);
	return NULL;
}

void adv_stream_close(struct adv_stream *s)
{
	adv_loop_unwatch(s->loop, &s->watch);
	adv_task_cancel(&s->work);
	adv_kit_timer_cancel(&s->incomplete);
	close(s->watch.fd);
	if (s->record)
		s->ops->dropped(s->user, s->record, s->size ? s->size : 1);
	while (!adv_list_empty(&s->out))
		finish_record(s, adv_container_of(s->out.next, struct adv_stream_out, link), false);
	s->closed = true;
	if (!s->receiving)
		free(s);
}
