/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/ucma/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/ucma/tcp.h"
#include "runtime/ucma/channel.h"
#include "runtime/ucma/stream_backlog.h"
#include "runtime/ucma/stream_end.h"
#include "runtime/ucma/stream_wait.h"

#define EVENTS_A_ROUND	64
#define ACCEPTS_A_ROUND 16
#define RUNS_A_ROUND	128
#define CONNECT_MS	20000 /* for TCP's handshake */
#define REQUEST_MS	10000 /* for a peer's request, as in siw */
#define REPLY_MS	60000 /* for a peer's reply: its program may take its time */
#define READS_DEFAULT	16    /* of a peer that does not name a number (revision 1) */

/* ---- sockets ---- */

static struct adv_ucma_stream *new_stream(struct adv_ucma *u)
{
	struct adv_ucma_stream *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->ucma = u;
	s->fd = -1;
	adv_list_init(&s->timed);
	adv_list_init(&s->child);
	adv_list_init(&s->children);
	return s;
}

static void apply_tos(const struct adv_ucma_stream *s)
{
	if (s->tos_set && s->fd >= 0)
		adv_tcp_set_tos(s->fd, adv_cm_id_local(s->id->cm)->family, s->tos);
}

static const struct adv_user *user_of(const struct adv_ucma_id *id)
{
	return id->channel->client->session.turn.user;
}

/* If the daemon serves many users, one user's connections take half of the sockets at most. */
static bool may_have_more_sockets(const struct adv_ucma_id *id)
{
	const struct adv_ucma *u = id->channel->client->ucma;
	const struct adv_user *user = user_of(id);

	if (u->streams.sockets >= u->streams.socket_limit)
		return false;
	return !u->daemon->system || (user->streams < u->streams.socket_limit / 2 &&
				      adv_users_may_open(u->users, user, 1));
}

/* Gives a stream without a socket one, for the user of the id. */
static void set_socket(struct adv_ucma_stream *s, const struct adv_ucma_id *id, int fd)
{
	s->fd = fd;
	s->ucma->streams.sockets++;
	s->user = adv_users_hold(s->ucma->users, user_of(id)->uid);
	s->user->streams++;
	s->user->descriptors++;
}

static void fill_param(const struct adv_mpa_frame *f, struct adv_cm_conn_param *p)
{
	size_t len = f->private_len;

	*p = (struct adv_cm_conn_param){.qp_type = IBV_QPT_RC};
	p->initiator_depth = f->enhanced && f->ird < UINT8_MAX ? (uint8_t)f->ird : READS_DEFAULT;
	p->responder_resources =
		f->enhanced && f->ord < UINT8_MAX ? (uint8_t)f->ord : READS_DEFAULT;
	if (len > sizeof(p->private_data))
		len = sizeof(p->private_data);
	if (len)
		memcpy(p->private_data, f->private_data, len);
	p->private_data_len = (uint8_t)len;
}

/* ---- the active side ---- */

static void report_failure(struct adv_ucma_stream *s, int error, const struct adv_mpa_frame *f)
{
	struct adv_ucma_event event = {.id = s->id, .status = -error};

	if (error == ECONNREFUSED || error == ECONNRESET)
		event.type = RDMA_CM_EVENT_REJECTED;
	else if (error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH)
		event.type = RDMA_CM_EVENT_UNREACHABLE;
	else
		event.type = RDMA_CM_EVENT_CONNECT_ERROR;
	if (f)
		fill_param(f, &event.param);
	adv_ucma_stream_end(s);
	adv_ucma_event_queue(&event);
}

/* TCP's handshake has ended: sends the request. */
static void on_connected(struct adv_ucma_stream *s)
{
	int error = adv_tcp_error(s->fd);

	if (!error)
		error = adv_mpa_socket_send(s->fd, &s->request);
	if (error) {
		report_failure(s, error, NULL);
		return;
	}
	s->state = ADV_UCMA_STREAM_REQUEST_SENT;
	adv_ucma_stream_watch(s, EPOLLIN | EPOLLRDHUP);
	adv_ucma_stream_set_timer(s, REPLY_MS);
}

