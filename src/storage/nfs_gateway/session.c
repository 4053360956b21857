/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A client of the gateway: calls from the RDMA connection to the server. */
#include "storage/nfs_gateway/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "storage/gateway/sessions.h"
#include "storage/nfs_gateway/session_internal.h"

enum {
	RECEIVES = ADV_NFS_CREDITS + 16, /* further ones: replies of the back channel */
	WORK_MAX = 1024,
};

static void connect_server(struct adv_nfs_session *s);

/* --- calls --- */

static void tcp_call_sent(struct adv_stream_out *out, bool ok)
{
}

/* Puts the whole message into the stream to the server. */
static void forward_call(struct adv_nfs_call *c)
{
	static const uint8_t zeros[4];
	struct adv_nfs_session *s = c->session;

	c->state = ADV_NFS_CALL_READY;
	if (!s->stream) {
		if (adv_list_empty(&s->reconnect.link))
			connect_server(s);
		if (!s->stream)
			return;
	}
	for (unsigned i = 0; i < c->pieces.count; i++) {
		const struct adv_rpcrdma_piece *p = &c->pieces.piece[i];
		const uint8_t *from = p->source == ADV_RPCRDMA_BODY   ? c->receive->data
				      : p->source == ADV_RPCRDMA_DATA ? c->fetched
								      : zeros;

		c->parts[i] = (struct iovec){(void *)(uintptr_t)(from + p->offset), p->length};
	}
	c->out.parts = c->parts;
	c->out.count = c->pieces.count;
	c->state = ADV_NFS_CALL_SENT;
	adv_stream_send(s->stream, &c->out, c->pieces.length);
}

/* Refuses a call whose header or chunks are wrong. */
static void refuse_call(struct adv_nfs_call *c)
{
	struct adv_rpcrdma_header h = {.xid = c->xid};

	adv_nfs_refuse(c->session, &h, ADV_RPCRDMA_ERR_CHUNK);
	adv_endpoint_repost(c->session->endpoint, c->receive);
	adv_nfs_call_free(c);
}

/* Checks that the message is a call, and forwards it. */
static void examine_call(struct adv_nfs_call *c)
{
	const struct adv_rpcrdma_piece *first = &c->pieces.piece[0];
	const uint8_t *from;

	if (c->pieces.count == 0) {
		refuse_call(c);
		return;
	}
	from = first->source == ADV_RPCRDMA_BODY ? c->receive->data : c->fetched;
	if (!adv_rpc_call_decode(from + first->offset, first->length, &c->rpc) ||
	    c->rpc.xid != c->xid)
		refuse_call(c);
	else
		forward_call(c);
}

static void call_fetched(struct adv_kit_work *w, bool ok)
{
	struct adv_nfs_call *c = adv_container_of(w, struct adv_nfs_call, work);

	adv_nfs_completed(c->session);
	free(c->wr);
	free(c->sge);
	c->wr = NULL;
	c->sge = NULL;
	if (ok)
		examine_call(c);
	else
		adv_nfs_call_free(c);
}

/* Reads the chunks of a call into its buffer. False: no memory. */
static bool fetch_chunks(struct adv_nfs_call *c, const struct adv_rpcrdma_header *h)
{
	struct adv_nfs_session *s = c->session;
	uint8_t *to = c->fetched;

	c->wr = calloc(h->read_count, sizeof(*c->wr));
	c->sge = calloc(h->read_count, sizeof(*c->sge));
	if (!c->wr || !c->sge)
		return false;
	c->work.count = 0;
	for (unsigned i = 0; i < h->read_count; i++) {
		const struct adv_rpcrdma_segment *from = &h->reads[i].segment;
		unsigned n = c->work.count;

		if (from->length == 0)
			continue;
		c->sge[n] = (struct ibv_sge){(uintptr_t)to, from->length,
					     adv_kit_buffers_lkey(s->buffers->calls.memory)};
		c->wr[n].sg_list = &c->sge[n];
		c->wr[n].num_sge = 1;
		c->wr[n].opcode = IBV_WR_RDMA_READ;
		c->wr[n].wr.rdma.remote_addr = from->offset;
		c->wr[n].wr.rdma.rkey = from->handle;
		if (n > 0)
			c->wr[n - 1].next = &c->wr[n];
		to += from->length;
		c->work.count++;
	}
	c->work.first = c->wr;
	c->work.done = call_fetched;
	c->state = ADV_NFS_CALL_FETCHING;
	adv_nfs_post(s, &c->work);
	return true;
}

