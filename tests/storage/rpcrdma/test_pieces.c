/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Messages are split and joined: the bytes that arrive are those that were sent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "storage/rpcrdma/pieces.h"

enum { MESSAGE_MAX = 8192, LIMIT = 1 << 20 };

static uint8_t message[MESSAGE_MAX], joined[MESSAGE_MAX], body[MESSAGE_MAX], memory[MESSAGE_MAX];
static struct adv_rpcrdma_header header;
static struct adv_rpcrdma_reply reply;

static size_t join(const struct adv_rpcrdma_pieces *p, const uint8_t *from_body,
		   const uint8_t *from_data)
{
	size_t at = 0;

	for (unsigned i = 0; i < p->count; i++) {
		const struct adv_rpcrdma_piece *piece = &p->piece[i];

		if (piece->source == ADV_RPCRDMA_PAD)
			memset(joined + at, 0, piece->length);
		else
			memcpy(joined + at,
			       (piece->source == ADV_RPCRDMA_BODY ? from_body : from_data) +
				       piece->offset,
			       piece->length);
		at += piece->length;
	}
	assert_int_equal(at, p->length);
	return at;
}

/* Makes a message with up to `max` items, whose padding is zero. Returns its length. */
static size_t make_message(struct adv_rng *rng, struct adv_rpcrdma_item *items, unsigned *count,
			   unsigned max)
{
	size_t at = 0;

	for (size_t i = 0; i < sizeof(message); i++)
		message[i] = (uint8_t)(adv_rng_next(rng) | 1);
	*count = (unsigned)adv_rng_below(rng, max + 1);
	for (unsigned i = 0; i < *count; i++) {
		at += 4 * (1 + adv_rng_below(rng, 20));
		items[i].offset = at;
		items[i].length = adv_rng_below(rng, 300);
		at += items[i].length;
		memset(message + at, 0, adv_rpcrdma_pad(items[i].length));
		at += adv_rpcrdma_pad(items[i].length);
	}
	return at + 4 * adv_rng_below(rng, 40);
}

static void test_split_and_join(void **state)
{
	struct adv_rpcrdma_item items[ADV_RPCRDMA_ITEMS_MAX];
	bool all[ADV_RPCRDMA_ITEMS_MAX];
	struct adv_rpcrdma_pieces p;
	struct adv_rng rng;
	unsigned count;

	memset(all, 1, sizeof(all));
	adv_rng_seed(&rng, 7);
	for (unsigned round = 0; round < 2000; round++) {
		size_t len = make_message(&rng, items, &count, ADV_RPCRDMA_ITEMS_MAX), reduced;
		size_t data = 0;

		adv_rpcrdma_reduce(len, items, all, count, &p);
		reduced = join(&p, message, NULL);
		memcpy(body, joined, reduced);
		for (unsigned i = 0; i < count; i++) {
			memcpy(memory + data, message + items[i].offset, items[i].length);
			data += items[i].length;
		}
		assert_true(adv_rpcrdma_merge(0, reduced, 0, items, count, &p));
		assert_int_equal(join(&p, body, memory), len);
		assert_memory_equal(joined, message, len);
	}
}

/* Carries out a plan: writes what it transfers to `memory`, whose addresses begin at 0. */
static void carry_out(void)
{
	for (unsigned i = 0; i < reply.transfer_count; i++) {
		const struct adv_rpcrdma_transfer *t = &reply.transfers[i];

		assert_true(t->to.offset + t->to.length <= sizeof(memory));
		memcpy(memory + t->to.offset, message + t->offset, t->to.length);
	}
}

/* Adds a chunk of `length` bytes in segments of random lengths; `at` is the next free address. */
static void add_chunk(struct adv_rng *rng, struct adv_rpcrdma_chunk *chunk, size_t length,
		      uint64_t *at)
{
	chunk->first = header.segment_count;
	chunk->count = 0;
	while (length > 0) {
		uint32_t n = (uint32_t)(1 + adv_rng_below(rng, length));

		if (chunk->count == 5)
			n = (uint32_t)length;
		header.segments[header.segment_count++] = (struct adv_rpcrdma_segment){1, n, *at};
		*at += n;
		length -= n;
		chunk->count++;
	}
}

static void test_replies(void **state)
{
	struct adv_rpcrdma_item items[ADV_RPCRDMA_ITEMS_MAX];
	struct adv_rng rng;
	unsigned count;

	adv_rng_seed(&rng, 8);
	for (unsigned round = 0; round < 2000; round++) {
		size_t len = make_message(&rng, items, &count, 6);
		uint64_t address = 0;

		memset(&header, 0, sizeof(header));
		header.write_count = (unsigned)adv_rng_below(&rng, count + 2);
		for (unsigned i = 0; i < header.write_count; i++) {
			size_t room = i < count ? items[i].length : 0;

			add_chunk(&rng, &header.writes[i], room + adv_rng_below(&rng, 50),
				  &address);
		}
		header.has_reply = adv_rng_below(&rng, 2);
		if (header.has_reply)
			add_chunk(&rng, &header.reply, len, &address);
		if (!adv_rpcrdma_reply_plan(&header, len, items, count,
					    header.has_reply ? 600 : MESSAGE_MAX, &reply)) {
			assert_true(header.has_reply); /* the header itself may be too long */
			continue;
		}
		carry_out();
		/* Each item is where its chunk says. */
		for (unsigned i = 0; i < header.write_count && i < count; i++) {
			size_t at = items[i].offset, sent = 0;

			for (unsigned s = 0; s < header.writes[i].count; s++) {
				unsigned k = header.writes[i].first + s;
				const struct adv_rpcrdma_segment *to = &reply.header.segments[k];

				assert_true(to->length <= header.segments[k].length);
				assert_memory_equal(memory + to->offset, message + at + sent,
						    to->length);
				sent += to->length;
			}
			assert_int_equal(sent, header.writes[i].count ? items[i].length : 0);
		}
		if (reply.header.procedure == ADV_RPCRDMA_NOMSG)
			assert_int_equal(reply.inlined.count, 0);
		else
			assert_int_equal(
				adv_rpcrdma_chunk_length(&reply.header, &reply.header.reply), 0);
	}
}