static void on_reply(struct adv_ucma_stream *s)
{
	struct adv_ucma_event event = {.id = s->id, .type = RDMA_CM_EVENT_CONNECT_RESPONSE};
	struct adv_mpa_frame f;
	int error;
	enum adv_mpa_status status =
		adv_mpa_socket_receive(s->fd, &s->received, ADV_MPA_REPLY, &f, &error);

	if (status == ADV_MPA_MORE && !error)
		return;
	if (status == ADV_MPA_OK &&
	    adv_mpa_take_reply(&s->wish, &f, &s->config) == ADV_MPA_AGREED) {
		s->state = ADV_UCMA_STREAM_REPLY_RECEIVED;
		adv_ucma_stream_watch(s, EPOLLRDHUP | EPOLLET);
		adv_ucma_stream_set_timer(s, 0);
		fill_param(&f, &event.param);
		adv_ucma_event_queue(&event);
		return;
	}
	/* As siw: whatever is wrong with the reply, the connection is refused. */
	report_failure(s, error && error != EPIPE ? error : ECONNRESET,
		       status == ADV_MPA_OK ? &f : NULL);
}

/* Takes what the program wants of this connection. */
static void take_param(struct adv_ucma_stream *s, const struct adv_cm_conn_param *param)
{
	s->qpn = param->qp_num;
	s->wish.peer_to_peer = true;
	s->wish.ird = param->responder_resources;
	s->wish.ord = param->initiator_depth;
}

int adv_ucma_stream_connect(struct adv_ucma_id *id, const struct adv_cm_conn_param *param)
{
	struct adv_ucma_stream *s = id->stream;
	const struct adv_cm_addr *remote = adv_cm_id_remote(id->cm);
	int error;

	if (s->state != ADV_UCMA_STREAM_NEW || s->fd < 0)
		return EINVAL;
	take_param(s, param);
	/* The private data is copied: its frame is sent later. */
	memcpy(s->received.bytes, param->private_data, param->private_data_len);
	apply_tos(s);
	adv_mpa_make_request(&s->wish, s->received.bytes, param->private_data_len, &s->request);
	error = adv_tcp_connect(s->fd, remote);
	if (error == ECONNREFUSED) {
		report_failure(s, error, NULL);
		return 0;
	}
	if (error)
		return error;
	s->state = ADV_UCMA_STREAM_CONNECTING;
	adv_ucma_stream_watch(s, EPOLLOUT);
	adv_ucma_stream_set_timer(s, CONNECT_MS);
	return 0;
}

/* ---- the passive side ---- */

/* Makes the id of a request. False: there is none, because of a limit. */
static bool make_request_id(struct adv_ucma_stream *s)
{
	struct adv_ucma_id *listener = s->listener->id;
	struct adv_cm_addr local, remote;
	struct adv_ucma_id *id;

	if (!adv_tcp_addresses(s->fd, &local, &remote))
		return false;
	id = s->ucma->streams.make_id(listener, &local, &remote);
	if (!id)
		return false;
	adv_list_del(&s->child);
	s->listener = NULL;
	s->id = id;
	id->stream = s;
	return true;
}

