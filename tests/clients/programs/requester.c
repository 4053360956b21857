/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "requester.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/rpcrdma/private_data.h"
#include "base/bytes.h"

enum { RPC_VERSION = 2, NFS_PROGRAM = 100003, NFS_VERSION = 3, PAGE = 4096, PATIENCE_MS = 60000 };

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void *memory_of(size_t length)
{
	void *p = aligned_alloc(PAGE, length);

	if (!p)
		die("memory");
	memset(p, 0, length);
	return p;
}

static void post_receive(struct requester *r, uint8_t *at)
{
	if (rdma_post_recv(r->id, at, at, REQUESTER_INLINE, r->receive_mr) != 0)
		die("rdma_post_recv");
}

static bool connect_with(struct requester *r, const char *host, const char *port, unsigned receives,
			 struct rdma_conn_param *param)
{
	struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_TCP}, *found;
	struct ibv_qp_init_attr init = {
		.cap = {.max_send_wr = 512,
			.max_recv_wr = REQUESTER_RECEIVES,
			.max_send_sge = 1,
			.max_recv_sge = 1},
		.sq_sig_all = 1,
		.qp_type = IBV_QPT_RC,
	};

	memset(r, 0, sizeof(*r));
	if (rdma_getaddrinfo(host, port, &hints, &found) != 0 ||
	    rdma_create_ep(&r->id, found, NULL, &init) != 0)
		die("rdma_create_ep");
	rdma_freeaddrinfo(found);
	r->memory = memory_of(REQUESTER_MEMORY);
	r->receives = memory_of((REQUESTER_RECEIVES + 1) * (size_t)REQUESTER_INLINE);
	r->send = r->receives + REQUESTER_RECEIVES * (size_t)REQUESTER_INLINE;
	r->mr = ibv_reg_mr(r->id->pd, r->memory, REQUESTER_MEMORY,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
				   IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_MW_BIND);
	r->receive_mr = rdma_reg_msgs(r->id, r->receives,
				      (REQUESTER_RECEIVES + 1) * (size_t)REQUESTER_INLINE);
	if (!r->mr || !r->receive_mr)
		die("memory registration");
	for (unsigned i = 0; i < receives; i++)
		post_receive(r, r->receives + i * (size_t)REQUESTER_INLINE);
	if (rdma_connect(r->id, param) == 0)
		return true;
	requester_close(r);
	return false;
}

static const struct rdma_conn_param parameters = {
	.responder_resources = 16, .retry_count = 7, .rnr_retry_count = 7};

bool requester_connect(struct requester *r, const char *host, const char *port, unsigned receives)
{
	struct rdma_conn_param param = parameters;

	return connect_with(r, host, port, receives, &param);
}

bool requester_connect_invalidating(struct requester *r, const char *host, const char *port)
{
	const struct adv_rpcrdma_private_data p = {true, REQUESTER_INLINE, REQUESTER_INLINE};
	struct rdma_conn_param param = parameters;
	uint8_t data[ADV_RPCRDMA_PRIVATE_LEN];

	adv_rpcrdma_private_data_encode(&p, data);
	param.private_data = data;
	param.private_data_len = sizeof(data);
	return connect_with(r, host, port, REQUESTER_RECEIVES, &param);
}

void requester_close(struct requester *r)
{
	rdma_disconnect(r->id);
	if (r->mw)
		ibv_dealloc_mw(r->mw);
	ibv_dereg_mr(r->mr);
	ibv_dereg_mr(r->receive_mr);
	rdma_destroy_ep(r->id);
	free(r->memory);
	free(r->receives);
}

/* --- calls --- */

void request_word(struct request *q, uint32_t value)
{
	adv_put_be32(q->body + q->length, value);
	q->length += 4;
}

void request_opaque(struct request *q, const void *data, uint32_t length)
{
	uint32_t rounded = (length + 3) & ~3u;

	request_word(q, length);
	if (q->length + rounded > sizeof(q->body)) {
		fprintf(stderr, "a call is too long for its test\n");
		exit(1);
	}
	memset(q->body + q->length, 0, rounded);
	if (length)
		memcpy(q->body + q->length, data, length);
	q->length += rounded;
}

