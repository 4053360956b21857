/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The messages, byte by byte: those of the example in MS-SMBD, section 4.1, and wrong ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "storage/smbdirect/message.h"

static const uint8_t request[] = {0x00, 0x01, 0x00, 0x01, 0, 0, 10, 0, 0, 4,
				  0,	0,    0,    4,	  0, 0, 0,  0, 2, 0};
static const uint8_t response[] = {0x00, 0x01, 0x00, 0x01, 0x00, 0x01, 0, 0,  10, 0, 10,
				   0,	 0,    0,    0,	   0,	 0,    0, 16, 0,  0, 4,
				   0,	 0,    0,    4,	   0,	 0,    0, 0,  2,  0};

static void test_request(void **state)
{
	uint8_t out[ADV_SMBD_REQUEST_LEN];
	struct adv_smbd_request r;

	assert_true(adv_smbd_request_decode(request, sizeof(request), &r));
	assert_int_equal(r.min_version, ADV_SMBD_VERSION);
	assert_int_equal(r.max_version, ADV_SMBD_VERSION);
	assert_int_equal(r.credits_requested, 10);
	assert_int_equal(r.send_size, 1024);
	assert_int_equal(r.receive_size, 1024);
	assert_int_equal(r.fragmented_size, 131072);
	adv_smbd_request_encode(&r, out);
	assert_memory_equal(out, request, sizeof(out));
	assert_false(adv_smbd_request_decode(request, sizeof(request) - 1, &r));
}

static void test_response(void **state)
{
	uint8_t out[ADV_SMBD_RESPONSE_LEN];
	struct adv_smbd_response r;

	assert_true(adv_smbd_response_decode(response, sizeof(response), &r));
	assert_int_equal(r.version, ADV_SMBD_VERSION);
	assert_int_equal(r.credits_requested, 10);
	assert_int_equal(r.credits_granted, 10);
	assert_int_equal(r.status, 0);
	assert_int_equal(r.read_write_size, 1 << 20);
	assert_int_equal(r.send_size, 1024);
	assert_int_equal(r.receive_size, 1024);
	assert_int_equal(r.fragmented_size, 131072);
	adv_smbd_response_encode(&r, out);
	assert_memory_equal(out, response, sizeof(out));
	assert_false(adv_smbd_response_decode(response, sizeof(response) - 1, &r));
}

static void test_transfer(void **state)
{
	static const uint8_t head[] = {10, 0, 9, 0, 1, 0, 0, 0, 5, 0, 0, 0,
				       24, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0};
	uint8_t out[ADV_SMBD_DATA_OFFSET];
	struct adv_smbd_transfer t = {10, 9, ADV_SMBD_RESPONSE_REQUESTED, 5, 24, 3};

	assert_int_equal(adv_smbd_transfer_encode(&t, out), sizeof(head));
	assert_memory_equal(out, head, sizeof(head));
	memset(&t, 0, sizeof(t));
	assert_true(adv_smbd_transfer_decode(head, sizeof(head) + 3, &t));
	assert_int_equal(t.credits_requested, 10);
	assert_int_equal(t.credits_granted, 9);
	assert_int_equal(t.flags, ADV_SMBD_RESPONSE_REQUESTED);
	assert_int_equal(t.remaining, 5);
	assert_int_equal(t.offset, 24);
	assert_int_equal(t.length, 3);
	assert_false(adv_smbd_transfer_decode(head, sizeof(head) + 2, &t));
}

/* Encodes a header and decodes it as a message of `length` bytes. */
static bool decodes(uint32_t offset, uint32_t data, size_t length)
{
	struct adv_smbd_transfer t = {.credits_requested = 1, .offset = offset, .length = data};
	uint8_t out[64] = {0};

	adv_smbd_transfer_encode(&t, out);
	return adv_smbd_transfer_decode(out, length, &t);
}

static void test_wrong_transfer(void **state)
{
	assert_true(decodes(0, 0, 20));
	assert_false(decodes(0, 0, 19));
	assert_true(decodes(24, 8, 32));
	assert_true(decodes(32, 8, 40)); /* further padding */
	assert_false(decodes(28, 8, 40));
	assert_false(decodes(16, 8, 40)); /* in the header */
	assert_false(decodes(24, 9, 32));
	assert_false(decodes(40, 1, 40));
	assert_false(decodes(24, 0xffffffff, 40));
	assert_false(decodes(0xfffffff8, 9, 40));
}

static void test_descriptor(void **state)
{
	static const uint8_t in[] = {8, 7, 6, 5, 4, 3, 2, 1, 4, 3, 2, 1, 0, 0, 16, 0};
	uint8_t out[ADV_SMBD_DESCRIPTOR_LEN];
	struct adv_smbd_descriptor d;

	adv_smbd_descriptor_decode(in, &d);
	assert_true(d.offset == 0x0102030405060708u);
	assert_int_equal(d.token, 0x01020304);
	assert_int_equal(d.length, 1 << 20);
	adv_smbd_descriptor_encode(&d, out);
	assert_memory_equal(out, in, sizeof(out));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_request),	   cmocka_unit_test(test_response),
		cmocka_unit_test(test_transfer),   cmocka_unit_test(test_wrong_transfer),
		cmocka_unit_test(test_descriptor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