static void on_request(struct adv_ucma_stream *s)
{
	struct adv_ucma_event event = {.type = RDMA_CM_EVENT_CONNECT_REQUEST};
	enum adv_mpa_verdict verdict = ADV_MPA_REVISION;
	int error;
	enum adv_mpa_status status =
		adv_mpa_socket_receive(s->fd, &s->received, ADV_MPA_REQUEST, &s->request, &error);

	if (status == ADV_MPA_MORE && !error)
		return;
	if (status == ADV_MPA_OK)
		verdict = adv_mpa_check_request(&s->wish, &s->request);
	if (verdict == ADV_MPA_CRC) {
		adv_ucma_stream_refuse_awaited(s);
		return;
	}
	if (verdict != ADV_MPA_AGREED || !make_request_id(s)) {
		adv_ucma_stream_free(s);
		return;
	}
	s->state = ADV_UCMA_STREAM_REQUEST_RECEIVED;
	adv_ucma_stream_watch(s, EPOLLRDHUP | EPOLLET);
	adv_ucma_stream_set_timer(s, 0);
	event.id = s->id;
	fill_param(&s->request, &event.param);
	adv_ucma_event_queue(&event);
}

static bool take_connection(struct adv_ucma_stream *listener, int fd)
{
	struct adv_cm_addr local, remote;
	struct adv_ucma_stream *s;
	uint32_t source;

	if (!may_have_more_sockets(listener->id) || !adv_tcp_addresses(fd, &local, &remote))
		return false;
	source = adv_ucma_source_of(listener->ucma, &remote);
	s = adv_ucma_backlog_make_room(listener, source) ? new_stream(listener->ucma) : NULL;
	if (!s)
		return false;
	set_socket(s, listener->id, fd);
	s->source = source;
	s->state = ADV_UCMA_STREAM_REQUEST_AWAITED;
	s->listener = listener;
	s->wish = listener->wish;
	adv_list_add_tail(&listener->children, &s->child);
	adv_ucma_stream_watch(s, EPOLLIN | EPOLLRDHUP);
	adv_ucma_stream_set_timer(s, REQUEST_MS);
	on_request(s); /* it has often arrived, and then counts as one */
	return true;
}

static void accept_connections(struct adv_ucma_stream *listener)
{
	for (unsigned i = 0; i < ACCEPTS_A_ROUND; i++) {
		int fd = adv_tcp_accept(&listener->ucma->streams.spare, listener->fd);

		if (fd < 0)
			return;
		if (!take_connection(listener, fd))
			close(fd);
	}
}

int adv_ucma_stream_listen(struct adv_ucma_id *id, unsigned backlog)
{
	struct adv_ucma_stream *s = id->stream;

	if (s->state != ADV_UCMA_STREAM_NEW || s->fd < 0)
		return EINVAL;
	if (listen(s->fd, (int)backlog) < 0)
		return errno;
	s->state = ADV_UCMA_STREAM_LISTENING;
	s->backlog = backlog;
	adv_ucma_stream_watch(s, EPOLLIN);
	return 0;
}

/* ---- the socket for the process ---- */

static int hand_over(struct adv_ucma_stream *s, int *fd, struct adv_ucma_agreement *out)
{
	const struct adv_rdmap_config *c = &s->config;

	*fd = fcntl(s->fd, F_DUPFD_CLOEXEC, 0);
	if (*fd < 0)
		return errno;
	*out = (struct adv_ucma_agreement){
		.first = (uint8_t)c->first,
		.crc = c->crc,
		.rx_markers = c->rx_markers,
		.tx_markers = c->tx_markers,
		.ird = c->ird,
		.ord = c->ord,
	};
	s->state = ADV_UCMA_STREAM_CONNECTED;
	adv_ucma_stream_watch(s, EPOLLRDHUP | EPOLLET);
	return 0;
}

int adv_ucma_stream_establish(struct adv_ucma_id *id, int *fd, struct adv_ucma_agreement *out)
{
	struct adv_ucma_stream *s = id->stream;

	if (s->state == ADV_UCMA_STREAM_CONNECTED)
		return EISCONN;
	if (s->state == ADV_UCMA_STREAM_ENDED)
		return ECONNRESET;
	return s->state == ADV_UCMA_STREAM_REPLY_RECEIVED ? hand_over(s, fd, out) : EINVAL;
}

