/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Requests that get an RDMA channel, and their responses. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "build.h"
#include "storage/smb2/offload.h"

static uint8_t m[1024], out[ADV_SMB2_OFFLOAD_LEN];
static struct adv_smb2_offload o;
static const struct adv_smbd_descriptor d = {0x1000, 77, 100};

/* A WRITE of 5 bytes, or a READ of them, without a channel. */
static size_t build(uint16_t command)
{
	struct adv_smb2_io io = {.length = 5,
				 .data_offset = command == ADV_SMB2_WRITE ? ADV_SMB2_IO_LEN : 0};

	memset(m, 0, sizeof(m));
	build_io(m, command, 9, 0, 5, 0, 0);
	adv_smb2_io_encode(m, command, &io);
	return command == ADV_SMB2_WRITE ? ADV_SMB2_IO_LEN + 5 : ADV_SMB2_IO_LEN + 1;
}

static struct adv_smb2_io decoded(void)
{
	struct adv_smb2_element e;
	struct adv_smb2_io io;

	assert_true(adv_smb2_element_at(out, sizeof(out), 0, &e));
	assert_true(adv_smb2_io_decode(out, &e, &io));
	assert_int_equal(io.channel, ADV_SMB2_CHANNEL_RDMA_V1);
	assert_int_equal(io.channel_offset, 112);
	assert_int_equal(io.channel_length, 16);
	assert_int_equal(io.data_offset, 0);
	assert_int_equal(adv_get_le32(out + 112 + 8), 77);
	return io;
}

static void test_requests(void **state)
{
	struct adv_smb2_io io;

	assert_true(adv_smb2_offload_find(m, build(ADV_SMB2_WRITE), &o));
	assert_int_equal(o.message_id, 9);
	assert_int_equal(o.length, 5);
	assert_int_equal(o.offset, 112);
	adv_smb2_offload_request(m, &o, &d, out);
	io = decoded();
	assert_int_equal(io.length, 0);
	assert_int_equal(io.remaining, 5);
	assert_true(adv_smb2_offload_find(m, build(ADV_SMB2_READ), &o));
	adv_smb2_offload_request(m, &o, &d, out);
	io = decoded();
	assert_int_equal(io.length, 5);
	assert_int_equal(io.remaining, 0);
}

static void test_others(void **state)
{
	size_t length = build(ADV_SMB2_WRITE);

	assert_false(adv_smb2_offload_find(m, length - 1, &o)); /* the data is not whole */
	adv_put_le16(m + 66, 111);
	assert_false(adv_smb2_offload_find(m, length, &o));
	adv_put_le16(m + 66, 0xffff);
	assert_false(adv_smb2_offload_find(m, length, &o));
	length = build(ADV_SMB2_READ);
	adv_put_le32(m + 16, ADV_SMB2_FLAG_SIGNED);
	assert_false(adv_smb2_offload_find(m, length, &o));
	length = build(ADV_SMB2_READ);
	adv_put_le32(m + 68, 0);
	assert_false(adv_smb2_offload_find(m, length, &o));
	length = build(ADV_SMB2_READ);
	adv_smb2_set_next(m, 112);
	assert_false(adv_smb2_offload_find(m, 200, &o));
	length = build(ADV_SMB2_READ);
	adv_put_le16(m + 12, 13);
	assert_false(adv_smb2_offload_find(m, length, &o));
	length = build(ADV_SMB2_READ);
	m[0] = 0xfd;
	assert_false(adv_smb2_offload_find(m, length, &o));
	build_io(m, ADV_SMB2_READ, 1, 1, 10, 1, 10);
	assert_false(adv_smb2_offload_find(m, 128, &o));
}

static void test_responses(void **state)
{
	const struct adv_smb2_offload read = {9, ADV_SMB2_READ, 100, 0};
	size_t length = build_read_response(m, 9, 0, NULL, 0);
	uint64_t id;
	uint32_t n;

	adv_smb2_read_response_encode(m, 0, 60);
	assert_true(adv_smb2_offload_is_final(m, length, &id));
	assert_int_equal(id, 9);
	assert_true(adv_smb2_offload_response(m, length, &read, &n));
	assert_int_equal(n, 60);
	assert_int_equal(adv_get_le32(m + 68), 60);
	assert_int_equal(adv_get_le32(m + 72), 0);
	adv_smb2_read_response_encode(m, 0, 60);
	adv_put_le32(m + 16, ADV_SMB2_FLAG_RESPONSE | ADV_SMB2_FLAG_SIGNED);
	assert_false(adv_smb2_offload_response(m, length, &read, &n)); /* it cannot be changed */
	adv_put_le32(m + 16, ADV_SMB2_FLAG_RESPONSE);
	adv_smb2_read_response_encode(m, 0, 101); /* more than was requested */
	assert_false(adv_smb2_offload_response(m, length, &read, &n));
	length = build_read_response(m, 9, 0, "abc", 3);
	assert_true(adv_smb2_offload_response(m, length, &read, &n)); /* in the message after all */
	assert_int_equal(n, 0);
	adv_smb2_read_response_encode(m, 3, 60);
	assert_false(adv_smb2_offload_response(m, length, &read, &n));
	length = build_read_response(m, 9, 0xc0000011, NULL, 0);
	adv_smb2_read_response_encode(m, 0, 60);
	assert_true(adv_smb2_offload_response(m, length, &read, &n));
	assert_int_equal(n, 0);
	adv_put_le16(m + 12, ADV_SMB2_WRITE);
	assert_false(adv_smb2_offload_response(m, length, &read, &n));
	length = build_read_response(m, 9, ADV_SMB2_STATUS_PENDING, NULL, 0);
	adv_put_le32(m + 16, ADV_SMB2_FLAG_RESPONSE | ADV_SMB2_FLAG_ASYNC);
	assert_false(adv_smb2_offload_is_final(m, length, &id));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_responses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
