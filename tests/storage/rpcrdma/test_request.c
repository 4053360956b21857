/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The plans of a requester, against those of the responder: what the one offers, the other uses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "storage/rpcrdma/request.h"

enum { MESSAGE_MAX = 16384, THRESHOLD = 1024, LIMIT = 1 << 20, ROUNDS = 3000 };

static struct adv_rpcrdma_request request;
static struct adv_rpcrdma_header received;
static struct adv_rpcrdma_reply reply;
static uint8_t message[MESSAGE_MAX], joined[MESSAGE_MAX], memory[LIMIT], data[LIMIT];

static struct adv_rpcrdma_message of_length(size_t length)
{
	return (struct adv_rpcrdma_message){
		.length = length,
		.send_threshold = THRESHOLD,
		.receive_threshold = THRESHOLD,
		.reply_max = LIMIT,
	};
}

/* Sends the header. */
static void transmit(const struct adv_rpcrdma_header *h)
{
	uint8_t bytes[THRESHOLD];
	size_t used, length = adv_rpcrdma_header_encode(h, bytes, sizeof(bytes));

	assert_true(length > 0);
	assert_int_equal(adv_rpcrdma_header_decode(bytes, length, &received, &used),
			 ADV_RPCRDMA_OK);
	assert_int_equal(used, length);
}

/* Copies pieces of a message. Returns their length. */
static size_t join(const struct adv_rpcrdma_pieces *p, const uint8_t *from_body, uint8_t *out)
{
	size_t at = 0;

	for (unsigned i = 0; i < p->count; i++) {
		const struct adv_rpcrdma_piece *piece = &p->piece[i];

		if (piece->source == ADV_RPCRDMA_PAD)
			memset(out + at, 0, piece->length);
		else
			memcpy(out + at,
			       (piece->source == ADV_RPCRDMA_BODY ? from_body : data) +
				       piece->offset,
			       piece->length);
		at += piece->length;
	}
	return at;
}

/* Makes a message with items up to a length. Returns its length. */
static size_t make_message(struct adv_rng *rng, struct adv_rpcrdma_item *items, unsigned *count,
			   unsigned longest)
{
	size_t at = 40;

	for (size_t i = 0; i < sizeof(message); i++)
		message[i] = (uint8_t)(adv_rng_next(rng) | 1);
	*count = (unsigned)adv_rng_below(rng, 5);
	for (unsigned i = 0; i < *count; i++) {
		at += 4 * (1 + adv_rng_below(rng, 40));
		items[i].offset = at;
		items[i].length = adv_rng_below(rng, longest);
		at += items[i].length;
		memset(message + at, 0, adv_rpcrdma_pad(items[i].length));
		at += adv_rpcrdma_pad(items[i].length);
	}
	return at + 4 * adv_rng_below(rng, 400);
}

static void test_calls(void **state)
{
	unsigned seen[3] = {0}; /* inline, with chunks, long */
	struct adv_rpcrdma_item items[ADV_RPCRDMA_ITEMS_MAX];
	struct adv_rpcrdma_call call;
	uint8_t body[THRESHOLD];
	struct adv_rng rng;

	adv_rng_seed(&rng, 3);
	for (int i = 0; i < ROUNDS; i++) {
		unsigned count;
		size_t length = make_message(&rng, items, &count, i % 3 ? 2000 : 100), at = 0;
		struct adv_rpcrdma_message m = of_length(length);

		m.items = items;
		m.item_count = count;
		assert_true(adv_rpcrdma_request_plan(&m, &request));
		transmit(&request.header);
		join(&request.inlined, message, body);
		assert_true(
			adv_rpcrdma_call_plan(&received, 0, request.inlined.length, LIMIT, &call));
		for (unsigned n = 0; n < received.read_count; n++) {
			const struct adv_rpcrdma_segment *s = &received.reads[n].segment;

			assert_true(s->offset + s->length <= length);
			memcpy(data + at, message + s->offset, s->length);
			at += s->length;
		}
		assert_int_equal(at, call.fetched);
		assert_int_equal(join(&call.pieces, body, joined), length);
		assert_memory_equal(joined, message, length);
		seen[received.procedure == ADV_RPCRDMA_NOMSG ? 2 : received.read_count > 0]++;
	}
	assert_true(seen[0] > 100 && seen[1] > 100 && seen[2] > 100);
}

/* The responder writes its plan's transfers into the requester's memory. */
static void carry_out(size_t length)
{
	for (unsigned i = 0; i < reply.transfer_count; i++) {
		const struct adv_rpcrdma_transfer *t = &reply.transfers[i];

		assert_true(t->offset + t->to.length <= length);
		assert_true(t->to.offset + t->to.length <= request.reply_bytes);
		memcpy(memory + t->to.offset, message + t->offset, t->to.length);
	}
}

/* The requester makes the whole reply of what it has received. */
static void check_reply(const struct adv_rpcrdma_item *items, size_t length)
{
	struct adv_rpcrdma_item merged[ADV_RPCRDMA_ITEMS_MAX];
	bool reduced[ADV_RPCRDMA_WRITES_MAX];
	struct adv_rpcrdma_pieces pieces;
	uint8_t inlined[THRESHOLD];
	const uint8_t *body = inlined;
	size_t body_length = join(&reply.inlined, message, inlined), at = 0;
	unsigned count = 0;

	transmit(&reply.header);
	assert_true(adv_rpcrdma_reply_check(&request.header, &received, reduced));
	if (received.procedure == ADV_RPCRDMA_NOMSG) {
		body = memory + request.header.segments[request.header.reply.first].offset;
		body_length = adv_rpcrdma_chunk_length(&received, &received.reply);
	}
	for (unsigned i = 0; i < request.header.write_count; i++) {
		const struct adv_rpcrdma_chunk *chunk = &request.header.writes[i];

		if (!reduced[i])
			continue;
		merged[count++] = items[i];
		memcpy(data + at, memory + request.header.segments[chunk->first].offset,
		       items[i].length);
		at += items[i].length;
	}
	assert_true(adv_rpcrdma_merge(0, body_length, 0, merged, count, &pieces));
	assert_int_equal(join(&pieces, body, joined), length);
	assert_memory_equal(joined, message, length);
}

