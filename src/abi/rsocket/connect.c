/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Connecting and accepting streams. The service thread reads the connection manager's events and
 * takes each step. The application's calls start the steps and wait.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/sys.h"
#include "abi/rsocket/service.h"
#include "abi/rsocket/state.h"
#include "abi/rsocket/table.h"
#include "abi/rsocket/wait.h"

#define MAX_TRIES   6 /* tries to resolve: the first takes 1 s, each further one twice as long */
#define MAX_PRIVATE 64

/* The parts of an event that are needed after its acknowledgement. */
struct cm_event {
	enum rdma_cm_event_type type;
	int err; /* the event's status without its sign: an errno, 0: none */
	struct rdma_cm_id *id;
	uint8_t data[MAX_PRIVATE];
	size_t len;
	struct rdma_conn_param param;
};

/* Makes an event channel, whose descriptor becomes the number of rs. */
static int make_channel(struct adv_rsocket *rs)
{
	rs->s.events = rdma_create_event_channel();
	if (!rs->s.events || adv_sys_fcntl(rs->s.events->fd, F_SETFL, O_NONBLOCK) < 0)
		return -1;
	return adv_rs_enter(rs, rs->s.events->fd);
}

int adv_rs_stream_open(struct adv_rsocket *rs)
{
	if (make_channel(rs))
		return -1;
	return rdma_create_id(rs->s.events, &rs->s.id, rs, RDMA_PS_TCP);
}

static int check_address(const struct adv_rsocket *rs, const struct sockaddr *addr, socklen_t len)
{
	if (!addr)
		return EFAULT;
	if (len < sizeof(addr->sa_family) || adv_rs_addr_len(addr->sa_family) == 0 ||
	    addr->sa_family != rs->domain)
		return EAFNOSUPPORT;
	return len < adv_rs_addr_len(addr->sa_family) ? EINVAL : 0;
}

int adv_rs_stream_bind(struct adv_rsocket *rs, const struct sockaddr *addr, socklen_t len)
{
	int err = check_address(rs, addr, len);
	union adv_rs_addr copy = {0};

	if (!err && rs->s.state != ADV_RS_INIT)
		err = EINVAL;
	if (err)
		return adv_rs_error(err);
	memcpy(&copy, addr, adv_rs_addr_len(addr->sa_family));
	if (rdma_bind_addr(rs->s.id, &copy.sa))
		return -1;
	rs->s.state = ADV_RS_BOUND;
	return 0;
}

int adv_rs_stream_listen(struct adv_rsocket *rs, int backlog)
{
	struct adv_rs_stream *s = &rs->s;
	union adv_rs_addr any = {.sa.sa_family = (sa_family_t)rs->domain};

	if (s->state != ADV_RS_INIT && s->state != ADV_RS_BOUND && s->state != ADV_RS_LISTENING)
		return adv_rs_error(EINVAL);
	s->backlog = backlog < 1 ? 1 : backlog > SOMAXCONN ? SOMAXCONN : (unsigned)backlog;
	if (s->state == ADV_RS_LISTENING)
		return 0;
	if (s->state == ADV_RS_INIT && adv_rs_stream_bind(rs, &any.sa, sizeof(any)))
		return -1;
	if (rdma_listen(s->id, (int)s->backlog) || adv_rs_service_add(rs))
		return -1;
	s->state = ADV_RS_LISTENING;
	return 0;
}

/* Connecting */

static void connect_failed(struct adv_rsocket *rs, int err)
{
	adv_debug("rsocket %d: not connected: %s", rs->fd, strerror(err));
	rs->s.state = ADV_RS_FAILED;
	rs->err = err ? err : ECONNREFUSED;
}

static int resolve_addr(struct adv_rsocket *rs)
{
	rs->s.state = ADV_RS_RESOLVING_ADDR;
	return rdma_resolve_addr(rs->s.id, NULL, &rs->s.peer.sa, 1000 << rs->s.tries++);
}

static int resolve_route(struct adv_rsocket *rs)
{
	rs->s.state = ADV_RS_RESOLVING_ROUTE;
	if (rs->s.route && rs->s.tries == 0) {
		rs->s.tries++;
		return rdma_set_option(rs->s.id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, rs->s.route,
				       rs->s.route_len);
	}
	return rdma_resolve_route(rs->s.id, 1000 << rs->s.tries++);
}

