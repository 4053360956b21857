/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/rpcrdma/header.h"

#include "base/bytes.h"

enum { FIXED_LEN = 16, SEGMENT_LEN = 16, READ_LEN = 24 };

/* The rest of a message. Once it is too short, all reads give 0. */
struct cursor {
	const uint8_t *at;
	size_t left;
	bool failed;
};

static uint32_t get_word(struct cursor *c)
{
	uint32_t v;

	if (c->failed || c->left < 4) {
		c->failed = true;
		return 0;
	}
	v = adv_get_be32(c->at);
	c->at += 4;
	c->left -= 4;
	return v;
}

/* True if another element follows. Any number but 0 and 1 is not an XDR boolean. */
static bool get_flag(struct cursor *c)
{
	uint32_t v = get_word(c);

	if (v > 1)
		c->failed = true;
	return v == 1 && !c->failed;
}

static struct adv_rpcrdma_segment get_segment(struct cursor *c)
{
	struct adv_rpcrdma_segment s;

	s.handle = get_word(c);
	s.length = get_word(c);
	s.offset = (uint64_t)get_word(c) << 32;
	s.offset |= get_word(c);
	if (s.offset + s.length < s.offset)
		c->failed = true;
	return s;
}

static void get_reads(struct cursor *c, struct adv_rpcrdma_header *h)
{
	while (get_flag(c)) {
		struct adv_rpcrdma_read *r = &h->reads[h->read_count];

		if (h->read_count == ADV_RPCRDMA_READS_MAX) {
			c->failed = true;
			return;
		}
		r->position = get_word(c);
		r->segment = get_segment(c);
		h->read_count++;
	}
}

static void get_chunk(struct cursor *c, struct adv_rpcrdma_header *h,
		      struct adv_rpcrdma_chunk *chunk)
{
	uint32_t count = get_word(c);

	if (count > ADV_RPCRDMA_SEGMENTS_MAX - h->segment_count || count > c->left / SEGMENT_LEN) {
		c->failed = true;
		return;
	}
	chunk->first = h->segment_count;
	chunk->count = count;
	while (count--)
		h->segments[h->segment_count++] = get_segment(c);
}

static void get_chunk_lists(struct cursor *c, struct adv_rpcrdma_header *h)
{
	get_reads(c, h);
	while (get_flag(c)) {
		if (h->write_count == ADV_RPCRDMA_WRITES_MAX) {
			c->failed = true;
			return;
		}
		get_chunk(c, h, &h->writes[h->write_count++]);
	}
	h->has_reply = get_flag(c);
	if (h->has_reply)
		get_chunk(c, h, &h->reply);
}

static void get_error(struct cursor *c, struct adv_rpcrdma_header *h)
{
	uint32_t error = get_word(c);

	h->error = error;
	if (error == ADV_RPCRDMA_ERR_VERS) {
		h->version_low = get_word(c);
		h->version_high = get_word(c);
	} else if (error != ADV_RPCRDMA_ERR_CHUNK) {
		c->failed = true;
	}
}

enum adv_rpcrdma_decoded adv_rpcrdma_header_decode(const uint8_t *in, size_t len,
						   struct adv_rpcrdma_header *h, size_t *used)
{
	struct cursor c = {.at = in, .left = len};
	uint32_t procedure;

	h->read_count = h->write_count = h->segment_count = 0;
	h->has_reply = false;
	h->reply = (struct adv_rpcrdma_chunk){0};
	h->xid = get_word(&c);
	h->version = get_word(&c);
	if (c.failed)
		return ADV_RPCRDMA_TRUNCATED;
	h->credits = get_word(&c);
	if (h->version != ADV_RPCRDMA_VERSION)
		return ADV_RPCRDMA_BAD_VERSION;
	procedure = get_word(&c);
	h->procedure = procedure;
	if (procedure == ADV_RPCRDMA_MSG || procedure == ADV_RPCRDMA_NOMSG)
		get_chunk_lists(&c, h);
	else if (procedure == ADV_RPCRDMA_ERROR)
		get_error(&c, h);
	else if (procedure != ADV_RPCRDMA_DONE)
		return ADV_RPCRDMA_BAD_HEADER;
	*used = len - c.left;
	return c.failed ? ADV_RPCRDMA_BAD_HEADER : ADV_RPCRDMA_OK;
}