static void test_reply_too_long(void **state)
{
	struct adv_rpcrdma_item item = {28, 100};

	memset(&header, 0, sizeof(header));
	assert_false(adv_rpcrdma_reply_plan(&header, 1024, NULL, 0, 1024, &reply));
	assert_true(adv_rpcrdma_reply_plan(&header, 1024 - 28, NULL, 0, 1024, &reply));
	header.has_reply = true;
	header.reply.count = 1;
	header.segment_count = 1;
	header.segments[0].length = 1023;
	assert_false(adv_rpcrdma_reply_plan(&header, 1024, NULL, 0, 1024, &reply));
	header.segments[0].length = 1024;
	assert_true(adv_rpcrdma_reply_plan(&header, 1024, NULL, 0, 1024, &reply));
	assert_int_equal(reply.header.procedure, ADV_RPCRDMA_NOMSG);
	assert_int_equal(reply.header.segments[0].length, 1024);
	header.has_reply = false;
	header.write_count = 1;
	header.writes[0].count = 1;
	header.segments[0].length = 99;
	assert_false(adv_rpcrdma_reply_plan(&header, 128, &item, 1, 4096, &reply));
	header.segments[0].length = 100;
	assert_true(adv_rpcrdma_reply_plan(&header, 128, &item, 1, 4096, &reply));
	assert_int_equal(reply.inlined.length, 28);
	/* A chunk without segments leaves the item in the message. */
	header.writes[0].count = 0;
	header.segment_count = 0;
	assert_true(adv_rpcrdma_reply_plan(&header, 128, &item, 1, 4096, &reply));
	assert_int_equal(reply.transfer_count, 0);
	assert_int_equal(reply.inlined.length, 128);
}

static void test_calls(void **state)
{
	struct adv_rpcrdma_call call;

	memset(&header, 0, sizeof(header));
	header.read_count = 3;
	header.reads[0] = (struct adv_rpcrdma_read){100, {1, 10, 0}};
	header.reads[1] = (struct adv_rpcrdma_read){100, {1, 5, 0}};
	header.reads[2] = (struct adv_rpcrdma_read){120, {1, 8, 0}};
	assert_true(adv_rpcrdma_call_plan(&header, 40, 104, LIMIT, &call));
	assert_int_equal(call.fetched, 23);
	assert_int_equal(call.pieces.length, 104 + 16 + 8);
	assert_int_equal(call.pieces.piece[0].offset, 40);
	assert_int_equal(call.pieces.piece[0].length, 100);
	assert_false(adv_rpcrdma_call_plan(&header, 40, 103, LIMIT, &call)); /* beyond the end */
	assert_false(adv_rpcrdma_call_plan(&header, 40, 104, 22, &call));
	assert_false(adv_rpcrdma_call_plan(&header, 40, 104, 127, &call));
	header.reads[2].position = 112; /* inside the item before it */
	assert_false(adv_rpcrdma_call_plan(&header, 40, 104, LIMIT, &call));
	header.reads[2].position = 96; /* not in order */
	assert_false(adv_rpcrdma_call_plan(&header, 40, 104, LIMIT, &call));
	header.reads[2].position = 118; /* not aligned */
	assert_false(adv_rpcrdma_call_plan(&header, 40, 104, LIMIT, &call));
	header.reads[0].segment.length = 0xffffffff;
	assert_false(adv_rpcrdma_call_plan(&header, 40, 104, LIMIT, &call));
}

static void test_long_calls(void **state)
{
	struct adv_rpcrdma_call call;

	memset(&header, 0, sizeof(header));
	header.procedure = ADV_RPCRDMA_NOMSG;
	assert_false(adv_rpcrdma_call_plan(&header, 40, 0, LIMIT, &call));
	header.read_count = 2;
	header.reads[0] = (struct adv_rpcrdma_read){0, {1, 200, 0}};
	header.reads[1] = (struct adv_rpcrdma_read){100, {1, 7, 0}};
	assert_true(adv_rpcrdma_call_plan(&header, 40, 0, LIMIT, &call));
	assert_int_equal(call.fetched, 207);
	assert_int_equal(call.pieces.length, 208);
	assert_int_equal(call.pieces.count, 4);
	assert_int_equal(call.pieces.piece[1].source, ADV_RPCRDMA_DATA);
	assert_int_equal(call.pieces.piece[1].offset, 200);
	assert_int_equal(call.pieces.piece[3].offset, 100);
	header.procedure = ADV_RPCRDMA_MSG;
	assert_false(adv_rpcrdma_call_plan(&header, 40, 100, LIMIT, &call));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_split_and_join), cmocka_unit_test(test_replies),
		cmocka_unit_test(test_reply_too_long), cmocka_unit_test(test_calls),
		cmocka_unit_test(test_long_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
