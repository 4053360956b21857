/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/rpcrdma/request.h"

#include <string.h>

/* --- the reply --- */

/* Adds a segment of the memory for the reply. */
static void add_segment(struct adv_rpcrdma_request *out, struct adv_rpcrdma_chunk *chunk,
			uint64_t wanted, size_t most)
{
	struct adv_rpcrdma_header *h = &out->header;
	size_t left = most - out->reply_bytes, n = wanted < left ? (size_t)wanted : left;

	*chunk = (struct adv_rpcrdma_chunk){h->segment_count, n > 0};
	if (n == 0)
		return;
	h->segments[h->segment_count++] =
		(struct adv_rpcrdma_segment){.length = (uint32_t)n, .offset = out->reply_bytes};
	out->reply_bytes += n + adv_rpcrdma_pad(n);
	if (out->reply_bytes > most)
		out->reply_bytes = most;
}

static void plan_reply(const struct adv_rpcrdma_message *m, struct adv_rpcrdma_request *out)
{
	struct adv_rpcrdma_header *h = &out->header;
	uint64_t whole = ADV_RPCRDMA_SMALLEST_LEN + m->rest;
	unsigned chunks = 0;

	for (unsigned i = 0; i < m->result_count; i++) {
		whole += m->results[i] + adv_rpcrdma_pad(m->results[i]);
		if (m->results[i] > 0)
			chunks = i + 1;
	}
	if (whole <= m->receive_threshold)
		return;
	for (unsigned i = 0; i < chunks && i < ADV_RPCRDMA_WRITES_MAX; i++)
		add_segment(out, &h->writes[h->write_count++], m->results[i], m->reply_max);
	/* The reply's header has the write list of the call's. */
	if (adv_rpcrdma_header_size(h) + m->rest <= m->receive_threshold)
		return;
	h->has_reply = true;
	add_segment(out, &h->reply, m->rest, m->reply_max);
}

/* --- the call --- */

static bool fits_inline(const struct adv_rpcrdma_message *m, const struct adv_rpcrdma_request *out)
{
	return adv_rpcrdma_header_size(&out->header) + out->inlined.length <= m->send_threshold;
}

static void add_read(struct adv_rpcrdma_request *out, size_t position, size_t length)
{
	out->header.reads[out->header.read_count++] = (struct adv_rpcrdma_read){
		.position = (uint32_t)position,
		.segment = {.length = (uint32_t)length, .offset = position},
	};
}

bool adv_rpcrdma_request_plan(const struct adv_rpcrdma_message *m, struct adv_rpcrdma_request *out)
{
	bool reduced[ADV_RPCRDMA_ITEMS_MAX] = {0};
	struct adv_rpcrdma_header *h = &out->header;

	memset(out, 0, sizeof(*out));
	h->version = ADV_RPCRDMA_VERSION;
	h->procedure = ADV_RPCRDMA_MSG;
	plan_reply(m, out);
	adv_rpcrdma_reduce(m->length, m->items, reduced, 0, &out->inlined);
	if (fits_inline(m, out))
		return true;
	for (unsigned i = 0; i < m->item_count; i++) {
		reduced[i] = m->items[i].length > 0;
		if (reduced[i])
			add_read(out, m->items[i].offset, m->items[i].length);
	}
	adv_rpcrdma_reduce(m->length, m->items, reduced, m->item_count, &out->inlined);
	if (fits_inline(m, out))
		return true;
	/* The whole call is a chunk at position zero. */
	h->procedure = ADV_RPCRDMA_NOMSG;
	h->read_count = 0;
	add_read(out, 0, m->length);
	out->inlined.count = 0;
	out->inlined.length = 0;
	return fits_inline(m, out);
}

/* --- the reply's header --- */

/* True if the data of a reply's chunk is in the memory that the call offered for it. */
static bool is_offered(const struct adv_rpcrdma_header *call,
		       const struct adv_rpcrdma_chunk *offered,
		       const struct adv_rpcrdma_header *reply,
		       const struct adv_rpcrdma_chunk *chunk)
{
	for (unsigned i = 0; i < chunk->count; i++) {
		const struct adv_rpcrdma_segment *used = &reply->segments[chunk->first + i];
		const struct adv_rpcrdma_segment *whole;

		if (used->length == 0)
			continue;
		if (i >= offered->count)
			return false;
		whole = &call->segments[offered->first + i];
		if (used->handle != whole->handle || used->offset != whole->offset ||
		    used->length > whole->length)
			return false;
	}
	return true;
}

bool adv_rpcrdma_reply_check(const struct adv_rpcrdma_header *call,
			     const struct adv_rpcrdma_header *reply,
			     bool reduced[ADV_RPCRDMA_WRITES_MAX])
{
	if (reply->write_count > call->write_count || (reply->has_reply && !call->has_reply) ||
	    (reply->procedure == ADV_RPCRDMA_NOMSG && !reply->has_reply))
		return false;
	for (unsigned i = 0; i < call->write_count; i++) {
		reduced[i] = i < reply->write_count &&
			     adv_rpcrdma_chunk_length(reply, &reply->writes[i]) > 0;
		if (reduced[i] && !is_offered(call, &call->writes[i], reply, &reply->writes[i]))
			return false;
	}
	return !reply->has_reply || is_offered(call, &call->reply, reply, &reply->reply);
}
