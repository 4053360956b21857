/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The transport header: fields are at their places, and wrong lists are rejected. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "storage/rpcrdma/header.h"
#include "base/bytes.h"

/* XID 0x01020304, version 1, 128 credits, RDMA_MSG; a read segment, a write chunk of two segments,
 * an empty write chunk, a reply chunk of one segment. */
static const uint32_t full[] = {
	0x01020304, 1,	 128, 0,					  /* fixed */
	1,	    148, 7,   4096,  0x11111111, 0x22222000,		  /* read */
	0,								  /* end of the read list */
	1,	    2,	 8,   1000,  0,		 0x5000,     9, 24, 1, 2, /* write chunk */
	1,	    0,				    /* write chunk without segments */
	0,					    /* end of the write list */
	1,	    1,	 10,  65536, 3,		 4, /* reply chunk */
};

enum { FULL_LEN = sizeof(full) };

static uint8_t *bytes_of(const uint32_t *words, size_t len)
{
	uint8_t *out = malloc(len);

	for (size_t i = 0; i < len / 4; i++)
		adv_put_be32(out + 4 * i, words[i]);
	return out;
}

static enum adv_rpcrdma_decoded decode(const uint8_t *in, size_t len, struct adv_rpcrdma_header *h,
				       size_t *used)
{
	uint8_t *copy = malloc(len ? len : 1);
	enum adv_rpcrdma_decoded result;

	memcpy(copy, in, len);
	result = adv_rpcrdma_header_decode(copy, len, h, used);
	free(copy);
	return result;
}

static void test_full(void **state)
{
	uint8_t *in = bytes_of(full, FULL_LEN), out[FULL_LEN];
	static struct adv_rpcrdma_header h;
	size_t used;

	assert_int_equal(decode(in, FULL_LEN, &h, &used), ADV_RPCRDMA_OK);
	assert_int_equal(used, FULL_LEN);
	assert_int_equal(h.xid, 0x01020304);
	assert_int_equal(h.credits, 128);
	assert_int_equal(h.procedure, ADV_RPCRDMA_MSG);
	assert_int_equal(h.read_count, 1);
	assert_int_equal(h.reads[0].position, 148);
	assert_int_equal(h.reads[0].segment.handle, 7);
	assert_int_equal(h.reads[0].segment.length, 4096);
	assert_true(h.reads[0].segment.offset == 0x1111111122222000);
	assert_int_equal(h.write_count, 2);
	assert_int_equal(h.writes[0].count, 2);
	assert_int_equal(h.segments[h.writes[0].first + 1].handle, 9);
	assert_true(adv_rpcrdma_chunk_length(&h, &h.writes[0]) == 1024);
	assert_int_equal(h.writes[1].count, 0);
	assert_true(h.has_reply);
	assert_true(adv_rpcrdma_chunk_length(&h, &h.reply) == 65536);
	assert_int_equal(adv_rpcrdma_header_size(&h), FULL_LEN);
	assert_int_equal(adv_rpcrdma_header_encode(&h, out, FULL_LEN - 1), 0);
	assert_int_equal(adv_rpcrdma_header_encode(&h, out, FULL_LEN), FULL_LEN);
	assert_memory_equal(in, out, FULL_LEN);
	free(in);
}

static void test_truncated(void **state)
{
	uint8_t *in = bytes_of(full, FULL_LEN);
	static struct adv_rpcrdma_header h;
	size_t used;

	for (size_t len = 0; len < FULL_LEN; len++)
		assert_int_equal(decode(in, len, &h, &used),
				 len < 8 ? ADV_RPCRDMA_TRUNCATED : ADV_RPCRDMA_BAD_HEADER);
	free(in);
}

/* Sets a word of the full header, and returns how it is decoded. */
static enum adv_rpcrdma_decoded decode_with(unsigned word, uint32_t value)
{
	static struct adv_rpcrdma_header h;
	uint8_t *in = bytes_of(full, FULL_LEN);
	enum adv_rpcrdma_decoded result;
	size_t used;

	adv_put_be32(in + 4 * word, value);
	result = decode(in, FULL_LEN, &h, &used);
	free(in);
	return result;
}

static void test_wrong(void **state)
{
	assert_int_equal(decode_with(1, 2), ADV_RPCRDMA_BAD_VERSION);
	assert_int_equal(decode_with(3, ADV_RPCRDMA_MSGP), ADV_RPCRDMA_BAD_HEADER);
	assert_int_equal(decode_with(3, ADV_RPCRDMA_DONE), ADV_RPCRDMA_OK);
	assert_int_equal(decode_with(3, 5), ADV_RPCRDMA_BAD_HEADER);
	assert_int_equal(decode_with(4, 2), ADV_RPCRDMA_BAD_HEADER);	       /* no boolean */
	assert_int_equal(decode_with(8, 0xffffffff), ADV_RPCRDMA_OK);	       /* a high address */
	assert_int_equal(decode_with(12, 0x10000000), ADV_RPCRDMA_BAD_HEADER); /* segments */
	assert_int_equal(decode_with(12, 257), ADV_RPCRDMA_BAD_HEADER);
	assert_int_equal(decode_with(12, 0xffffffff), ADV_RPCRDMA_BAD_HEADER);
}

