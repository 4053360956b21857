/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Requests with RDMA channels, and their responses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "build.h"
#include "storage/smb2/requests.h"

enum { LONGEST = 1 << 20, OF_STATUS = 8 };

static struct adv_smb2_requests requests;
static struct adv_smb2_plan plan;
static uint8_t m[8192], joined[8192];

static int setup(void **state)
{
	adv_smb2_requests_init(&requests, LONGEST);
	memset(m, 0, sizeof(m));
	return 0;
}

static int teardown(void **state)
{
	adv_smb2_requests_free(&requests);
	assert_int_equal(requests.count, 0);
	return 0;
}

/* Copies the parts of the plan to `joined`. Returns their length. */
static size_t gather(void)
{
	size_t at = 0;

	for (unsigned i = 0; i < plan.part_count; i++) {
		memcpy(joined + at, plan.parts[i].iov_base, plan.parts[i].iov_len);
		at += plan.parts[i].iov_len;
	}
	assert_int_equal(at, plan.length);
	return at;
}

/* Plans and joins a request whose data is `data`. Returns the length of the result. */
static size_t forward(size_t length, uint8_t *data)
{
	uint8_t *const all[ADV_SMB2_TRANSFERS_MAX] = {data, data, data};

	assert_true(adv_smb2_request_plan(&requests, m, length, &plan));
	adv_smb2_request_join(&plan, m, length, all);
	return gather();
}

static struct adv_smb2_io io_at(size_t offset, size_t length)
{
	struct adv_smb2_element e;
	struct adv_smb2_io io;

	assert_true(adv_smb2_element_at(joined, length, offset, &e));
	assert_true(adv_smb2_io_decode(joined + offset, &e, &io));
	return io;
}

static void test_write(void **state)
{
	size_t length = build_io(m, ADV_SMB2_WRITE, 3, ADV_SMB2_CHANNEL_RDMA_V1, 5, 2, 3);
	struct adv_smb2_io io;

	assert_int_equal(forward(length, (uint8_t *)"hello"), 117);
	assert_int_equal(plan.count, 1);
	assert_int_equal(plan.transfer[0]->command, ADV_SMB2_WRITE);
	assert_int_equal(plan.transfer[0]->length, 5);
	assert_int_equal(plan.transfer[0]->count, 2);
	assert_int_equal(plan.transfer[0]->descriptors[1].token, 101);
	assert_int_equal(plan.transfer[0]->descriptors[1].length, 3);
	io = io_at(0, 117);
	assert_int_equal(io.channel, 0);
	assert_int_equal(io.channel_offset, 0);
	assert_int_equal(io.channel_length, 0);
	assert_int_equal(io.length, 5);
	assert_int_equal(io.remaining, 0);
	assert_int_equal(io.data_offset, 112);
	assert_memory_equal(joined + 112, "hello", 5);
	assert_int_equal(requests.refusals, 0);
	/* the response is not changed */
	build_header(m, ADV_SMB2_WRITE, 3, ADV_SMB2_FLAG_RESPONSE, 0);
	assert_true(adv_smb2_response_plan(&requests, m, 80, &plan));
	assert_int_equal(plan.length, 80);
	assert_int_equal(plan.count, 0);
	assert_int_equal(plan.key, 0);
	assert_int_equal(requests.count, 0);
}