void request_handle(struct request *q, const char *handle)
{
	request_opaque(q, handle, (uint32_t)strlen(handle));
}

void request_start(struct requester *r, struct request *q, uint32_t procedure)
{
	memset(&q->header, 0, sizeof(q->header));
	q->header.xid = ++r->xid;
	q->header.version = ADV_RPCRDMA_VERSION;
	q->header.credits = REQUESTER_RECEIVES;
	q->header.procedure = ADV_RPCRDMA_MSG;
	q->length = 0;
	r->used = 0;
	request_word(q, r->xid);
	request_word(q, 0); /* a call */
	request_word(q, RPC_VERSION);
	request_word(q, NFS_PROGRAM);
	request_word(q, NFS_VERSION);
	request_word(q, procedure);
	for (int i = 0; i < 4; i++) /* no credentials, no verifier */
		request_word(q, 0);
}

/* --- chunks --- */

uint8_t *request_segment(struct requester *r, uint32_t length, struct adv_rpcrdma_segment *out)
{
	uint8_t *at = r->memory + r->used;

	if (length > REQUESTER_MEMORY - r->used) {
		fprintf(stderr, "the chunks are too long for the test\n");
		exit(1);
	}
	*out = (struct adv_rpcrdma_segment){r->mr->rkey, length, (uintptr_t)at};
	r->used += length;
	return at;
}

/* Returns the length of segment i of n: the last one has what is left. */
static uint32_t part_of(uint32_t length, unsigned i, unsigned n)
{
	uint32_t part = length / n;

	return i == n - 1 ? length - part * (n - 1) : part;
}

void request_read_chunk(struct requester *r, struct request *q, uint32_t position,
			const uint8_t *data, uint32_t length, unsigned segments)
{
	for (unsigned i = 0; i < segments; i++) {
		struct adv_rpcrdma_read *read = &q->header.reads[q->header.read_count++];
		uint32_t part = part_of(length, i, segments);

		read->position = position;
		memcpy(request_segment(r, part, &read->segment), data, part);
		data += part;
	}
}

static uint8_t *fill_chunk(struct requester *r, struct request *q, struct adv_rpcrdma_chunk *chunk,
			   uint32_t length, unsigned segments)
{
	uint8_t *first = r->memory + r->used;

	*chunk = (struct adv_rpcrdma_chunk){q->header.segment_count, segments};
	for (unsigned i = 0; i < segments; i++)
		request_segment(r, part_of(length, i, segments),
				&q->header.segments[q->header.segment_count++]);
	return first;
}

uint8_t *request_write_chunk(struct requester *r, struct request *q, uint32_t length,
			     unsigned segments)
{
	return fill_chunk(r, q, &q->header.writes[q->header.write_count++], length, segments);
}

uint8_t *request_reply_chunk(struct requester *r, struct request *q, uint32_t length,
			     unsigned segments)
{
	q->header.has_reply = true;
	return fill_chunk(r, q, &q->header.reply, length, segments);
}

void request_make_long(struct requester *r, struct request *q, unsigned segments)
{
	struct adv_rpcrdma_read rest[ADV_RPCRDMA_READS_MAX];
	unsigned count = q->header.read_count;

	/* The chunk at position zero is the first one. */
	memcpy(rest, q->header.reads, sizeof(rest));
	q->header.read_count = 0;
	request_read_chunk(r, q, 0, q->body, (uint32_t)q->length, segments);
	memcpy(q->header.reads + q->header.read_count, rest, count * sizeof(rest[0]));
	q->header.read_count += count;
	q->header.procedure = ADV_RPCRDMA_NOMSG;
	q->length = 0;
}

/* --- messages --- */