static int send_request(struct adv_rsocket *rs)
{
	uint8_t data[ADV_RS_CONN_LEN];
	struct rdma_conn_param param = {
		.private_data = data,
		.private_data_len = sizeof(data),
		.flow_control = 1,
		.retry_count = 7,
		.rnr_retry_count = 7,
	};
	struct adv_rs_conn conn;

	if (adv_rs_endpoint_make(rs))
		return -1;
	adv_rs_endpoint_describe(rs, &conn);
	adv_rs_pack_conn(data, &conn);
	rs->s.state = ADV_RS_CONNECTING;
	return rdma_connect(rs->s.id, &param);
}

/* Handles the peer's acceptance. 0; or -1 and errno. */
static int finish_connection(struct adv_rsocket *rs, const struct cm_event *now)
{
	struct adv_rs_conn conn;

	if (!adv_rs_unpack_conn(&conn, now->data, now->len)) {
		adv_rs_stream_disconnect(rs);
		return adv_rs_error(EPROTONOSUPPORT);
	}
	adv_rs_endpoint_store_peer(rs, &conn);
	rs->s.state = ADV_RS_CONNECTED;
	if (rs->options.keepalive)
		adv_rs_service_keepalive(rs);
	adv_rs_stream_progress(rs); /* offers the second half of the receive memory */
	return 0;
}

static bool is_settled(struct adv_rsocket *rs)
{
	return !adv_rs_state_opening(rs->s.state);
}

/* Returns the result of rconnect() for a connection that an earlier call has started. */
static int connect_again(struct adv_rsocket *rs)
{
	struct adv_rs_stream *s = &rs->s;
	int err;

	if (adv_rs_state_opening(s->state))
		return adv_rs_error(EALREADY);
	if (s->state == ADV_RS_FAILED) {
		err = rs->err;
		rs->err = 0;
		return adv_rs_error(err ? err : ENOTCONN);
	}
	if (s->state == ADV_RS_LISTENING)
		return adv_rs_error(EINVAL);
	if (s->state != ADV_RS_CONNECTED || s->result_returned)
		return adv_rs_error(EISCONN);
	s->result_returned = true;
	return 0;
}

int adv_rs_stream_connect(struct adv_rsocket *rs, const struct sockaddr *addr, socklen_t len)
{
	struct adv_rs_stream *s = &rs->s;
	int err;

	if (s->state != ADV_RS_INIT && s->state != ADV_RS_BOUND)
		return connect_again(rs);
	err = check_address(rs, addr, len);
	if (err)
		return adv_rs_error(err);
	memcpy(&s->peer, addr, adv_rs_addr_len(addr->sa_family));
	if (adv_rs_service_add(rs))
		return -1;
	if (resolve_addr(rs)) {
		connect_failed(rs, errno);
	} else if (adv_rs_wait(rs, is_settled,
			       adv_rs_deadline(rs, 0, rs->options.send_timeout_us))) {
		return adv_rs_error(errno == EAGAIN ? EINPROGRESS : errno);
	}
	return connect_again(rs);
}

/* Accepting */

/* Call it when an incoming connection is established or has failed. Adds an established connection
 * to the listener's list. If the listener is closed, marks the connection as failed. */
static void give_to_listener(struct adv_rsocket *rs)
{
	struct adv_rsocket *listener = rs->s.listener;
	bool wanted;

	rs->s.listener = NULL;
	pthread_mutex_lock(&listener->lock);
	wanted = !listener->closed && rs->s.state == ADV_RS_CONNECTED;
	if (wanted) {
		adv_rs_hold(rs); /* for the list */
		adv_list_add_tail(&listener->s.accepted, &rs->s.sibling);
		adv_rs_wake(listener);
	} else {
		listener->s.pending--;
	}
	pthread_mutex_unlock(&listener->lock);
	adv_rs_put(listener);
	if (!wanted)
		rs->s.state = ADV_RS_FAILED;
}

static int accept_id(struct adv_rsocket *rs, const struct cm_event *now)
{
	uint8_t data[ADV_RS_CONN_LEN];
	struct rdma_conn_param param = now->param;
	struct adv_rs_conn conn;

	if (!adv_rs_unpack_conn(&conn, now->data, now->len))
		return adv_rs_error(EPROTONOSUPPORT);
	if (make_channel(rs) || rdma_migrate_id(now->id, rs->s.events))
		return -1;
	if (adv_rs_service_add(rs))
		return -1;
	rs->s.id = now->id;
	rs->s.state = ADV_RS_ACCEPTING;
	if (adv_rs_endpoint_make(rs))
		return -1;
	adv_rs_endpoint_store_peer(rs, &conn);
	memcpy(&rs->s.peer, rdma_get_peer_addr(now->id), sizeof(rs->s.peer));
	adv_rs_addr_map(&rs->s.peer, (sa_family_t)rs->domain);
	adv_rs_endpoint_describe(rs, &conn);
	adv_rs_pack_conn(data, &conn);
	param.private_data = data;
	param.private_data_len = sizeof(data);
	param.flow_control = 1;
	param.retry_count = 7;
	param.rnr_retry_count = 7;
	return rdma_accept(rs->s.id, &param);
}