static void test_read(void **state)
{
	size_t length =
		build_io(m, ADV_SMB2_READ, 9, ADV_SMB2_CHANNEL_RDMA_V1_INVALIDATE, 100, 1, 100);
	struct adv_smb2_io io;

	m[67] = 3; /* READ_UNBUFFERED, REQUEST_COMPRESSED */
	assert_int_equal(forward(length, NULL), length);
	assert_int_equal(plan.count, 1);
	io = io_at(0, length);
	assert_int_equal(io.channel, 0);
	assert_int_equal(io.channel_length, 0);
	assert_int_equal(io.length, 100);
	assert_int_equal(joined[67], 1);
	for (size_t i = ADV_SMB2_IO_LEN; i < length; i++) /* nothing of the descriptor */
		assert_int_equal(joined[i], 0);
	length = build_read_response(m, 9, 0, "the data", 8);
	assert_true(adv_smb2_response_plan(&requests, m, length, &plan));
	assert_int_equal(plan.count, 1);
	assert_int_equal(plan.key, 100);
	assert_int_equal(plan.transfer[0]->length, 8);
	assert_memory_equal(m + plan.transfer[0]->out, "the data", 8);
	assert_int_equal(gather(), 80);
	assert_int_equal(adv_get_le32(joined + 68), 0); /* DataLength */
	assert_int_equal(adv_get_le32(joined + 72), 8); /* DataRemaining */
	adv_smb2_plan_free(&plan);
	assert_int_equal(requests.count, 0);
}

static void test_read_pending(void **state)
{
	size_t length = build_io(m, ADV_SMB2_READ, 9, ADV_SMB2_CHANNEL_RDMA_V1, 100, 1, 100);

	forward(length, NULL);
	length = build_read_response(m, 9, ADV_SMB2_STATUS_PENDING, NULL, 0);
	adv_put_le32(m + 16, ADV_SMB2_FLAG_RESPONSE | ADV_SMB2_FLAG_ASYNC);
	assert_true(adv_smb2_response_plan(&requests, m, length, &plan));
	assert_int_equal(requests.count, 1);
	/* an error has no data */
	length = build_read_response(m, 9, 0xc0000011, "x", 1);
	assert_true(adv_smb2_response_plan(&requests, m, length, &plan));
	assert_int_equal(plan.count, 0);
	assert_int_equal(plan.length, length);
	assert_int_equal(requests.count, 0);
}

static void test_wrong_responses(void **state)
{
	size_t length;

	for (int i = 0; i < 4; i++) {
		length = build_io(m, ADV_SMB2_READ, 9, ADV_SMB2_CHANNEL_RDMA_V1, 4, 1, 4);
		forward(length, NULL);
		length = build_read_response(m, 9, 0, "12345", i == 0 ? 5 : 4);
		if (i == 1)
			adv_put_le32(m + 16, ADV_SMB2_FLAG_RESPONSE | ADV_SMB2_FLAG_SIGNED);
		if (i == 2)
			adv_put_le16(m + 12, ADV_SMB2_WRITE);
		if (i == 3)
			adv_put_le32(m + 68, 5); /* behind the end */
		assert_false(adv_smb2_response_plan(&requests, m, length, &plan));
		adv_smb2_requests_free(&requests);
	}
	assert_int_equal(requests.count, 0);
}

/* True if the request was made one that the server refuses. */
static bool refused(size_t length)
{
	unsigned before = requests.refusals;

	assert_int_equal(forward(length, NULL), length);
	assert_int_equal(io_at(0, length).channel, 0);
	adv_smb2_requests_free(&requests);
	return requests.refusals == before + 1 && adv_get_le16(joined + 64) == 0;
}

static void test_refusals(void **state)
{
	const uint32_t v1 = ADV_SMB2_CHANNEL_RDMA_V1;
	size_t length = build_io(m, ADV_SMB2_READ, 1, v1, 100, 1, 100);

	assert_false(refused(length));
	adv_put_le32(m + 16, ADV_SMB2_FLAG_SIGNED);
	build_io(m, ADV_SMB2_READ, 1, v1, 100, 1, 100);
	adv_put_le32(m + 16, ADV_SMB2_FLAG_SIGNED);
	assert_true(refused(length));
	assert_true(refused(build_io(m, ADV_SMB2_READ, 1, 3, 100, 1, 100)));
	assert_true(refused(build_io(m, ADV_SMB2_READ, 1, v1, 101, 1, 100)));
	assert_true(refused(build_io(m, ADV_SMB2_WRITE, 1, v1, 101, 1, 100)));
	assert_true(refused(build_io(m, ADV_SMB2_READ, 1, v1, LONGEST + 1, 2, LONGEST)));
	assert_true(refused(build_io(m, ADV_SMB2_READ, 1, v1, 1, 0, 0)));
	assert_true(refused(build_io(m, ADV_SMB2_READ, 1, v1, 1, 33, 100)));
	length = build_io(m, ADV_SMB2_WRITE, 1, v1, 100, 1, 100);
	adv_put_le32(m + 68, 1); /* data in the message as well */
	assert_true(refused(length));
	length = build_io(m, ADV_SMB2_WRITE, 1, v1, 100, 1, 100);
	adv_put_le16(m + 66, 112);
	assert_true(refused(length));
}