/* Waits for an event of the connection or a completion. False: the connection has ended. */
static bool await_event(struct requester *r, struct ibv_comp_channel *channel)
{
	struct pollfd fds[] = {{.fd = channel->fd, .events = POLLIN},
			       {.fd = r->id->channel->fd, .events = POLLIN}};
	struct rdma_cm_event *event;
	struct ibv_cq *cq;
	void *context;

	if (poll(fds, 2, PATIENCE_MS) <= 0) {
		fprintf(stderr, "neither a completion nor an end of the connection\n");
		exit(1);
	}
	if (fds[0].revents && ibv_get_cq_event(channel, &cq, &context) == 0)
		ibv_ack_cq_events(cq, 1);
	else if (fds[1].revents && rdma_get_cm_event(r->id->channel, &event) == 0)
		return rdma_ack_cm_event(event), false;
	return true;
}

static bool await_completion(struct requester *r, struct ibv_cq *cq,
			     struct ibv_comp_channel *channel, struct ibv_wc *wc)
{
	for (;;) {
		/* Whatever completes after the second poll causes an event. */
		for (int i = 0; i < 2; i++) {
			if (ibv_poll_cq(cq, 1, wc) == 1)
				return wc->status == IBV_WC_SUCCESS;
			if (i == 0 && ibv_req_notify_cq(cq, 0) != 0)
				die("ibv_req_notify_cq");
		}
		if (!await_event(r, channel))
			return false;
	}
}

uint32_t requester_bind(struct requester *r)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED}, *bad;
	struct ibv_wc wc;

	if (!r->mw)
		r->mw = ibv_alloc_mw(r->id->pd, IBV_MW_TYPE_2);
	if (!r->mw)
		die("ibv_alloc_mw");
	wr.bind_mw.mw = r->mw;
	wr.bind_mw.rkey = ibv_inc_rkey(r->mw->rkey);
	wr.bind_mw.bind_info = (struct ibv_mw_bind_info){
		.mr = r->mr,
		.addr = (uintptr_t)r->memory,
		.length = REQUESTER_MEMORY,
		.mw_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
	};
	if (ibv_post_send(r->id->qp, &wr, &bad) != 0 ||
	    !await_completion(r, r->id->send_cq, r->id->send_cq_channel, &wc))
		die("the window was not bound");
	r->mw->rkey = wr.bind_mw.rkey;
	return r->mw->rkey;
}

bool requester_send(struct requester *r, const uint8_t *message, size_t length)
{
	struct ibv_wc wc;

	memcpy(r->send, message, length);
	return rdma_post_send(r->id, NULL, r->send, length, r->receive_mr, 0) == 0 &&
	       await_completion(r, r->id->send_cq, r->id->send_cq_channel, &wc);
}

bool request_send(struct requester *r, struct request *q)
{
	uint8_t message[2 * REQUESTER_INLINE];
	size_t used = adv_rpcrdma_header_encode(&q->header, message, REQUESTER_INLINE);

	if (used == 0 || used + q->length > REQUESTER_INLINE) {
		fprintf(stderr, "a call is too long for its test\n");
		exit(1);
	}
	memcpy(message + used, q->body, q->length);
	return requester_send(r, message, used + q->length);
}

bool reply_await(struct requester *r, struct reply *reply)
{
	struct ibv_wc wc;
	uint8_t *at;
	size_t used;

	if (!await_completion(r, r->id->recv_cq, r->id->recv_cq_channel, &wc))
		return false;
	at = (uint8_t *)(uintptr_t)wc.wr_id;
	r->invalidated = wc.wc_flags & IBV_WC_WITH_INV ? wc.invalidated_rkey : 0;
	if (adv_rpcrdma_header_decode(at, wc.byte_len, &reply->header, &used) != ADV_RPCRDMA_OK) {
		fprintf(stderr, "the header of a reply is wrong\n");
		exit(1);
	}
	reply->length = wc.byte_len - used;
	memcpy(reply->message, at + used, reply->length);
	post_receive(r, at);
	return true;
}

uint32_t reply_chunk_length(const struct reply *reply, const struct adv_rpcrdma_chunk *chunk)
{
	return (uint32_t)adv_rpcrdma_chunk_length(&reply->header, chunk);
}