/* Gets memory for the chunks of a call and fetches them. False: the call waits for memory. */
static bool get_memory(struct adv_nfs_call *c)
{
	static struct adv_rpcrdma_header h;
	struct adv_nfs_session *s = c->session;
	size_t used;

	c->fetched = adv_gateway_get(&s->buffers->calls, &s->call_turn, c->fetched_length);
	if (!c->fetched) {
		c->state = ADV_NFS_CALL_STARVED;
		return false;
	}
	adv_rpcrdma_header_decode(c->header, c->header_length, &h, &used);
	if (!fetch_chunks(c, &h))
		adv_endpoint_close(s->endpoint);
	return true;
}

/* It is the session's turn: one call gets memory. */
static bool take_call_turn(struct adv_kit_turn *t)
{
	struct adv_nfs_session *s = adv_container_of(t, struct adv_nfs_session, call_turn);
	bool got = false;

	adv_list_for_each(struct adv_nfs_call, c, &s->calls, link) {
		if (c->state != ADV_NFS_CALL_STARVED)
			continue;
		if (got) {
			adv_kit_turn_wait(&s->buffers->calls.turns, t);
			return true;
		}
		got = get_memory(c);
		if (!got)
			return false;
	}
	return true;
}

/* A client sends a call again if the reply takes too long. Its chunks are new, and the old ones may
 * not be written to any more. Returns whether the message was such a call. */
static bool take_over(struct adv_nfs_session *s, const struct adv_rpcrdma_header *h,
		      const struct adv_receive *r, size_t used)
{
	adv_list_for_each(struct adv_nfs_call, c, &s->calls, link) {
		if (c->xid != h->xid || c->state == ADV_NFS_CALL_ANSWERED)
			continue;
		if (c->state == ADV_NFS_CALL_STARVED || c->state == ADV_NFS_CALL_FETCHING) {
			/* Its read chunks are no longer valid. */
			adv_endpoint_close(s->endpoint);
			return true;
		}
		if (used > c->header_length) {
			uint8_t *header = realloc(c->header, used);

			if (!header) {
				adv_endpoint_close(s->endpoint);
				return true;
			}
			c->header = header;
		}
		memcpy(c->header, r->data, used);
		c->header_length = used;
		return true;
	}
	return false;
}

static void received_call(struct adv_nfs_session *s, struct adv_receive *r,
			  const struct adv_rpcrdma_header *h, size_t used)
{
	struct adv_rpcrdma_call plan;
	struct adv_nfs_call *c;

	if (take_over(s, h, r, used)) {
		adv_endpoint_repost(s->endpoint, r);
		return;
	}
	if (!adv_rpcrdma_call_plan(h, used, r->length - used, ADV_NFS_MESSAGE_MAX, &plan)) {
		adv_nfs_refuse(s, h, ADV_RPCRDMA_ERR_CHUNK);
		adv_endpoint_repost(s->endpoint, r);
		return;
	}
	c = s->call_count < ADV_NFS_CALLS_MAX ? calloc(1, sizeof(*c)) : NULL;
	if (c)
		c->header = malloc(used);
	if (!c || !c->header) {
		free(c);
		adv_endpoint_close(s->endpoint);
		return;
	}
	c->session = s;
	c->xid = h->xid;
	c->begun = adv_clock_ns();
	c->receive = r;
	c->header_length = used;
	memcpy(c->header, r->data, used);
	c->pieces = plan.pieces;
	c->out.done = tcp_call_sent;
	adv_list_init(&c->out.link);
	adv_list_add_tail(&s->calls, &c->link);
	s->call_count++;
	c->fetched_length = plan.fetched;
	if (plan.fetched > 0)
		get_memory(c);
	else
		examine_call(c);
}

