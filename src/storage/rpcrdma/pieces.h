/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A message without the data items that moved by RDMA is a reduced message. These functions say
 * which parts, in which order, make up the whole message again, and the reverse.
 */
#ifndef ADV_STORAGE_RPCRDMA_PIECES_H
#define ADV_STORAGE_RPCRDMA_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "storage/rpcrdma/header.h"

enum { ADV_RPCRDMA_ITEMS_MAX = 16, ADV_RPCRDMA_PIECES_MAX = 3 * ADV_RPCRDMA_ITEMS_MAX + 1 };

/* A data item of a whole message. Up to 3 bytes of padding follow it in the message. */
struct adv_rpcrdma_item {
	size_t offset; /* in the whole message */
	size_t length;
};

enum adv_rpcrdma_source {
	ADV_RPCRDMA_BODY, /* the reduced message */
	ADV_RPCRDMA_DATA, /* the data of the chunks, one after the other */
	ADV_RPCRDMA_PAD,  /* zeros */
};

struct adv_rpcrdma_piece {
	enum adv_rpcrdma_source source;
	size_t offset; /* in the source */
	size_t length;
};

struct adv_rpcrdma_pieces {
	struct adv_rpcrdma_piece piece[ADV_RPCRDMA_PIECES_MAX];
	unsigned count;
	size_t length; /* of the whole message */
};

/* Returns the bytes of padding behind an item of a length. */
static inline size_t adv_rpcrdma_pad(size_t length)
{
	return -length & 3;
}

/* Makes the pieces of the whole message. The items are in order; the data begins with that of the
 * first one at `data_offset`. False: an item is not at a multiple of 4, lies before the end of the
 * one before it, or beyond the message. */
bool adv_rpcrdma_merge(size_t body_offset, size_t body_length, size_t data_offset,
		       const struct adv_rpcrdma_item *items, unsigned count,
		       struct adv_rpcrdma_pieces *out);
/* Makes the pieces, all of them of the whole message, that are the reduced message. `reduced` says
 * for each item whether it moves by RDMA. The items are in order and inside the message. */
void adv_rpcrdma_reduce(size_t length, const struct adv_rpcrdma_item *items, const bool *reduced,
			unsigned count, struct adv_rpcrdma_pieces *out);

/* A received call: what to fetch, and how it becomes a message. */
struct adv_rpcrdma_call {
	size_t fetched; /* bytes of all read segments, which are fetched one after the other */
	struct adv_rpcrdma_pieces pieces;
};

/* Plans a call whose header has been decoded and is followed by `inline_length` bytes, which
 * begin at `inline_offset` of BODY. With RDMA_NOMSG the message is the chunk at position zero.
 * False: the chunks are wrong, or the message is longer than `limit`: answer with ERR_CHUNK. */
bool adv_rpcrdma_call_plan(const struct adv_rpcrdma_header *h, size_t inline_offset,
			   size_t inline_length, size_t limit, struct adv_rpcrdma_call *out);

/* A part of the reply that moves to the requester's memory. */
struct adv_rpcrdma_transfer {
	struct adv_rpcrdma_segment to;
	size_t offset; /* in the whole reply */
};

enum { ADV_RPCRDMA_TRANSFERS_MAX = ADV_RPCRDMA_SEGMENTS_MAX + ADV_RPCRDMA_PIECES_MAX };

/* How a reply goes to the requester: transfers, and a SEND of a header and pieces of the reply. */
struct adv_rpcrdma_reply {
	struct adv_rpcrdma_header header; /* its xid, credits and version are the caller's */
	struct adv_rpcrdma_transfer transfers[ADV_RPCRDMA_TRANSFERS_MAX];
	unsigned transfer_count;
	struct adv_rpcrdma_pieces inlined; /* of the reply; nothing with RDMA_NOMSG */
};

/* Plans a reply of `length` bytes to a call with the header `call`. The first data item goes to the
 * first write chunk, and so on (RFC 8267, section 4.2); a chunk without segments leaves its item in
 * the message. `threshold`: the largest SEND in bytes. False: the chunks are too small: answer with
 * ERR_CHUNK. */
bool adv_rpcrdma_reply_plan(const struct adv_rpcrdma_header *call, size_t length,
			    const struct adv_rpcrdma_item *items, unsigned item_count,
			    size_t threshold, struct adv_rpcrdma_reply *out);

#endif
