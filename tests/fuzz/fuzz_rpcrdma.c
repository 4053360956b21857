/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The input is a message that a client sends: an RPC-over-RDMA header with chunk lists, and an RPC
 * call. The call is planned, and a reply to it, whose data items the bytes of the message choose.
 * Checks that no plan reads outside the message, nor writes outside the client's segments, and that
 * encoding a decoded header gives the same bytes.
 */
#include <string.h>

#include "fuzz.h"
#include "storage/rpcrdma/call.h"
#include "storage/rpcrdma/pieces.h"
#include "storage/rpcrdma/private_data.h"
#include "storage/rpcrdma/request.h"

enum { LIMIT = 1 << 20, REPLY_LEN = 3000, THRESHOLD = 1024, HEADER_MAX = 16384 };

static struct adv_rpcrdma_header header, again;
static struct adv_rpcrdma_call call;
static struct adv_rpcrdma_reply reply;
static uint8_t encoded[HEADER_MAX];

static void check_pieces(const struct adv_rpcrdma_pieces *p, size_t body, size_t data)
{
	size_t sum = 0;

	FUZZ_CHECK(p->count <= ADV_RPCRDMA_PIECES_MAX);
	for (unsigned i = 0; i < p->count; i++) {
		const struct adv_rpcrdma_piece *piece = &p->piece[i];
		size_t end = piece->offset + piece->length;

		FUZZ_CHECK(piece->length > 0);
		if (piece->source == ADV_RPCRDMA_BODY)
			FUZZ_CHECK(end <= body);
		else if (piece->source == ADV_RPCRDMA_DATA)
			FUZZ_CHECK(end <= data);
		else
			FUZZ_CHECK(piece->length < 4);
		sum += piece->length;
	}
	FUZZ_CHECK(sum == p->length);
}

/* True if a transfer is inside a segment of the call. */
static bool inside(const struct adv_rpcrdma_segment *to)
{
	for (unsigned i = 0; i < header.segment_count; i++) {
		const struct adv_rpcrdma_segment *s = &header.segments[i];

		if (s->handle == to->handle && to->offset >= s->offset &&
		    to->offset - s->offset + to->length <= s->length)
			return true;
	}
	return false;
}

static void plan_reply(const uint8_t *data, size_t size)
{
	struct adv_rpcrdma_item items[ADV_RPCRDMA_ITEMS_MAX];
	unsigned count = 0;
	size_t at = 24;

	for (size_t i = 0; i + 1 < size && count < ADV_RPCRDMA_ITEMS_MAX; i += 16) {
		size_t length = data[i] * 2u;

		if (at + length + 4 > REPLY_LEN)
			break;
		items[count++] = (struct adv_rpcrdma_item){at, length};
		at += length + adv_rpcrdma_pad(length) + (data[i + 1] & 0xfcu);
		if (at > REPLY_LEN)
			at = REPLY_LEN;
	}
	if (!adv_rpcrdma_reply_plan(&header, REPLY_LEN, items, count, THRESHOLD, &reply))
		return;
	FUZZ_CHECK(adv_rpcrdma_header_size(&reply.header) + reply.inlined.length <= THRESHOLD);
	check_pieces(&reply.inlined, REPLY_LEN, 0);
	for (unsigned i = 0; i < reply.transfer_count; i++) {
		const struct adv_rpcrdma_transfer *t = &reply.transfers[i];

		FUZZ_CHECK(t->to.length > 0 && t->offset + t->to.length <= REPLY_LEN);
		FUZZ_CHECK(inside(&t->to));
	}
}

/* The header as that of a reply to a call with two write chunks and a reply chunk. */
static void check_reply(void)
{
	static const uint32_t results[] = {2000, 4000};
	static const struct adv_rpcrdma_message m = {
		.length = 100,
		.results = results,
		.result_count = 2,
		.rest = 3000,
		.send_threshold = THRESHOLD,
		.receive_threshold = THRESHOLD,
		.reply_max = LIMIT,
	};
	static struct adv_rpcrdma_request request;
	bool reduced[ADV_RPCRDMA_WRITES_MAX];

	FUZZ_CHECK(adv_rpcrdma_request_plan(&m, &request));
	if (!adv_rpcrdma_reply_check(&request.header, &header, reduced))
		return;
	for (unsigned i = 0; i < 2; i++) {
		uint64_t length = 0;

		if (i < header.write_count)
			length = adv_rpcrdma_chunk_length(&header, &header.writes[i]);
		FUZZ_CHECK(length <= results[i] && reduced[i] == (length > 0));
	}
	FUZZ_CHECK(!header.has_reply || adv_rpcrdma_chunk_length(&header, &header.reply) <= m.rest);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct adv_rpcrdma_private_data private_data;
	struct adv_rpc_call rpc;
	size_t used = 0, len;

	adv_rpcrdma_private_data_decode(data, size, &private_data);
	if (adv_rpcrdma_header_decode(data, size, &header, &used) != ADV_RPCRDMA_OK)
		return 0;
	FUZZ_CHECK(used <= size && used == adv_rpcrdma_header_size(&header));
	len = adv_rpcrdma_header_encode(&header, encoded, sizeof(encoded));
	FUZZ_CHECK(len == used && memcmp(encoded, data, len) == 0);
	FUZZ_CHECK(adv_rpcrdma_header_decode(encoded, len, &again, &used) == ADV_RPCRDMA_OK);
	if (header.procedure != ADV_RPCRDMA_MSG && header.procedure != ADV_RPCRDMA_NOMSG)
		return 0;
	if (adv_rpc_call_decode(data + used, size - used, &rpc))
		FUZZ_CHECK(rpc.body <= size - used);
	if (adv_rpcrdma_call_plan(&header, used, size - used, LIMIT, &call)) {
		FUZZ_CHECK(call.fetched <= LIMIT && call.pieces.length <= LIMIT);
		check_pieces(&call.pieces, size, call.fetched);
	}
	plan_reply(data, size);
	check_reply();
	return 0;
}