static void test_wrong_channel_information(void **state)
{
	static const uint16_t wrong[][2] = {{111, 16},	 {113, 16}, {0, 16},
					    {65535, 16}, {112, 15}, {112, 32}};

	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		size_t length = build_io(m, ADV_SMB2_READ, 1, 2, 10, 1, 100);

		adv_put_le16(m + 108, wrong[i][0]);
		adv_put_le16(m + 110, wrong[i][1]);
		assert_true(refused(length));
	}
}

static void test_passes(void **state)
{
	size_t length = build_io(m, ADV_SMB2_READ, 1, 0, 10, 1, 10);

	memcpy(joined, m, length);
	assert_true(adv_smb2_request_plan(&requests, m, length, &plan));
	assert_int_equal(plan.count, 0);
	assert_memory_equal(joined, m, length);
	assert_int_equal(requests.count, 0);
	m[0] = 0xfd; /* encrypted: whatever the bytes are */
	m[100] = 1;
	assert_true(adv_smb2_request_plan(&requests, m, length, &plan));
	assert_int_equal(plan.count, 0);
	/* a response that no request waits for */
	length = build_read_response(m, 5, 0, "data", 4);
	assert_true(adv_smb2_response_plan(&requests, m, length, &plan));
	assert_int_equal(plan.count, 0);
	assert_int_equal(plan.length, length);
}

static void test_unsent(void **state)
{
	size_t length = build_io(m, ADV_SMB2_READ, 1, 1, 10, 1, 10);

	/* A server that responds before the request was sent. */
	assert_true(adv_smb2_request_plan(&requests, m, length, &plan));
	length = build_read_response(m, 1, 0, "data", 4);
	assert_true(adv_smb2_response_plan(&requests, m, length, &plan));
	assert_int_equal(plan.count, 0);
	assert_int_equal(requests.count, 1);
}

static void test_too_many(void **state)
{
	size_t length;

	for (unsigned i = 0; i < ADV_SMB2_PENDING_MAX; i++)
		forward(build_io(m, ADV_SMB2_READ, i, 1, 10, 1, 10), NULL);
	length = build_io(m, ADV_SMB2_READ, 100000, 1, 10, 1, 10);
	assert_false(adv_smb2_request_plan(&requests, m, length, &plan));
	adv_smb2_requests_free(&requests);
	forward(build_io(m, ADV_SMB2_READ, 7, 1, 10, 1, 10), NULL);
	length = build_io(m, ADV_SMB2_READ, 7, 1, 10, 1, 10);
	assert_false(adv_smb2_request_plan(&requests, m, length, &plan));
}

/* Three requests in one message: a WRITE, a READ, and one of another kind. */
static size_t build_compound(void)
{
	build_io(m, ADV_SMB2_WRITE, 1, 1, 5, 1, 10);
	adv_smb2_set_next(m, 128);
	build_io(m + 128, ADV_SMB2_READ, 2, 2, 10, 1, 10);
	adv_smb2_set_next(m + 128, 128);
	build_header(m + 256, 6, 3, 0, 0);
	memset(m + 320, 0x77, 24);
	return 344;
}