static void test_address_wraps(void **state)
{
	uint32_t words[] = {1, 1, 1, 0, 1, 0, 1, 0x2000, 0xffffffff, 0xfffff000, 0, 0, 0};
	uint8_t *in = bytes_of(words, sizeof(words));
	static struct adv_rpcrdma_header h;
	size_t used;

	assert_int_equal(decode(in, sizeof(words), &h, &used), ADV_RPCRDMA_BAD_HEADER);
	adv_put_be32(in + 28, 0xfff);
	assert_int_equal(decode(in, sizeof(words), &h, &used), ADV_RPCRDMA_OK);
	free(in);
}

static void test_many(void **state)
{
	static struct adv_rpcrdma_header h, back;
	static uint8_t out[16384];
	size_t len, used;

	h.version = ADV_RPCRDMA_VERSION;
	h.read_count = ADV_RPCRDMA_READS_MAX;
	h.write_count = ADV_RPCRDMA_WRITES_MAX;
	len = adv_rpcrdma_header_encode(&h, out, sizeof(out));
	assert_int_equal(decode(out, len, &back, &used), ADV_RPCRDMA_OK);
	assert_int_equal(back.read_count, ADV_RPCRDMA_READS_MAX);
	/* One more of each: the end of the list becomes another element. */
	memmove(out + 16 + 24, out + 16, len - 16);
	assert_int_equal(decode(out, len + 24, &back, &used), ADV_RPCRDMA_BAD_HEADER);
	h.read_count = 0;
	len = adv_rpcrdma_header_encode(&h, out, sizeof(out));
	memmove(out + 20 + 8, out + 20, len - 20);
	assert_int_equal(decode(out, len + 8, &back, &used), ADV_RPCRDMA_BAD_HEADER);
}

static void test_many_segments(void **state)
{
	static struct adv_rpcrdma_header h = {
		.version = ADV_RPCRDMA_VERSION,
		.writes = {{0, 100}},
		.write_count = 1,
		.reply = {100, ADV_RPCRDMA_SEGMENTS_MAX - 100},
		.has_reply = true,
		.segment_count = ADV_RPCRDMA_SEGMENTS_MAX,
	};
	static struct adv_rpcrdma_header back;
	static uint8_t out[16384];
	size_t used, len = adv_rpcrdma_header_encode(&h, out, sizeof(out));
	size_t count = len - h.reply.count * (size_t)16 - 4;

	assert_int_equal(decode(out, len, &back, &used), ADV_RPCRDMA_OK);
	assert_int_equal(back.segment_count, ADV_RPCRDMA_SEGMENTS_MAX);
	/* One more, which is in the message. */
	adv_put_be32(out + count, h.reply.count + 1);
	assert_int_equal(decode(out, len + 16, &back, &used), ADV_RPCRDMA_BAD_HEADER);
	assert_true(back.segment_count <= ADV_RPCRDMA_SEGMENTS_MAX);
}

static void test_errors(void **state)
{
	static struct adv_rpcrdma_header h = {.xid = 5,
					      .version = 1,
					      .credits = 3,
					      .procedure = ADV_RPCRDMA_ERROR,
					      .error = ADV_RPCRDMA_ERR_VERS,
					      .version_low = 1,
					      .version_high = 1};
	static struct adv_rpcrdma_header back;
	uint8_t out[ADV_RPCRDMA_ERROR_LEN];
	size_t used;

	assert_int_equal(adv_rpcrdma_header_encode(&h, out, sizeof(out)), ADV_RPCRDMA_ERROR_LEN);
	assert_int_equal(decode(out, sizeof(out), &back, &used), ADV_RPCRDMA_OK);
	assert_int_equal(back.error, ADV_RPCRDMA_ERR_VERS);
	assert_int_equal(back.version_high, 1);
	assert_int_equal(decode(out, 20, &back, &used), ADV_RPCRDMA_BAD_HEADER);
	h.error = ADV_RPCRDMA_ERR_CHUNK;
	assert_int_equal(adv_rpcrdma_header_encode(&h, out, sizeof(out)), 20);
	assert_int_equal(decode(out, 20, &back, &used), ADV_RPCRDMA_OK);
	assert_int_equal(back.error, ADV_RPCRDMA_ERR_CHUNK);
	adv_put_be32(out + 16, 3);
	assert_int_equal(decode(out, 20, &back, &used), ADV_RPCRDMA_BAD_HEADER);
}

static void test_invalidatable(void **state)
{
	static struct adv_rpcrdma_header h;

	assert_int_equal(adv_rpcrdma_invalidatable(&h), 0);
	h.read_count = 1;
	h.reads[0].segment.handle = 9;
	h.segment_count = 2;
	h.segments[0].handle = h.segments[1].handle = 9;
	assert_int_equal(adv_rpcrdma_invalidatable(&h), 9);
	h.segments[1].handle = 8;
	assert_int_equal(adv_rpcrdma_invalidatable(&h), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full),	      cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_wrong),	      cmocka_unit_test(test_address_wraps),
		cmocka_unit_test(test_many),	      cmocka_unit_test(test_errors),
		cmocka_unit_test(test_invalidatable), cmocka_unit_test(test_many_segments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
