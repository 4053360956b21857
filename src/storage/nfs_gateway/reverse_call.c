/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Calls of a client over TCP on their way to the server, and the server's replies. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "storage/nfs_gateway/reverse_internal.h"
#include "storage/rpcrdma/request.h"

enum {
	/* Most bytes of a reply besides what the arguments ask for. Version 3 has results of a few
	 * hundred bytes; some of version 4 and of NFSACL have access control lists. */
	RPC_HEAD = 24 + 400, /* with the longest verifier */
	REST_NFS3 = 1024,
	REST_OTHERS = 65536,
};

/* --- the end of a call --- */

static void deregister_region(struct ibv_mr **mr)
{
	if (*mr)
		ibv_dereg_mr(*mr);
	*mr = NULL;
}

/* Takes the memory of the reply, and the right to read the call, away from the server. */
static void revoke_access(struct adv_nfs_reverse_call *c)
{
	deregister_region(&c->call_mr);
	deregister_region(&c->reply_mr);
}

static void put_reply(struct adv_nfs_reverse_call *c)
{
	if (c->reply)
		adv_gateway_put(&c->session->buffers->replies, c->reply, c->reply_size);
	c->reply = NULL;
}

void adv_nfs_reverse_unblock(struct adv_nfs_session *s)
{
	if (s->blocked && s->stream)
		adv_stream_resume(s->stream);
}

static void free_call(struct adv_nfs_reverse_call *c)
{
	struct adv_nfs_session *s = c->session;

	revoke_access(c);
	put_reply(c);
	adv_list_del(&c->link);
	s->call_count--;
	adv_gateway_put(&s->buffers->calls, c->buffer, c->size);
	free(c);
	adv_nfs_reverse_unblock(s);
}

static void free_if_done(struct adv_nfs_reverse_call *c)
{
	if (c->answered && !c->sending && !c->replying)
		free_call(c);
}

/* Marks a call as answered. */
static void mark_answered(struct adv_nfs_reverse_call *c)
{
	revoke_access(c);
	if (c->in_flight)
		c->session->in_flight--;
	c->in_flight = false;
	c->answered = true;
}

static void tcp_reply_sent(struct adv_stream_out *out, bool ok)
{
	struct adv_nfs_reverse_call *c = adv_container_of(out, struct adv_nfs_reverse_call, out);

	c->replying = false;
	free_if_done(c);
}

/* Sends the first `count` parts to the client. */
static void send_reply(struct adv_nfs_reverse_call *c, unsigned count, size_t length)
{
	if (!c->session->stream) {
		free_if_done(c);
		return;
	}
	c->replying = true;
	c->out = (struct adv_stream_out){.parts = c->parts, .count = count, .done = tcp_reply_sent};
	adv_list_init(&c->out.link);
	adv_stream_send(c->session->stream, &c->out, length);
}

/* Answers a call that cannot be carried out over RDMA. */
static void fail_call(struct adv_nfs_reverse_call *c)
{
	c->session->client->counts.errors++;
	mark_answered(c);
	adv_rpc_failed_encode(c->rpc.xid, c->failed);
	c->parts[0] = (struct iovec){c->failed, sizeof(c->failed)};
	send_reply(c, 1, sizeof(c->failed));
}

/* --- to the server --- */

static void rdma_call_sent(struct adv_kit_work *w, bool ok)
{
	struct adv_nfs_reverse_call *c = adv_container_of(w, struct adv_nfs_reverse_call, work);

	c->sending = false;
	free_if_done(c);
}

static uint64_t rest_of(const struct adv_rpc_call *rpc, const struct adv_nfs_arguments *arguments)
{
	if (rpc->opaque) /* nothing of its arguments is known */
		return ADV_NFS_MESSAGE_MAX;
	if (rpc->program == ADV_NFS_PROGRAM && rpc->version == 3)
		return REST_NFS3;
	/* A reply chunk beside a write chunk makes the server of Linux 6.1 end the connection if
	 * the data's length is no multiple of four. So a call gets none if its reply is known to
	 * fit without. */
	return arguments->fixed_size ? RPC_HEAD + arguments->fixed_size : REST_OTHERS;
}