int adv_ucma_stream_accept(struct adv_ucma_id *id, const struct adv_cm_conn_param *param, int *fd,
			   struct adv_ucma_agreement *out)
{
	const struct adv_ucma_event event = {.id = id, .type = RDMA_CM_EVENT_ESTABLISHED};
	struct adv_ucma_stream *s = id->stream;
	struct adv_mpa_frame reply;
	int error;

	if (s->state == ADV_UCMA_STREAM_ENDED)
		return ECONNABORTED;
	if (s->state != ADV_UCMA_STREAM_REQUEST_RECEIVED)
		return EINVAL;
	take_param(s, param);
	adv_mpa_answer(&s->wish, &s->request, param->private_data, param->private_data_len, &reply,
		       &s->config);
	error = adv_mpa_socket_send(s->fd, &reply);
	if (!error)
		error = hand_over(s, fd, out);
	if (error)
		adv_ucma_stream_end(s);
	else
		adv_ucma_event_queue(&event);
	return error;
}

bool adv_ucma_stream_has_peer(const struct adv_ucma_id *id, uint32_t *qpn)
{
	*qpn = id->stream->qpn;
	return id->stream->state > ADV_UCMA_STREAM_LISTENING &&
	       id->stream->state < ADV_UCMA_STREAM_REFUSED;
}

int adv_ucma_stream_qp_attr(const struct adv_ucma_id *id, enum ibv_qp_state state,
			    struct ibv_qp_attr *attr, int *mask)
{
	const struct adv_ucma_stream *s = id->stream;

	memset(attr, 0, sizeof(*attr));
	attr->qp_state = state;
	*mask = IBV_QP_STATE;
	if (state == IBV_QPS_INIT) {
		*mask |= IBV_QP_ACCESS_FLAGS;
		attr->qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
		return 0;
	}
	if (s->state == ADV_UCMA_STREAM_ENDED)
		return ECONNABORTED;
	return s->state == ADV_UCMA_STREAM_REQUEST_RECEIVED ||
			       s->state == ADV_UCMA_STREAM_REPLY_RECEIVED ||
			       s->state == ADV_UCMA_STREAM_CONNECTED
		       ? 0
		       : EINVAL;
}

/* ---- creating and freeing ---- */

int adv_ucma_stream_create(struct adv_ucma *u, struct adv_ucma_id *id, uint32_t crc,
			   uint32_t markers)
{
	if (crc >= ADV_MPA_CRC_WISHES || markers > 1)
		return EINVAL;
	id->stream = new_stream(u);
	if (!id->stream)
		return ENOMEM;
	id->stream->id = id;
	id->stream->wish = (struct adv_mpa_wish){.crc = crc, .markers = markers};
	return 0;
}

int adv_ucma_stream_bind(struct adv_ucma_id *id, struct adv_cm_addr *local)
{
	struct adv_ucma_stream *s = id->stream;
	int fd;

	if (s->state != ADV_UCMA_STREAM_NEW)
		return EINVAL;
	if (s->fd < 0 && !may_have_more_sockets(id))
		return EMFILE;
	fd = adv_tcp_open(local, id->bind_flags & ADV_CM_BIND_AFONLY);
	if (fd < 0)
		return errno;
	if (s->fd < 0) {
		set_socket(s, id, fd);
		return 0;
	}
	close(s->fd);
	s->fd = fd;
	return 0;
}

void adv_ucma_stream_set_tos(struct adv_ucma_id *id, uint8_t tos)
{
	struct adv_ucma_stream *s = id->stream;

	s->tos = tos;
	s->tos_set = true;
	apply_tos(s);
}

/* ---- rounds ---- */