/* Drops an incoming connection that raccept() has not returned. Without lock. */
static void abandon_connection(struct adv_rsocket *rs)
{
	struct adv_rsocket *known = adv_rs_take(rs->fd);

	pthread_mutex_lock(&rs->lock);
	rs->closed = true;
	if (rs->s.state != ADV_RS_INIT)
		adv_rs_stream_disconnect(rs);
	pthread_mutex_unlock(&rs->lock);
	adv_rs_service_remove(rs);
	if (known)
		adv_rs_put(known);
}

/* Handles a request at a listener. Service thread, without lock. */
static void handle_request(struct adv_rsocket *listener, const struct cm_event *now)
{
	struct adv_rsocket *rs = NULL;
	bool room;

	pthread_mutex_lock(&listener->lock);
	room = !listener->closed && listener->s.pending < listener->s.backlog;
	if (room) {
		listener->s.pending++;
		rs = adv_rs_stream_new(listener->domain, &listener->options);
	}
	pthread_mutex_unlock(&listener->lock);
	if (rs) {
		adv_rs_hold(listener);
		rs->s.listener = listener;
		pthread_mutex_lock(&rs->lock);
		if (accept_id(rs, now) == 0) {
			pthread_mutex_unlock(&rs->lock);
			adv_rs_put(rs);
			return;
		}
		adv_debug("rsocket %d: cannot accept: %s", listener->fd, strerror(errno));
		pthread_mutex_unlock(&rs->lock);
	}
	(void)rdma_reject(now->id, NULL, 0);
	if (rs) {
		if (!rs->s.id)
			rdma_destroy_id(now->id);
		rs->s.disconnected = true; /* nothing to disconnect: it was never connected */
		abandon_connection(rs);
		adv_rs_put(rs);
	} else {
		rdma_destroy_id(now->id);
	}
	if (room) {
		pthread_mutex_lock(&listener->lock);
		listener->s.pending--;
		pthread_mutex_unlock(&listener->lock);
	}
}

static bool is_acceptable(struct adv_rsocket *rs)
{
	return !adv_list_empty(&rs->s.accepted) || rs->closed || rs->s.state != ADV_RS_LISTENING;
}

struct adv_rsocket *adv_rs_stream_accept(struct adv_rsocket *rs)
{
	struct adv_rsocket *taken;

	if (rs->s.state != ADV_RS_LISTENING) {
		errno = EINVAL;
		return NULL;
	}
	if (adv_rs_wait(rs, is_acceptable, adv_rs_deadline(rs, 0, rs->options.recv_timeout_us)))
		return NULL;
	if (adv_list_empty(&rs->s.accepted)) {
		errno = EINVAL;
		return NULL;
	}
	taken = adv_container_of(rs->s.accepted.next, struct adv_rsocket, s.sibling);
	adv_list_del(&taken->s.sibling); /* its reference becomes the caller's */
	rs->s.pending--;
	return taken;
}

void adv_rs_stream_renumber(struct adv_rsocket *rs)
{
	int before = rs->fd, fd = adv_sys_fcntl(before, F_DUPFD_CLOEXEC, 0);

	if (fd < 0)
		return;
	if (adv_rs_enter(rs, fd)) {
		adv_sys_close(fd);
		return;
	}
	adv_rs_service_renumber(rs);
	if (adv_rs_take(before))
		adv_rs_put(rs);
}

/* Events */

/* Retries a failed step of the connecting end, if a retry can help. */
static int try_again(struct adv_rsocket *rs, const struct cm_event *now)
{
	if (now->err != ETIMEDOUT || rs->s.tries > MAX_TRIES)
		return adv_rs_error(now->err);
	return now->type == RDMA_CM_EVENT_ADDR_ERROR ? resolve_addr(rs) : resolve_route(rs);
}

/* Handles an event of a connection that is being made. 0; or -1 and errno: it has failed. */
static int handle_opening_event(struct adv_rsocket *rs, const struct cm_event *now)
{
	switch (now->type) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		rs->s.tries = 0;
		return resolve_route(rs);
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		return send_request(rs);
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
		return try_again(rs, now);
	case RDMA_CM_EVENT_ESTABLISHED:
		if (rs->s.state == ADV_RS_CONNECTING)
			return finish_connection(rs, now);
		rs->s.state = ADV_RS_CONNECTED;
		adv_rs_stream_progress(rs);
		return 0;
	case RDMA_CM_EVENT_REJECTED:
		return adv_rs_error(ECONNREFUSED);
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_CONNECT_ERROR:
		return adv_rs_error(now->err ? now->err : ECONNREFUSED);
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return adv_rs_error(ECONNRESET);
	default:
		return 0;
	}
}