static void test_compound(void **state)
{
	struct adv_smb2_element e;
	size_t length = build_compound(), got;

	got = forward(length, (uint8_t *)"hello");
	assert_int_equal(got, 120 + 128 + 88);
	assert_int_equal(plan.count, 2);
	assert_true(adv_smb2_element_at(joined, got, 0, &e));
	assert_int_equal(e.length, 120);
	assert_memory_equal(joined + 112, "hello\0\0\0", 8);
	assert_int_equal(io_at(0, got).length, 5);
	assert_true(adv_smb2_element_at(joined, got, 120, &e));
	assert_int_equal(e.message_id, 2);
	assert_int_equal(io_at(120, got).channel, 0);
	assert_true(adv_smb2_element_at(joined, got, 248, &e));
	assert_int_equal(e.message_id, 3);
	assert_memory_equal(joined + 312, m + 320, 24);
	/* the responses, in one message as well */
	build_header(m, ADV_SMB2_WRITE, 1, ADV_SMB2_FLAG_RESPONSE, 80);
	build_read_response(m + 80, 2, 0, "0123456789", 10);
	adv_smb2_set_next(m + 80, 96);
	build_header(m + 176, 6, 3, ADV_SMB2_FLAG_RESPONSE, 0);
	assert_true(adv_smb2_response_plan(&requests, m, 244, &plan));
	assert_int_equal(plan.count, 1);
	assert_int_equal(plan.key, 100);
	assert_memory_equal(m + plan.transfer[0]->out, "0123456789", 10);
	got = gather();
	assert_int_equal(got, 80 + 80 + 68);
	assert_true(adv_smb2_element_at(joined, got, 80, &e));
	assert_int_equal(e.length, 80);
	assert_true(adv_smb2_element_at(joined, got, 160, &e));
	assert_int_equal(e.message_id, 3);
	adv_smb2_plan_free(&plan);
	assert_int_equal(requests.count, 0);
}

static void test_wrong_chain(void **state)
{
	size_t length = build_compound();

	adv_smb2_set_next(m + 128, 300);
	assert_false(adv_smb2_request_plan(&requests, m, length, &plan));
	adv_smb2_requests_free(&requests);
	length = build_compound();
	m[128] = 0xfd;
	assert_false(adv_smb2_request_plan(&requests, m, length, &plan));
	adv_smb2_requests_free(&requests);
	length = build_compound();
	assert_false(adv_smb2_request_plan(&requests, m, 256 + 63, &plan));
	adv_smb2_requests_free(&requests);
	build_header(m, 1, 2, ADV_SMB2_FLAG_RESPONSE, 4);
	assert_false(adv_smb2_response_plan(&requests, m, length, &plan));
}

static void test_many_transfers(void **state)
{
	size_t at = 0;

	for (unsigned i = 0; i <= ADV_SMB2_TRANSFERS_MAX; i++, at += 128) {
		build_io(m + at, ADV_SMB2_READ, i, 1, 10, 1, 10);
		adv_smb2_set_next(m + at, i == ADV_SMB2_TRANSFERS_MAX ? 0 : 128);
	}
	assert_false(adv_smb2_request_plan(&requests, m, at, &plan));
	adv_smb2_requests_free(&requests);
	at = 0;
	for (unsigned i = 0; i < ADV_SMB2_TRANSFERS_MAX; i++, at += 128) {
		build_io(m + at, ADV_SMB2_WRITE, i, 1, 9, 1, 10);
		adv_smb2_set_next(m + at, i == ADV_SMB2_TRANSFERS_MAX - 1 ? 0 : 128);
	}
	assert_true(adv_smb2_request_plan(&requests, m, at, &plan));
	assert_int_equal(plan.count, ADV_SMB2_TRANSFERS_MAX);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_write),	 TEST(test_read),
		TEST(test_read_pending), TEST(test_wrong_responses),
		TEST(test_refusals),	 TEST(test_wrong_channel_information),
		TEST(test_passes),	 TEST(test_unsent),
		TEST(test_too_many),	 TEST(test_compound),
		TEST(test_wrong_chain),	 TEST(test_many_transfers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