static void rdma_call_received(void *user, struct adv_receive *r)
{
	static struct adv_rpcrdma_header h;
	struct adv_nfs_session *s = user;
	enum adv_rpc_kind kind;
	uint32_t xid;
	size_t used;

	s->received++;
	switch (adv_rpcrdma_header_decode(r->data, r->length, &h, &used)) {
	case ADV_RPCRDMA_OK:
		break;
	case ADV_RPCRDMA_TRUNCATED:
		adv_endpoint_repost(s->endpoint, r);
		return;
	case ADV_RPCRDMA_BAD_VERSION:
		adv_nfs_refuse(s, &h, ADV_RPCRDMA_ERR_VERS);
		adv_endpoint_repost(s->endpoint, r);
		return;
	case ADV_RPCRDMA_BAD_HEADER:
		adv_nfs_refuse(s, &h, ADV_RPCRDMA_ERR_CHUNK);
		adv_endpoint_repost(s->endpoint, r);
		return;
	}
	if (h.procedure == ADV_RPCRDMA_MSG &&
	    adv_rpc_kind(r->data + used, r->length - used, &xid, &kind) && kind == ADV_RPC_REPLY) {
		adv_nfs_back_to_tcp(s, r->data + used, r->length - used);
		adv_endpoint_repost(s->endpoint, r);
	} else if (h.procedure == ADV_RPCRDMA_MSG || h.procedure == ADV_RPCRDMA_NOMSG) {
		received_call(s, r, &h, used);
	} else { /* an error about a call of the back channel, or RDMA_DONE: nothing to do */
		adv_endpoint_repost(s->endpoint, r);
	}
}

/* --- the server --- */

static void tcp_server_connected(void *user)
{
	struct adv_nfs_session *s = user;

	adv_nfs_report_connected(s);
	s->wait_ms = 0;
}

/* A message of the server. One that answers no call is dropped: its call was answered before the
 * connection to the server was lost. */
static void tcp_reply_received(void *user, uint8_t *message, size_t size, size_t length)
{
	struct adv_nfs_session *s = user;
	uint8_t *whole = message - ADV_NFS_HEADER_ROOM;
	enum adv_rpc_kind kind;
	uint32_t xid;

	size += ADV_NFS_HEADER_ROOM;
	if (adv_rpc_kind(message, length, &xid, &kind)) {
		if (kind == ADV_RPC_CALL) {
			adv_nfs_back_to_rdma(s, whole, size, length, xid);
			return;
		}
		adv_list_for_each(struct adv_nfs_call, c, &s->calls, link) {
			if (c->xid != xid || c->state != ADV_NFS_CALL_SENT ||
			    !adv_list_empty(&c->out.link))
				continue;
			adv_nfs_reply(c, whole, size, length);
			return;
		}
	}
	adv_gateway_put(&s->buffers->replies, whole, size);
}

static void close_stream(struct adv_nfs_session *s)
{
	if (!s->stream)
		return;
	adv_stream_close(s->stream);
	s->stream = NULL;
	adv_kit_turn_end(&s->stream_turn);
	adv_gateway_serve_turns(s->buffers);
	adv_nfs_back_reset(s);
}

