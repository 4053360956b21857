/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The back channel of NFS version 4.1: calls of the server to the client, on the connection of the
 * client, and their replies (RFC 8167). They are sent inline.
 */
#include <stdlib.h>
#include <string.h>

#include "storage/nfs_gateway/session_internal.h"

enum {
	HEADER_LEN = 28,
	WAITING_MAX = 32,  /* calls to a client over RDMA that wait */
	MESSAGES_MAX = 32, /* with --reverse: messages on their way */
};

/* --- from TCP to RDMA --- */

struct rdma_message {
	struct adv_list link; /* session->back_calls, while it waits */
	struct adv_nfs_session *session;
	struct adv_kit_work work;
	struct ibv_sge sge;
	struct ibv_send_wr wr;
	uint8_t *buffer;
	size_t size;
};

static void free_rdma_message(struct rdma_message *m)
{
	adv_gateway_put(adv_nfs_records(m->session), m->buffer, m->size);
	free(m);
}

static void rdma_message_sent(struct adv_kit_work *w, bool ok)
{
	struct rdma_message *m = adv_container_of(w, struct rdma_message, work);

	if (m->session->reverse)
		m->session->back_count--;
	else
		adv_nfs_completed(m->session);
	free_rdma_message(m);
}

static bool has_room(const struct adv_nfs_session *s)
{
	return s->reverse ? s->connected && s->back_count < MESSAGES_MAX
			  : s->back_waiting < WAITING_MAX;
}

/* Makes a message with a header. It owns the buffer. NULL: no memory. */
static struct rdma_message *make_rdma_message(struct adv_nfs_session *s, uint8_t *buffer,
					      size_t size, size_t length, uint32_t xid)
{
	static struct adv_rpcrdma_header h;
	uint8_t *start = buffer + ADV_NFS_HEADER_ROOM - HEADER_LEN;
	struct rdma_message *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	h.xid = xid;
	h.version = ADV_RPCRDMA_VERSION;
	h.credits = ADV_NFS_BACK_CALLS;
	h.procedure = ADV_RPCRDMA_MSG;
	adv_rpcrdma_header_encode(&h, start, HEADER_LEN);
	m->session = s;
	m->buffer = buffer;
	m->size = size;
	m->sge = (struct ibv_sge){(uintptr_t)start, (uint32_t)(length + HEADER_LEN),
				  adv_kit_buffers_lkey(adv_nfs_records(s)->memory)};
	m->wr = (struct ibv_send_wr){.sg_list = &m->sge, .num_sge = 1, .opcode = IBV_WR_SEND};
	m->work = (struct adv_kit_work){.first = &m->wr, .count = 1, .done = rdma_message_sent};
	return m;
}

static void post_waiting(struct adv_nfs_session *s)
{
	while (s->back_count < ADV_NFS_BACK_CALLS && !adv_list_empty(&s->back_calls)) {
		struct rdma_message *m =
			adv_container_of(s->back_calls.next, struct rdma_message, link);

		adv_list_del(&m->link);
		s->back_waiting--;
		s->back_count++;
		adv_nfs_post(s, &m->work);
	}
}

void adv_nfs_back_to_rdma(struct adv_nfs_session *s, uint8_t *buffer, size_t size, size_t length,
			  uint32_t xid)
{
	struct rdma_message *m = NULL;

	if (length + HEADER_LEN <= s->threshold && has_room(s))
		m = make_rdma_message(s, buffer, size, length, xid);
	if (!m) { /* the server takes a call without a reply for a lost one */
		adv_gateway_put(adv_nfs_records(s), buffer, size);
	} else if (s->reverse) {
		s->back_count++;
		adv_endpoint_post(s->endpoint, &m->work);
	} else {
		adv_list_add_tail(&s->back_calls, &m->link);
		s->back_waiting++;
		post_waiting(s);
	}
}

/* --- from RDMA to TCP --- */

struct tcp_message {
	struct adv_stream_out out;
	struct adv_nfs_session *session;
	struct iovec part;
	uint8_t message[];
};

static void tcp_message_sent(struct adv_stream_out *out, bool ok)
{
	struct tcp_message *m = adv_container_of(out, struct tcp_message, out);

	if (m->session->reverse)
		m->session->back_count--;
	free(m);
}

static void send_copy(struct adv_nfs_session *s, const uint8_t *message, size_t length)
{
	struct tcp_message *m = s->stream ? malloc(sizeof(*m) + length) : NULL;

	if (!m)
		return;
	memcpy(m->message, message, length);
	m->session = s;
	m->part = (struct iovec){m->message, length};
	m->out = (struct adv_stream_out){.parts = &m->part, .count = 1, .done = tcp_message_sent};
	if (s->reverse)
		s->back_count++;
	adv_stream_send(s->stream, &m->out, length);
}

void adv_nfs_back_to_tcp(struct adv_nfs_session *s, const uint8_t *message, size_t length)
{
	if (s->reverse) {
		if (s->back_count < MESSAGES_MAX)
			send_copy(s, message, length);
		return;
	}
	/* A reply to a call from before the connection to the server was lost has no receiver. */
	if (s->back_count == 0)
		return;
	s->back_count--;
	send_copy(s, message, length);
	post_waiting(s);
}

void adv_nfs_back_reset(struct adv_nfs_session *s)
{
	while (!adv_list_empty(&s->back_calls)) {
		struct rdma_message *m =
			adv_container_of(s->back_calls.next, struct rdma_message, link);

		adv_list_del(&m->link);
		free_rdma_message(m);
	}
	s->back_waiting = 0;
	s->back_count = 0;
}