size_t adv_rpcrdma_header_size(const struct adv_rpcrdma_header *h)
{
	if (h->procedure == ADV_RPCRDMA_DONE)
		return FIXED_LEN;
	if (h->procedure == ADV_RPCRDMA_ERROR)
		return FIXED_LEN + (h->error == ADV_RPCRDMA_ERR_VERS ? 12 : 4);
	/* The end of the two lists, and whether a reply chunk follows. */
	return FIXED_LEN + 12 + h->read_count * (size_t)READ_LEN + h->write_count * 8u +
	       h->segment_count * (size_t)SEGMENT_LEN + (h->has_reply ? 4 : 0);
}

static uint8_t *put_word(uint8_t *out, uint32_t v)
{
	adv_put_be32(out, v);
	return out + 4;
}

static uint8_t *put_segment(uint8_t *out, const struct adv_rpcrdma_segment *s)
{
	out = put_word(out, s->handle);
	out = put_word(out, s->length);
	out = put_word(out, (uint32_t)(s->offset >> 32));
	return put_word(out, (uint32_t)s->offset);
}

static uint8_t *put_chunk(uint8_t *out, const struct adv_rpcrdma_header *h,
			  const struct adv_rpcrdma_chunk *chunk)
{
	out = put_word(put_word(out, 1), chunk->count);
	for (unsigned i = 0; i < chunk->count; i++)
		out = put_segment(out, &h->segments[chunk->first + i]);
	return out;
}

static uint8_t *put_chunk_lists(uint8_t *out, const struct adv_rpcrdma_header *h)
{
	for (unsigned i = 0; i < h->read_count; i++) {
		out = put_word(put_word(out, 1), h->reads[i].position);
		out = put_segment(out, &h->reads[i].segment);
	}
	out = put_word(out, 0);
	for (unsigned i = 0; i < h->write_count; i++)
		out = put_chunk(out, h, &h->writes[i]);
	out = put_word(out, 0);
	return h->has_reply ? put_chunk(out, h, &h->reply) : put_word(out, 0);
}

size_t adv_rpcrdma_header_encode(const struct adv_rpcrdma_header *h, uint8_t *out, size_t room)
{
	size_t len = adv_rpcrdma_header_size(h);

	if (len > room)
		return 0;
	out = put_word(out, h->xid);
	out = put_word(out, h->version);
	out = put_word(out, h->credits);
	out = put_word(out, h->procedure);
	if (h->procedure == ADV_RPCRDMA_ERROR) {
		out = put_word(out, h->error);
		if (h->error == ADV_RPCRDMA_ERR_VERS)
			put_word(put_word(out, h->version_low), h->version_high);
	} else if (h->procedure != ADV_RPCRDMA_DONE) {
		put_chunk_lists(out, h);
	}
	return len;
}

uint64_t adv_rpcrdma_chunk_length(const struct adv_rpcrdma_header *h,
				  const struct adv_rpcrdma_chunk *chunk)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < chunk->count; i++)
		sum += h->segments[chunk->first + i].length;
	return sum;
}

uint32_t adv_rpcrdma_invalidatable(const struct adv_rpcrdma_header *h)
{
	uint32_t found = 0;

	for (unsigned i = 0; i < h->read_count + h->segment_count; i++) {
		uint32_t handle = i < h->read_count ? h->reads[i].segment.handle
						    : h->segments[i - h->read_count].handle;

		if (found && handle != found)
			return 0;
		found = handle;
	}
	return found;
}
