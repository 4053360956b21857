/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The back channel of NFS version 4.1: calls of the server to the client, on the connection of the
 * client (RFC 8167). They and their replies are sent inline.
 */
#include <stdlib.h>
#include <string.h>

#include "storage/nfs_gateway/session_internal.h"

enum { WAITING_MAX = 32, HEADER_LEN = 28 };

struct adv_nfs_back_call {
	struct adv_list link; /* session->back_calls, while it waits */
	struct adv_nfs_session *session;
	struct adv_kit_work work;
	struct ibv_sge sge;
	struct ibv_send_wr wr;
	uint8_t *buffer;
	size_t size;
};

/* A reply of the client on its way to the server. */
struct back_reply {
	struct adv_stream_out out;
	struct iovec part;
	uint8_t message[];
};

static void free_call(struct adv_nfs_back_call *b)
{
	adv_gateway_put_reply(b->session->buffers, b->buffer, b->size);
	free(b);
}

static void back_call_sent(struct adv_kit_work *w, bool ok)
{
	struct adv_nfs_back_call *b = adv_container_of(w, struct adv_nfs_back_call, work);

	adv_nfs_completed(b->session);
	free_call(b);
}

static void post_waiting(struct adv_nfs_session *s)
{
	while (s->back_count < ADV_NFS_BACK_CALLS && !adv_list_empty(&s->back_calls)) {
		struct adv_nfs_back_call *b =
			adv_container_of(s->back_calls.next, struct adv_nfs_back_call, link);

		adv_list_del(&b->link);
		s->back_waiting--;
		s->back_count++;
		adv_nfs_post(s, &b->work);
	}
}

void adv_nfs_back_call(struct adv_nfs_session *s, uint8_t *buffer, size_t size, size_t length)
{
	struct adv_nfs_back_call *b = NULL;
	struct adv_rpcrdma_header *h = NULL;
	uint8_t *start = buffer + ADV_NFS_HEADER_ROOM - HEADER_LEN;

	if (length + HEADER_LEN <= s->threshold && s->back_waiting < WAITING_MAX) {
		b = calloc(1, sizeof(*b));
		h = calloc(1, sizeof(*h));
	}
	/* The server takes a call without a reply for a lost one. */
	if (!b || !h) {
		free(b);
		free(h);
		adv_gateway_put_reply(s->buffers, buffer, size);
		return;
	}
	adv_rpc_kind(buffer + ADV_NFS_HEADER_ROOM, length, &h->xid,
		     &(enum adv_rpc_kind){ADV_RPC_CALL});
	h->version = ADV_RPCRDMA_VERSION;
	h->credits = ADV_NFS_BACK_CALLS;
	h->procedure = ADV_RPCRDMA_MSG;
	adv_rpcrdma_header_encode(h, start, HEADER_LEN);
	free(h);
	b->session = s;
	b->buffer = buffer;
	b->size = size;
	b->sge = (struct ibv_sge){(uintptr_t)start, (uint32_t)(length + HEADER_LEN),
				  adv_kit_buffers_lkey(s->buffers->replies)};
	b->wr = (struct ibv_send_wr){.sg_list = &b->sge, .num_sge = 1, .opcode = IBV_WR_SEND};
	b->work = (struct adv_kit_work){.first = &b->wr, .count = 1, .done = back_call_sent};
	adv_list_add_tail(&s->back_calls, &b->link);
	s->back_waiting++;
	post_waiting(s);
}

static void back_reply_sent(struct adv_stream_out *out, bool ok)
{
	free(adv_container_of(out, struct back_reply, out));
}

void adv_nfs_back_reply(struct adv_nfs_session *s, const struct adv_receive *r, size_t offset)
{
	size_t length = r->length - offset;
	struct back_reply *b;

	/* A reply to a call from before the connection to the server was lost has no receiver. */
	if (s->back_count == 0)
		return;
	s->back_count--;
	b = s->stream ? malloc(sizeof(*b) + length) : NULL;
	if (b) {
		memcpy(b->message, r->data + offset, length);
		b->part = (struct iovec){b->message, length};
		b->out = (struct adv_stream_out){
			.parts = &b->part, .count = 1, .done = back_reply_sent};
		adv_stream_send(s->stream, &b->out, length);
	}
	post_waiting(s);
}

void adv_nfs_back_reset(struct adv_nfs_session *s)
{
	while (!adv_list_empty(&s->back_calls)) {
		struct adv_nfs_back_call *b =
			adv_container_of(s->back_calls.next, struct adv_nfs_back_call, link);

		adv_list_del(&b->link);
		free_call(b);
	}
	s->back_waiting = 0;
	s->back_count = 0;
}