static void test_replies(void **state)
{
	unsigned seen[3] = {0}; /* inline, with chunks, long */
	struct adv_rpcrdma_item items[ADV_RPCRDMA_ITEMS_MAX];
	struct adv_rng rng;

	adv_rng_seed(&rng, 4);
	for (int i = 0; i < ROUNDS; i++) {
		uint32_t results[ADV_RPCRDMA_ITEMS_MAX];
		unsigned count;
		size_t length = make_message(&rng, items, &count, i % 3 ? 2000 : 100);
		struct adv_rpcrdma_message m = of_length(100);

		m.results = results;
		m.result_count = count;
		m.rest = length + adv_rng_below(&rng, 500);
		for (unsigned n = 0; n < count; n++) {
			results[n] = (uint32_t)(items[n].length + adv_rng_below(&rng, 100));
			m.rest -= items[n].length + adv_rpcrdma_pad(items[n].length);
		}
		assert_true(adv_rpcrdma_request_plan(&m, &request));
		assert_true(request.reply_bytes <= LIMIT);
		transmit(&request.header);
		assert_true(
			adv_rpcrdma_reply_plan(&received, length, items, count, THRESHOLD, &reply));
		carry_out(length);
		check_reply(items, length);
		seen[reply.header.procedure == ADV_RPCRDMA_NOMSG ? 2 : reply.transfer_count > 0]++;
	}
	assert_true(seen[0] > 100 && seen[1] > 100 && seen[2] > 100);
}

/* What the memory does not suffice for gets a smaller chunk, or none. */
/* A result that gets no write chunk is in the rest of the reply. */
static void test_results_without_chunk(void **state)
{
	static const uint32_t results[] = {0, 5000, 0};
	struct adv_rpcrdma_message m = of_length(100);

	m.results = results;
	m.result_count = 3;
	m.rest = 100;
	assert_true(adv_rpcrdma_request_plan(&m, &request));
	assert_int_equal(request.header.write_count, 2);
	assert_int_equal(request.header.writes[0].count, 0);
	assert_int_equal(request.header.segments[request.header.writes[1].first].length, 5000);
	assert_false(request.header.has_reply);
	m.result_count = 1;
	m.rest = 4200;
	assert_true(adv_rpcrdma_request_plan(&m, &request));
	assert_int_equal(request.header.write_count, 0);
	assert_true(request.header.has_reply);
}

static void test_little_memory(void **state)
{
	static const uint32_t results[] = {3000, UINT32_MAX, 5};
	struct adv_rpcrdma_message m = of_length(100);

	m.results = results;
	m.result_count = 3;
	m.rest = 2000;
	m.reply_max = 8000;
	assert_true(adv_rpcrdma_request_plan(&m, &request));
	assert_int_equal(request.reply_bytes, 8000);
	assert_int_equal(request.header.write_count, 3);
	assert_int_equal(request.header.segment_count, 2);
	assert_int_equal(request.header.segments[1].offset, 3000);
	assert_int_equal(request.header.segments[1].length, 5000);
	assert_int_equal(request.header.writes[2].count, 0);
	assert_true(request.header.has_reply);
	assert_int_equal(request.header.reply.count, 0);
}

/* A responder that states more than it was offered. */
static void test_hostile_replies(void **state)
{
	static const uint32_t results[] = {5000};
	bool reduced[ADV_RPCRDMA_WRITES_MAX];
	struct adv_rpcrdma_message m = of_length(100);
	struct adv_rpcrdma_header h;

	m.results = results;
	m.result_count = 1;
	m.rest = 3000;
	assert_true(adv_rpcrdma_request_plan(&m, &request));
	h = request.header;
	assert_true(adv_rpcrdma_reply_check(&request.header, &h, reduced));
	assert_true(reduced[0]);
	h.segments[0].length++;
	assert_false(adv_rpcrdma_reply_check(&request.header, &h, reduced));
	h = request.header;
	h.segments[1].length++;
	assert_false(adv_rpcrdma_reply_check(&request.header, &h, reduced));
	h = request.header;
	h.segments[0].handle++;
	assert_false(adv_rpcrdma_reply_check(&request.header, &h, reduced));
	h = request.header;
	h.segments[1].offset++;
	assert_false(adv_rpcrdma_reply_check(&request.header, &h, reduced));
	h = request.header;
	h.write_count++;
	assert_false(adv_rpcrdma_reply_check(&request.header, &h, reduced));
	h = request.header;
	h.procedure = ADV_RPCRDMA_NOMSG;
	h.has_reply = false;
	assert_false(adv_rpcrdma_reply_check(&request.header, &h, reduced));
	h = request.header;
	request.header.has_reply = false;
	assert_false(adv_rpcrdma_reply_check(&request.header, &h, reduced));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_replies),
		cmocka_unit_test(test_results_without_chunk),
		cmocka_unit_test(test_little_memory),
		cmocka_unit_test(test_hostile_replies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