static void on_event(struct adv_ucma_stream *s)
{
	switch (s->state) {
	case ADV_UCMA_STREAM_LISTENING:
		accept_connections(s);
		break;
	case ADV_UCMA_STREAM_CONNECTING:
		on_connected(s);
		break;
	case ADV_UCMA_STREAM_REQUEST_SENT:
		on_reply(s);
		break;
	case ADV_UCMA_STREAM_REQUEST_AWAITED:
		on_request(s);
		break;
	case ADV_UCMA_STREAM_REFUSED:
	case ADV_UCMA_STREAM_ENDING:
		adv_ucma_stream_discard(s);
		break;
	case ADV_UCMA_STREAM_REQUEST_RECEIVED:
	case ADV_UCMA_STREAM_REPLY_RECEIVED:
	case ADV_UCMA_STREAM_CONNECTED:
		adv_ucma_stream_ended(s);
		break;
	case ADV_UCMA_STREAM_NEW:
	case ADV_UCMA_STREAM_ENDED:
		break;
	}
}

void adv_ucma_streams_poll(struct adv_ucma *u)
{
	struct epoll_event events[EVENTS_A_ROUND];
	int n = epoll_wait(u->streams.epoll, events, EVENTS_A_ROUND, 0), listeners = 0;

	/* The handling of one stream's event frees no other stream, but a listener may free its
	 * connections: listeners come last. */
	for (int i = 0; i < n; i++) {
		struct adv_ucma_stream *s = events[i].data.ptr;

		if (s->state == ADV_UCMA_STREAM_LISTENING)
			events[listeners++].data.ptr = s;
		else
			on_event(s);
	}
	for (int i = 0; i < listeners; i++)
		on_event(events[i].data.ptr);
}

static void on_timeout(struct adv_ucma_stream *s)
{
	adv_ucma_stream_set_timer(s, 0);
	if (s->state == ADV_UCMA_STREAM_CONNECTING || s->state == ADV_UCMA_STREAM_REQUEST_SENT)
		report_failure(s, ETIMEDOUT, NULL);
	else if (s->state == ADV_UCMA_STREAM_REQUEST_AWAITED)
		adv_ucma_stream_free(s);
	else if (s->state == ADV_UCMA_STREAM_REFUSED || s->state == ADV_UCMA_STREAM_ENDING)
		adv_ucma_stream_end_is_due(s);
}

void adv_ucma_streams_run(struct adv_ucma *u, uint64_t now_ms)
{
	for (unsigned i = 0; i < RUNS_A_ROUND && !adv_list_empty(&u->streams.timed); i++) {
		struct adv_ucma_stream *s =
			adv_container_of(u->streams.timed.next, struct adv_ucma_stream, timed);

		if (s->due_ms > now_ms)
			return;
		on_timeout(s);
	}
}

uint64_t adv_ucma_streams_due(const struct adv_ucma *u)
{
	if (adv_list_empty(&u->streams.timed))
		return 0;
	return adv_container_of(u->streams.timed.next, struct adv_ucma_stream, timed)->due_ms;
}

int adv_ucma_streams_start(struct adv_ucma *u)
{
	struct rlimit r;

	adv_list_init(&u->streams.timed);
	adv_list_init(&u->streams.orphans);
	/* Channels and clients need descriptors, too. */
	u->streams.socket_limit = getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < 1 << 20
					  ? (unsigned)r.rlim_cur / 4
					  : 1 << 18;
	u->streams.spare.fd = -1;
	u->streams.epoll = -1;
	if (getrandom(u->streams.key, sizeof(u->streams.key), 0) != sizeof(u->streams.key))
		return EIO;
	u->streams.epoll = epoll_create1(EPOLL_CLOEXEC);
	return u->streams.epoll < 0 ? errno : adv_spare_open(&u->streams.spare);
}

int adv_ucma_streams_fd(const struct adv_ucma *u)
{
	return u->streams.epoll;
}

void adv_ucma_streams_stop(struct adv_ucma *u)
{
	while (!adv_list_empty(&u->streams.orphans))
		adv_ucma_stream_free(
			adv_container_of(u->streams.orphans.next, struct adv_ucma_stream, child));
	if (u->streams.epoll >= 0)
		close(u->streams.epoll);
	adv_spare_close(&u->streams.spare);
}