static void nfs_server_lost(void *user, int err)
{
	struct adv_nfs_session *s = user;
	bool unanswered = false;

	close_stream(s);
	if (err == EMSGSIZE) { /* sending the call again would bring the same reply */
		adv_gateway_report(&s->gateway->log, ADV_LOG_WARN,
				   "%s: a reply of %s is longer than %u bytes", s->peer,
				   s->gateway->server_name, ADV_NFS_MESSAGE_MAX);
		adv_endpoint_close(s->endpoint);
		return;
	}
	adv_list_for_each(struct adv_nfs_call, c, &s->calls, link) {
		if (c->state == ADV_NFS_CALL_SENT)
			c->state = ADV_NFS_CALL_READY;
		unanswered |= c->state == ADV_NFS_CALL_READY;
	}
	/* A server closes idle connections; the next call connects again. */
	if (!unanswered)
		return;
	if (!s->reported)
		adv_gateway_report(&s->gateway->log, ADV_LOG_WARN,
				   "%s: the connection to %s is lost: %s", s->peer,
				   s->gateway->server_name,
				   err ? strerror(err) : "closed by the server");
	adv_nfs_retry_later(s);
}

static const struct adv_stream_ops stream_ops = {tcp_server_connected, adv_nfs_record_buffer,
						 tcp_reply_received,   adv_nfs_record_dropped,
						 nfs_server_lost,      ADV_STREAM_RPC};

static void connect_server(struct adv_nfs_session *s)
{
	s->stream = adv_stream_connect(s->gateway->loop, (struct sockaddr *)&s->gateway->server,
				       true, ADV_NFS_MESSAGE_MAX, &stream_ops, s);
	if (!s->stream)
		nfs_server_lost(s, errno);
}

static void reconnect_tcp_server(struct adv_kit_timer *t)
{
	struct adv_nfs_session *s = adv_container_of(t, struct adv_nfs_session, reconnect);

	connect_server(s);
	if (!s->stream)
		return;
	adv_list_for_each(struct adv_nfs_call, c, &s->calls, link) {
		if (c->state == ADV_NFS_CALL_READY)
			forward_call(c);
	}
}

/* --- the beginning and the end --- */

static void nfs_client_closed(void *user)
{
	struct adv_nfs_session *s = user;

	close_stream(s);
	adv_kit_turn_end(&s->call_turn);
	adv_gateway_serve_turns(s->buffers);
	adv_nfs_progress_stop(s);
	while (!adv_list_empty(&s->calls))
		adv_nfs_call_free(adv_container_of(s->calls.next, struct adv_nfs_call, link));
	adv_nfs_session_free(s);
}

bool adv_nfs_session_accept(struct adv_gateway *g, struct adv_kit_device *d, struct rdma_cm_id *id,
			    const struct rdma_conn_param *param)
{
	struct adv_nfs_session *s;
	struct adv_rpcrdma_private_data theirs, ours = {false, ADV_NFS_INLINE, ADV_NFS_INLINE};
	uint8_t data[ADV_RPCRDMA_PRIVATE_LEN];
	struct adv_endpoint_config config = {
		.receives = RECEIVES,
		.receive_size = ADV_NFS_INLINE,
		.work_max = WORK_MAX,
		.private_data = data,
		.private_data_length = sizeof(data),
		.received = rdma_call_received,
		.closed = nfs_client_closed,
	};

	s = config.user = adv_nfs_session_new(g, false, take_call_turn, reconnect_tcp_server);
	if (!s)
		return false;
	s->buffers = d->user;
	adv_rpcrdma_private_data_decode(param->private_data, param->private_data_len, &theirs);
	s->invalidation = theirs.remote_invalidation;
	s->threshold = adv_nfs_threshold(theirs.receive_size);
	adv_rpcrdma_private_data_encode(&ours, data);
	adv_gateway_name_id(s->peer, sizeof(s->peer), id);
	if (!adv_endpoint_accept(g->loop, d, id, param, &config, &s->endpoint)) {
		free(s);
		return false;
	}
	s->client = adv_gateway_sessions_add(g, &s->link, s->peer);
	adv_nfs_progress_start(s);
	return true;
}

void adv_nfs_close_all(struct adv_gateway *g)
{
	adv_list_for_each(struct adv_nfs_session, s, &g->sessions, link)
		adv_endpoint_close(s->endpoint);
}
