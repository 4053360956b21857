/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/rpcrdma/pieces.h"

static void add_piece(struct adv_rpcrdma_pieces *p, enum adv_rpcrdma_source source, size_t offset,
		      size_t length)
{
	if (length == 0)
		return;
	p->piece[p->count++] = (struct adv_rpcrdma_piece){source, offset, length};
	p->length += length;
}

bool adv_rpcrdma_merge(size_t body_offset, size_t body_length, size_t data_offset,
		       const struct adv_rpcrdma_item *items, unsigned count,
		       struct adv_rpcrdma_pieces *out)
{
	size_t used = 0; /* of the body */

	out->count = 0;
	out->length = 0;
	if (count > ADV_RPCRDMA_ITEMS_MAX)
		return false;
	for (unsigned i = 0; i < count; i++) {
		size_t gap = items[i].offset - out->length;

		if (items[i].offset % 4 != 0 || items[i].offset < out->length ||
		    gap > body_length - used)
			return false;
		add_piece(out, ADV_RPCRDMA_BODY, body_offset + used, gap);
		used += gap;
		add_piece(out, ADV_RPCRDMA_DATA, data_offset, items[i].length);
		data_offset += items[i].length;
		add_piece(out, ADV_RPCRDMA_PAD, 0, adv_rpcrdma_pad(items[i].length));
	}
	add_piece(out, ADV_RPCRDMA_BODY, body_offset + used, body_length - used);
	return true;
}

void adv_rpcrdma_reduce(size_t length, const struct adv_rpcrdma_item *items, const bool *reduced,
			unsigned count, struct adv_rpcrdma_pieces *out)
{
	size_t at = 0;

	out->count = 0;
	out->length = 0;
	for (unsigned i = 0; i < count; i++) {
		if (!reduced[i])
			continue;
		add_piece(out, ADV_RPCRDMA_BODY, at, items[i].offset - at);
		at = items[i].offset + items[i].length + adv_rpcrdma_pad(items[i].length);
	}
	/* A message may end without the padding of its last item. */
	if (at < length)
		add_piece(out, ADV_RPCRDMA_BODY, at, length - at);
}

/* Makes items of the read segments: those of one position are one item. Returns their number; -1:
 * the positions are not in order, or there are too many. */
static int items_of(const struct adv_rpcrdma_header *h, struct adv_rpcrdma_item *items)
{
	int count = 0;

	for (unsigned i = 0; i < h->read_count; i++) {
		const struct adv_rpcrdma_read *r = &h->reads[i];

		if (count == 0 || items[count - 1].offset != r->position) {
			if (count > 0 && r->position < items[count - 1].offset)
				return -1;
			if (count == ADV_RPCRDMA_ITEMS_MAX)
				return -1;
			items[count++] = (struct adv_rpcrdma_item){.offset = r->position};
		}
		items[count - 1].length += r->segment.length;
	}
	return count;
}

/* The chunk at position zero is the body, and the other chunks follow it in the data. */
static bool merge_long_call(const struct adv_rpcrdma_item *items, unsigned count,
			    struct adv_rpcrdma_pieces *out)
{
	size_t body = items[0].length;

	if (!adv_rpcrdma_merge(0, body, body, items + 1, count - 1, out))
		return false;
	for (unsigned i = 0; i < out->count; i++) {
		if (out->piece[i].source == ADV_RPCRDMA_BODY)
			out->piece[i].source = ADV_RPCRDMA_DATA;
	}
	return true;
}

bool adv_rpcrdma_call_plan(const struct adv_rpcrdma_header *h, size_t inline_offset,
			   size_t inline_length, size_t limit, struct adv_rpcrdma_call *out)
{
	struct adv_rpcrdma_item items[ADV_RPCRDMA_ITEMS_MAX];
	int count = items_of(h, items);
	bool at_zero = count > 0 && items[0].offset == 0;

	if (count < 0 || at_zero != (h->procedure == ADV_RPCRDMA_NOMSG))
		return false;
	/* The sums of 128 lengths of 32 bits do not overflow. All that is fetched is in the pieces.
	 */
	out->fetched = 0;
	for (int i = 0; i < count; i++)
		out->fetched += items[i].length;
	if (at_zero ? !merge_long_call(items, (unsigned)count, &out->pieces)
		    : !adv_rpcrdma_merge(inline_offset, inline_length, 0, items, (unsigned)count,
					 &out->pieces))
		return false;
	return out->pieces.length <= limit;
}
