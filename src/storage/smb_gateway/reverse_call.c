/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages between a client over TCP and a server over SMB Direct. The memory of a READ's or
 * WRITE's data is registered for the server until its response: the server can access nothing else.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "storage/smb2/offload.h"
#include "storage/smb_gateway/session_internal.h"

enum {
	/* Bytes of data; less is sent in the message. It is more than an RPC fragment, which has up
	 * to 4,280 bytes: ksmbd ignores the channel of a WRITE to a named pipe, and so would write
	 * nothing. */
	OFFLOAD_LEAST = 8192,
	CALLS_MAX = 512, /* of a client, that the server has not received or not answered */
};

struct adv_smb_reverse_call {
	struct adv_list link;
	struct adv_smb_session *session;
	uint8_t *buffer; /* the client's message */
	size_t size, length;
	struct iovec part;
	struct adv_smb_direct_out out;
	bool sending;

	bool waiting; /* it has a channel, and no response yet */
	struct adv_smb2_offload offload;
	uint8_t request[ADV_SMB2_OFFLOAD_LEN];
	uint8_t *data; /* of a READ */
	struct ibv_mr *mr;
};

struct response {
	struct adv_smb_session *session;
	uint8_t *message;
	size_t length;
	uint8_t *data; /* of a READ, or NULL */
	size_t data_size;
	struct iovec parts[2];
	struct adv_stream_out out;
};

/* --- the end of a call --- */

static void revoke_data_access(struct adv_smb_reverse_call *c)
{
	if (c->mr)
		ibv_dereg_mr(c->mr);
	c->mr = NULL;
	c->waiting = false;
}

static void free_call(struct adv_smb_reverse_call *c)
{
	struct adv_smb_session *s = c->session;

	revoke_data_access(c);
	if (c->data)
		adv_gateway_put(&s->buffers->replies, c->data, c->offload.length);
	adv_gateway_put(&s->buffers->calls, c->buffer, c->size);
	adv_list_del(&c->link);
	s->call_count--;
	free(c);
}

void adv_smb_reverse_free_calls(struct adv_smb_session *s)
{
	while (!adv_list_empty(&s->calls))
		free_call(adv_container_of(s->calls.next, struct adv_smb_reverse_call, link));
}

/* --- to the server --- */

static void smb_call_sent(struct adv_smb_direct_out *out, bool ok)
{
	struct adv_smb_reverse_call *c = adv_container_of(out, struct adv_smb_reverse_call, out);

	c->sending = false;
	if (!c->waiting)
		free_call(c);
}

/* Returns the call with a channel and this message id, or NULL. */
static struct adv_smb_reverse_call *find_call(struct adv_smb_session *s, uint64_t message_id)
{
	adv_list_for_each(struct adv_smb_reverse_call, c, &s->calls, link) {
		if (c->waiting && c->offload.message_id == message_id)
			return c;
	}
	return NULL;
}

/* Gives the request a channel, if it can have one, and there is memory. One message id has one
 * channel at most: in the memory of another one is what somebody else left there. */
static void give_channel(struct adv_smb_reverse_call *c)
{
	struct adv_smb_session *s = c->session;
	struct adv_smb2_offload *o = &c->offload;
	struct adv_smbd_descriptor d;
	uint8_t *data;

	if (!s->offload || !adv_smb2_offload_find(c->buffer, c->length, o) ||
	    o->length < OFFLOAD_LEAST || o->length > adv_smb_direct_read_write_size(s->direct) ||
	    find_call(s, o->message_id))
		return;
	if (o->command == ADV_SMB2_READ)
		c->data = adv_kit_buffers_get(s->buffers->replies.memory, o->length);
	data = o->command == ADV_SMB2_READ ? c->data : c->buffer + o->offset;
	if (!data)
		return;
	c->mr = ibv_reg_mr(s->device->pd, data, o->length,
			   o->command == ADV_SMB2_READ
				   ? IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE
				   : IBV_ACCESS_REMOTE_READ);
	if (!c->mr)
		return;
	d = (struct adv_smbd_descriptor){(uintptr_t)data, c->mr->rkey, o->length};
	adv_smb2_offload_request(c->buffer, o, &d, c->request);
	c->waiting = true;
	c->part = (struct iovec){c->request, sizeof(c->request)};
}