/*
 * Handles an event of an established connection, or of a listener. When the connection manager
 * exits (DEVICE_REMOVAL), connections continue: their data goes from peer to peer.
 */
static void handle_open_event(struct adv_rsocket *rs, const struct cm_event *now)
{
	if (now->type == RDMA_CM_EVENT_DEVICE_REMOVAL && rs->s.state == ADV_RS_LISTENING) {
		connect_failed(rs, ENODEV);
		adv_rs_wake(rs);
	}
	if (now->type != RDMA_CM_EVENT_DISCONNECTED)
		return;
	adv_rs_progress(rs); /* receives the data that the peer sent before it disconnected */
	if (rs->s.state == ADV_RS_CONNECTED)
		adv_rs_stream_end(rs);
	adv_rs_stream_disconnect(rs);
}

/* Fetches and acknowledges the next event. False: there is none. */
static bool fetch_event(struct adv_rsocket *rs, struct cm_event *now)
{
	struct rdma_cm_event *event;

	if (rdma_get_cm_event(rs->s.events, &event))
		return false;
	*now = (struct cm_event){.type = event->event, .id = event->id};
	now->err = event->status < 0 ? -event->status : event->status;
	if (event->param.conn.private_data && (event->event == RDMA_CM_EVENT_CONNECT_REQUEST ||
					       event->event == RDMA_CM_EVENT_ESTABLISHED)) {
		now->len = event->param.conn.private_data_len;
		if (now->len > MAX_PRIVATE)
			now->len = MAX_PRIVATE;
		memcpy(now->data, event->param.conn.private_data, now->len);
	}
	now->param = event->param.conn;
	rdma_ack_cm_event(event);
	return true;
}

static void handle_events(struct adv_rsocket *rs)
{
	struct cm_event now;
	bool failed = false;

	while (!failed) {
		if (!fetch_event(rs, &now)) {
			if (errno != EAGAIN && errno != EINTR)
				adv_rs_service_unwatch(rs); /* no event will follow */
			return;
		}
		if (now.type == RDMA_CM_EVENT_CONNECT_REQUEST) {
			handle_request(rs, &now);
			continue;
		}
		pthread_mutex_lock(&rs->lock);
		if (adv_rs_state_opening(rs->s.state)) {
			if (handle_opening_event(rs, &now))
				connect_failed(rs, errno);
			if (rs->s.listener && is_settled(rs)) {
				give_to_listener(rs);
				failed = rs->s.state == ADV_RS_FAILED;
			}
			adv_rs_wake(rs);
		} else { /* this also happens while rclose() waits for the ACKs of sent data */
			handle_open_event(rs, &now);
		}
		pthread_mutex_unlock(&rs->lock);
	}
	abandon_connection(rs);
}

/* Creation */

/* A stream takes completions only while it is connected. Each change of its state wakes threads. */
static bool arm_stream(struct adv_rsocket *rs)
{
	return rs->s.state == ADV_RS_CONNECTED && ibv_req_notify_cq(rs->s.cq, 0) == 0;
}

static void destroy_stream(struct adv_rsocket *rs)
{
	adv_rs_endpoint_free(rs);
	if (rs->s.id)
		rdma_destroy_id(rs->s.id);
	if (rs->s.events) {
		if (rs->fd >= 0 && rs->fd != rs->s.events->fd)
			adv_sys_close(rs->fd);
		rdma_destroy_event_channel(rs->s.events);
	}
	if (rs->s.listener)
		adv_rs_put(rs->s.listener);
	free(rs->s.route);
}

static const struct adv_rs_ops ops = {
	.progress = adv_rs_stream_progress,
	.arm = arm_stream,
	.on_readable = handle_events,
	.destroy = destroy_stream,
};

struct adv_rsocket *adv_rs_stream_new(int domain, const struct adv_rs_options *from)
{
	struct adv_rsocket *rs = adv_rs_new(domain, SOCK_STREAM, &ops, from);

	if (!rs)
		return NULL;
	adv_list_init(&rs->s.accepted);
	adv_list_init(&rs->s.sibling);
	adv_list_init(&rs->s.mapped);
	adv_list_init(&rs->s.mapped_unsent);
	return rs;
}