static bool plan_call(const struct adv_nfs_reverse_call *c, struct adv_rpcrdma_request *plan)
{
	struct adv_nfs_session *s = c->session;
	struct adv_nfs_arguments arguments;
	struct adv_rpcrdma_message m = {
		.length = c->length,
		.items = arguments.items,
		.results = arguments.results,
		.send_threshold = s->threshold,
		.receive_threshold = s->receive_threshold,
		.reply_max = ADV_NFS_MESSAGE_MAX,
	};

	adv_nfs_scan_call(&c->rpc, c->buffer + ADV_NFS_HEADER_ROOM, c->length, &arguments);
	m.item_count = arguments.item_count;
	m.result_count = arguments.result_count;
	m.rest = rest_of(&c->rpc, &arguments) + arguments.reply_size;
	return adv_rpcrdma_request_plan(&m, plan);
}

/* Permits the server to read the call and to write the reply, as far as the plan needs it. */
static bool grant_access(struct adv_nfs_reverse_call *c, struct adv_rpcrdma_request *plan)
{
	struct ibv_pd *pd = c->session->device->pd;
	uint8_t *call = c->buffer + ADV_NFS_HEADER_ROOM;
	uint8_t *reply = c->reply + ADV_NFS_HEADER_ROOM;
	struct adv_rpcrdma_header *h = &plan->header;

	if (h->read_count > 0)
		c->call_mr = ibv_reg_mr(pd, call, c->length, IBV_ACCESS_REMOTE_READ);
	if (plan->reply_bytes > 0)
		c->reply_mr = ibv_reg_mr(pd, reply, plan->reply_bytes,
					 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	if ((h->read_count > 0 && !c->call_mr) || (plan->reply_bytes > 0 && !c->reply_mr))
		return false;
	for (unsigned i = 0; i < h->read_count; i++) {
		h->reads[i].segment.handle = c->call_mr->rkey;
		h->reads[i].segment.offset += (uintptr_t)call;
	}
	for (unsigned i = 0; i < h->segment_count; i++) {
		h->segments[i].handle = c->reply_mr->rkey;
		h->segments[i].offset += (uintptr_t)reply;
	}
	return true;
}

static void post_call(struct adv_nfs_reverse_call *c, struct adv_rpcrdma_request *plan)
{
	struct adv_nfs_session *s = c->session;
	const uint8_t *message = c->buffer + ADV_NFS_HEADER_ROOM;
	size_t at;

	plan->header.xid = c->rpc.xid;
	plan->header.credits = ADV_NFS_CREDITS;
	at = adv_rpcrdma_header_encode(&plan->header, c->buffer, ADV_NFS_HEADER_ROOM);
	for (unsigned i = 0; i < plan->inlined.count; i++) {
		const struct adv_rpcrdma_piece *p = &plan->inlined.piece[i];

		memcpy(c->buffer + at, message + p->offset, p->length);
		at += p->length;
	}
	c->sge = (struct ibv_sge){(uintptr_t)c->buffer, (uint32_t)at,
				  adv_kit_buffers_lkey(s->buffers->calls.memory)};
	c->wr = (struct ibv_send_wr){.sg_list = &c->sge, .num_sge = 1, .opcode = IBV_WR_SEND};
	c->work = (struct adv_kit_work){.first = &c->wr, .count = 1, .done = rdma_call_sent};
	c->sending = true;
	c->in_flight = true;
	s->in_flight++;
	adv_endpoint_post(s->endpoint, &c->work);
}

/* Sends a call. False: it waits for memory for its reply. */
static bool send_call(struct adv_nfs_reverse_call *c)
{
	static struct adv_rpcrdma_request plan;
	struct adv_nfs_session *s = c->session;

	if (!plan_call(c, &plan)) {
		fail_call(c);
		return true;
	}
	c->reply_size = ADV_NFS_HEADER_ROOM + plan.reply_bytes;
	c->reply = adv_gateway_get(&s->buffers->replies, &s->call_turn, c->reply_size);
	if (!c->reply)
		return false;
	if (grant_access(c, &plan))
		post_call(c, &plan);
	else
		fail_call(c);
	return true;
}

/* Returns the first call that may be sent, or NULL. */
static struct adv_nfs_reverse_call *next_call(struct adv_nfs_session *s)
{
	if (!s->connected || s->in_flight >= s->credits)
		return NULL;
	adv_list_for_each(struct adv_nfs_reverse_call, c, &s->calls, link) {
		if (!c->in_flight && !c->answered)
			return c;
	}
	return NULL;
}

void adv_nfs_reverse_send_calls(struct adv_nfs_session *s)
{
	struct adv_nfs_reverse_call *c;

	do
		c = next_call(s);
	while (c && send_call(c));
}

bool adv_nfs_reverse_take_reply_turn(struct adv_kit_turn *t)
{
	struct adv_nfs_session *s = adv_container_of(t, struct adv_nfs_session, call_turn);
	struct adv_nfs_reverse_call *c = next_call(s);

	if (c && !send_call(c))
		return false;
	if (next_call(s))
		adv_kit_turn_wait(&s->buffers->replies.turns, t);
	return true;
}

bool adv_nfs_reverse_add_call(struct adv_nfs_session *s, uint8_t *buffer, size_t size,
			      size_t length)
{
	struct adv_nfs_reverse_call *c = calloc(1, sizeof(*c));

	if (!c || !adv_rpc_call_decode(buffer + ADV_NFS_HEADER_ROOM, length, &c->rpc)) {
		adv_gateway_put(&s->buffers->calls, buffer, size);
		free(c);
		return false;
	}
	c->session = s;
	c->begun = adv_clock_ns();
	c->buffer = buffer;
	c->size = size;
	c->length = length;
	adv_list_add_tail(&s->calls, &c->link);
	s->call_count++;
	return true;
}

/* --- from the server --- */

/* Puts the data of the write chunks into a reduced reply. False: they do not fit together. */
static bool merge_written_data(struct adv_nfs_reverse_call *c,
			       const struct adv_rpcrdma_header *call,
			       const struct adv_rpcrdma_header *h, const bool *reduced,
			       const uint8_t *body, size_t length, struct adv_rpcrdma_pieces *out)
{
	struct adv_rpcrdma_item items[ADV_RPCRDMA_ITEMS_MAX], merged[ADV_RPCRDMA_ITEMS_MAX];
	size_t places[ADV_RPCRDMA_ITEMS_MAX];
	unsigned count = 0, next = 0;
	int found = adv_nfs_scan_reduced_reply(&c->rpc, body, length, reduced, call->write_count,
					       items);

	for (unsigned i = 0; i < call->write_count; i++) {
		if (!reduced[i])
			continue;
		if ((int)i >= found || items[i].length == 0 ||
		    items[i].length > adv_rpcrdma_chunk_length(h, &h->writes[i]))
			return false;
		merged[count] = items[i];
		/* A chunk with data has one segment, as the call offered it. */
		places[count++] = (size_t)(call->segments[call->writes[i].first].offset -
					   (uintptr_t)c->reply);
	}
	if (!adv_rpcrdma_merge(0, length, 0, merged, count, out))
		return false;
	for (unsigned i = 0; i < out->count; i++) {
		if (out->piece[i].source == ADV_RPCRDMA_DATA)
			out->piece[i].offset = places[next++];
	}
	return true;
}

/* Counts a call to which the server has replied. */
static void count_reply(const struct adv_nfs_reverse_call *c, const uint8_t *head,
			size_t head_length, size_t length)
{
	struct adv_gateway_counts *counts = &c->session->client->counts;
	size_t body;

	adv_gateway_count_answer(counts, c->begun, adv_clock_ns(),
				 !adv_rpc_reply_results(head, head_length, &body));
	counts->call_bytes += c->length;
	counts->reply_bytes += length;
}

/* Sends a reply to the client. False: it is wrong. */
static bool pass_reply(struct adv_nfs_reverse_call *c, const struct adv_rpcrdma_header *h,
		       const uint8_t *body, size_t length)
{
	static const uint8_t zeros[4];
	static struct adv_rpcrdma_header call;
	struct adv_rpcrdma_pieces pieces;
	bool reduced[ADV_RPCRDMA_WRITES_MAX] = {0};
	enum adv_rpc_kind kind;
	uint32_t xid;
	size_t used;

	/* The call's header is where it was sent from. */
	adv_rpcrdma_header_decode(c->buffer, ADV_NFS_HEADER_ROOM, &call, &used);
	if (h->procedure == ADV_RPCRDMA_ERROR || !adv_rpcrdma_reply_check(&call, h, reduced))
		return false;
	if (h->procedure == ADV_RPCRDMA_NOMSG) {
		length = (size_t)adv_rpcrdma_chunk_length(h, &h->reply);
		body = call.reply.count
			       ? (uint8_t *)(uintptr_t)call.segments[call.reply.first].offset
			       : c->reply;
	} else {
		/* The receive is posted again before the reply has been sent. */
		body = memcpy(c->reply, body, length);
	}
	if (!adv_rpc_kind(body, length, &xid, &kind) || xid != c->rpc.xid ||
	    kind != ADV_RPC_REPLY ||
	    !merge_written_data(c, &call, h, reduced, body, length, &pieces))
		return false;
	for (unsigned i = 0; i < pieces.count; i++) {
		const struct adv_rpcrdma_piece *p = &pieces.piece[i];
		const uint8_t *from = p->source == ADV_RPCRDMA_BODY   ? body
				      : p->source == ADV_RPCRDMA_DATA ? c->reply
								      : zeros;

		c->parts[i] = (struct iovec){(void *)(uintptr_t)(from + p->offset), p->length};
	}
	count_reply(c, body, length, pieces.length);
	send_reply(c, pieces.count, pieces.length);
	return true;
}

void adv_nfs_reverse_reply(struct adv_nfs_session *s, const struct adv_rpcrdma_header *h,
			   const uint8_t *body, size_t length)
{
	adv_list_for_each(struct adv_nfs_reverse_call, c, &s->calls, link) {
		if (c->rpc.xid != h->xid || !c->in_flight)
			continue;
		s->credits = h->credits > ADV_NFS_CREDITS ? ADV_NFS_CREDITS : h->credits;
		if (s->credits == 0)
			s->credits = 1;
		mark_answered(c);
		if (!pass_reply(c, h, body, length))
			fail_call(c);
		adv_nfs_reverse_send_calls(s);
		return;
	}
}

/* --- the ends of the connections --- */

void adv_nfs_reverse_take_back(struct adv_nfs_session *s)
{
	adv_list_for_each(struct adv_nfs_reverse_call, c, &s->calls, link) {
		if (!c->in_flight)
			continue;
		revoke_access(c);
		put_reply(c);
		c->in_flight = false;
	}
	s->in_flight = 0;
}

bool adv_nfs_reverse_has_calls(const struct adv_nfs_session *s)
{
	adv_list_for_each(struct adv_nfs_reverse_call, c, &s->calls, link) {
		if (!c->answered)
			return true;
	}
	return false;
}

void adv_nfs_reverse_free_calls(struct adv_nfs_session *s)
{
	while (!adv_list_empty(&s->calls))
		free_call(adv_container_of(s->calls.next, struct adv_nfs_reverse_call, link));
}