void adv_smb_reverse_call(struct adv_smb_session *s, uint8_t *buffer, size_t size, size_t length)
{
	struct adv_smb_reverse_call *c = NULL;

	if (s->call_count < CALLS_MAX)
		c = calloc(1, sizeof(*c));
	if (!c) {
		adv_gateway_put(&s->buffers->calls, buffer, size);
		adv_smb_session_end(s, "too many requests wait");
		return;
	}
	c->session = s;
	c->buffer = buffer;
	c->size = size;
	c->length = length;
	c->part = (struct iovec){buffer, length};
	adv_smb_count_request(&s->times, &s->client->counts, buffer, length, adv_clock_ns());
	s->client->counts.call_bytes += length;
	adv_list_add_tail(&s->calls, &c->link);
	s->call_count++;
	give_channel(c);
	if (c->part.iov_len == 0 || c->part.iov_len > adv_smb_direct_longest(s->direct)) {
		adv_smb_session_end(s, "a message is longer than the server receives");
		return;
	}
	c->out.parts = &c->part;
	c->out.count = 1;
	c->out.length = c->part.iov_len;
	c->out.done = smb_call_sent;
	adv_list_init(&c->out.link);
	c->sending = true;
	adv_smb_direct_send(s->direct, &c->out);
}

/* --- to the client --- */

static void smb_reply_sent(struct adv_stream_out *out, bool ok)
{
	struct response *r = adv_container_of(out, struct response, out);
	struct adv_smb_session *s = r->session;

	if (r->data)
		adv_gateway_put(&s->buffers->replies, r->data, r->data_size);
	adv_smb_message_put(s->buffers, r->message, r->length);
	free(r);
}

/* Notices which dialect the server has chosen: only those of SMB 3 have channels. */
static void look_for_dialect(struct adv_smb_session *s, const struct response *r)
{
	struct adv_smb2_element e;
	uint16_t dialect;

	if (s->offload || !adv_smb2_element_at(r->message, r->length, 0, &e))
		return;
	dialect = adv_smb2_dialect(r->message, &e);
	s->offload = dialect >= 0x0300;
}

/* Returns the call with a channel that a response belongs to, or NULL. */
static struct adv_smb_reverse_call *answered_call(struct adv_smb_session *s,
						  const struct response *r)
{
	uint64_t id;

	return adv_smb2_offload_is_final(r->message, r->length, &id) ? find_call(s, id) : NULL;
}

/* Puts the data into the response to a call with a channel. False: the response is wrong. */
static bool complete_call(struct adv_smb_reverse_call *c, struct response *r)
{
	uint32_t n;

	revoke_data_access(c);
	if (!adv_smb2_offload_response(r->message, r->length, &c->offload, &n))
		return false;
	if (n > 0) {
		r->data = c->data;
		r->data_size = c->offload.length;
		c->data = NULL;
		r->parts[0].iov_len = ADV_SMB2_READ_RESPONSE_LEN;
		r->parts[1] = (struct iovec){r->data, n};
		r->out.count = 2;
	}
	if (!c->sending)
		free_call(c);
	return true;
}

void adv_smb_reverse_response(struct adv_smb_session *s, uint8_t *message, size_t length)
{
	struct response *r = calloc(1, sizeof(*r));
	struct adv_smb_reverse_call *c;

	if (!r) {
		adv_smb_message_put(s->buffers, message, length);
		adv_smb_session_end(s, "no memory");
		return;
	}
	r->session = s;
	r->message = message;
	r->length = length;
	r->parts[0] = (struct iovec){message, length};
	r->out = (struct adv_stream_out){.parts = r->parts, .count = 1, .done = smb_reply_sent};
	adv_list_init(&r->out.link);
	look_for_dialect(s, r);
	adv_smb_count_response(&s->times, &s->client->counts, message, length, adv_clock_ns());
	c = answered_call(s, r);
	if (c && !complete_call(c, r)) {
		smb_reply_sent(&r->out, false);
		adv_smb_session_end(s, "a message of the server is wrong");
		return;
	}
	length = r->parts[0].iov_len + (r->out.count > 1 ? r->parts[1].iov_len : 0);
	s->client->counts.reply_bytes += length;
	adv_stream_send(s->stream, &r->out, length);
}
