/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The back channel of NFS 4.1 in the other direction: calls of a server over RDMA to a client over
 * TCP, and the replies of the client (RFC 8167). They are sent inline. */
#include <stdlib.h>
#include <string.h>

#include "storage/nfs_gateway/reverse_internal.h"

enum { MESSAGES_MAX = 32, HEADER_LEN = 28 };

/* A call on its way to the client. */
struct back_call {
	struct adv_stream_out out;
	struct adv_nfs_reverse_session *session;
	struct iovec part;
	uint8_t message[];
};

/* A reply on its way to the server. */
struct back_reply {
	struct adv_kit_work work;
	struct adv_nfs_reverse_session *session;
	struct ibv_sge sge;
	struct ibv_send_wr wr;
	uint8_t *buffer;
	size_t size;
};

static void reverse_back_call_sent(struct adv_stream_out *out, bool ok)
{
	struct back_call *b = adv_container_of(out, struct back_call, out);

	b->session->back_count--;
	free(b);
}

void adv_nfs_reverse_back_call(struct adv_nfs_reverse_session *s, const uint8_t *call,
			       size_t length)
{
	struct back_call *b = NULL;

	/* The server takes a call without a reply for a lost one. */
	if (s->stream && s->back_count < MESSAGES_MAX)
		b = malloc(sizeof(*b) + length);
	if (!b)
		return;
	memcpy(b->message, call, length);
	b->session = s;
	b->part = (struct iovec){b->message, length};
	b->out = (struct adv_stream_out){
		.parts = &b->part, .count = 1, .done = reverse_back_call_sent};
	s->back_count++;
	adv_stream_send(s->stream, &b->out, length);
}

static void reverse_back_reply_sent(struct adv_kit_work *w, bool ok)
{
	struct back_reply *b = adv_container_of(w, struct back_reply, work);

	b->session->back_count--;
	adv_gateway_put_call(b->session->buffers, b->buffer, b->size);
	free(b);
}

void adv_nfs_reverse_back_reply(struct adv_nfs_reverse_session *s, uint8_t *buffer, size_t size,
				size_t length, uint32_t xid)
{
	static struct adv_rpcrdma_header h;
	uint8_t *start = buffer + ADV_NFS_HEADER_ROOM - HEADER_LEN;
	struct back_reply *b = NULL;

	if (s->connected && s->back_count < MESSAGES_MAX &&
	    length + HEADER_LEN <= s->send_threshold)
		b = calloc(1, sizeof(*b));
	if (!b) {
		adv_gateway_put_call(s->buffers, buffer, size);
		return;
	}
	h.xid = xid;
	h.version = ADV_RPCRDMA_VERSION;
	h.credits = ADV_NFS_BACK_CALLS;
	h.procedure = ADV_RPCRDMA_MSG;
	adv_rpcrdma_header_encode(&h, start, HEADER_LEN);
	b->session = s;
	b->buffer = buffer;
	b->size = size;
	b->sge = (struct ibv_sge){(uintptr_t)start, (uint32_t)(length + HEADER_LEN),
				  adv_kit_buffers_lkey(s->buffers->calls)};
	b->wr = (struct ibv_send_wr){.sg_list = &b->sge, .num_sge = 1, .opcode = IBV_WR_SEND};
	b->work =
		(struct adv_kit_work){.first = &b->wr, .count = 1, .done = reverse_back_reply_sent};
	s->back_count++;
	adv_endpoint_post(s->endpoint, &b->work);
}
