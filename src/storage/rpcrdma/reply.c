/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Plans of replies: which parts of them go to which memory of the requester. */
#include "storage/rpcrdma/pieces.h"

/* Where in a chunk the next byte goes. */
struct place {
	struct adv_rpcrdma_header *h;
	const struct adv_rpcrdma_chunk *chunk;
	const struct adv_rpcrdma_header *call; /* has the sizes of the segments */
	unsigned segment;
};

/* Copies a chunk of the call to the reply's header: no segment of it has data yet. */
static void copy_chunk(const struct adv_rpcrdma_header *call, const struct adv_rpcrdma_chunk *from,
		       struct adv_rpcrdma_header *h, struct adv_rpcrdma_chunk *to)
{
	*to = *from;
	for (unsigned i = 0; i < from->count; i++) {
		h->segments[from->first + i] = call->segments[from->first + i];
		h->segments[from->first + i].length = 0;
	}
	h->segment_count += from->count;
}

static void copy_chunks(const struct adv_rpcrdma_header *call, struct adv_rpcrdma_header *h)
{
	h->version = ADV_RPCRDMA_VERSION;
	h->xid = call->xid;
	h->read_count = 0;
	h->segment_count = 0;
	h->write_count = call->write_count;
	for (unsigned i = 0; i < call->write_count; i++)
		copy_chunk(call, &call->writes[i], h, &h->writes[i]);
	h->has_reply = call->has_reply;
	h->reply = (struct adv_rpcrdma_chunk){0};
	if (call->has_reply)
		copy_chunk(call, &call->reply, h, &h->reply);
}

/* Adds transfers of `length` bytes at `offset` of the reply to the next free bytes of a chunk.
 * False: the chunk is full. */
static bool fill_chunk(struct place *p, size_t offset, size_t length, struct adv_rpcrdma_reply *out)
{
	while (length > 0) {
		unsigned at = p->chunk->first + p->segment;
		struct adv_rpcrdma_segment *used = &p->h->segments[at];
		const struct adv_rpcrdma_segment *whole = &p->call->segments[at];
		size_t n;

		if (p->segment == p->chunk->count)
			return false;
		n = whole->length - used->length;
		if (n == 0) {
			p->segment++;
			continue;
		}
		if (n > length)
			n = length;
		if (out->transfer_count == ADV_RPCRDMA_TRANSFERS_MAX)
			return false;
		out->transfers[out->transfer_count++] = (struct adv_rpcrdma_transfer){
			.to = {whole->handle, (uint32_t)n, whole->offset + used->length},
			.offset = offset,
		};
		used->length += (uint32_t)n;
		offset += n;
		length -= n;
	}
	return true;
}

static bool fill_write_chunks(const struct adv_rpcrdma_header *call,
			      const struct adv_rpcrdma_item *items, const bool *reduced,
			      unsigned count, struct adv_rpcrdma_reply *out)
{
	for (unsigned i = 0; i < count; i++) {
		struct place p = {&out->header, &call->writes[i], call, 0};

		if (reduced[i] && !fill_chunk(&p, items[i].offset, items[i].length, out))
			return false;
	}
	return true;
}

static bool fill_reply_chunk(const struct adv_rpcrdma_header *call, struct adv_rpcrdma_reply *out)
{
	struct place p = {&out->header, &call->reply, call, 0};

	if (!call->has_reply)
		return false;
	for (unsigned i = 0; i < out->inlined.count; i++) {
		const struct adv_rpcrdma_piece *piece = &out->inlined.piece[i];

		if (!fill_chunk(&p, piece->offset, piece->length, out))
			return false;
	}
	out->inlined.count = 0;
	out->inlined.length = 0;
	return true;
}

bool adv_rpcrdma_reply_plan(const struct adv_rpcrdma_header *call, size_t length,
			    const struct adv_rpcrdma_item *items, unsigned item_count,
			    size_t threshold, struct adv_rpcrdma_reply *out)
{
	bool reduced[ADV_RPCRDMA_ITEMS_MAX] = {0};
	unsigned count = item_count < call->write_count ? item_count : call->write_count;

	for (unsigned i = 0; i < count; i++)
		reduced[i] = call->writes[i].count > 0;
	out->transfer_count = 0;
	out->header.procedure = ADV_RPCRDMA_MSG;
	copy_chunks(call, &out->header);
	if (!fill_write_chunks(call, items, reduced, count, out))
		return false;
	adv_rpcrdma_reduce(length, items, reduced, count, &out->inlined);
	if (adv_rpcrdma_header_size(&out->header) + out->inlined.length <= threshold)
		return true;
	out->header.procedure = ADV_RPCRDMA_NOMSG;
	return adv_rpcrdma_header_size(&out->header) <= threshold && fill_reply_chunk(call, out);
}
