/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Headers of compound messages, and the fields of READ and WRITE. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "build.h"

static uint8_t m[1024];

static void test_kinds(void **state)
{
	static const uint8_t encrypted[4] = {0xfd, 'S', 'M', 'B'}, smb1[4] = {0xff, 'S', 'M', 'B'};

	build_header(m, ADV_SMB2_READ, 1, 0, 0);
	assert_true(adv_smb2_is_plain(m, 64));
	assert_false(adv_smb2_is_plain(m, 3));
	assert_false(adv_smb2_is_plain(encrypted, 4));
	assert_false(adv_smb2_is_plain(smb1, 4));
}

static void test_elements(void **state)
{
	struct adv_smb2_element e;

	build_header(m, 5, 7, 0, 72);
	build_header(m + 72, ADV_SMB2_WRITE, 8, ADV_SMB2_FLAG_SIGNED, 0);
	assert_true(adv_smb2_element_at(m, 200, 0, &e));
	assert_int_equal(e.length, 72);
	assert_false(e.last);
	assert_int_equal(e.command, 5);
	assert_int_equal(e.message_id, 7);
	assert_true(adv_smb2_element_at(m, 200, 72, &e));
	assert_int_equal(e.length, 128);
	assert_true(e.last);
	assert_int_equal(e.command, ADV_SMB2_WRITE);
	assert_int_equal(e.flags, ADV_SMB2_FLAG_SIGNED);
	assert_true(adv_smb2_element_at(m, 136, 72, &e));
	assert_false(adv_smb2_element_at(m, 135, 72, &e));
	assert_false(adv_smb2_element_at(m, 200, 201, &e));
}

static void test_wrong_next(void **state)
{
	static const uint32_t wrong[] = {1, 8, 56, 76, 200, 208, 0xfffffff8, 0xffffffff};
	struct adv_smb2_element e;

	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		build_header(m, 5, 7, 0, wrong[i]);
		assert_false(adv_smb2_element_at(m, 200, 0, &e));
	}
	build_header(m, 5, 7, 0, 192);
	assert_true(adv_smb2_element_at(m, 200, 0, &e));
}

static void test_io(void **state)
{
	size_t length = build_io(m, ADV_SMB2_WRITE, 3, ADV_SMB2_CHANNEL_RDMA_V1, 5000, 1, 5000);
	struct adv_smb2_element e;
	struct adv_smb2_io io;

	assert_true(adv_smb2_element_at(m, length, 0, &e));
	assert_true(adv_smb2_io_decode(m, &e, &io));
	assert_int_equal(io.channel, ADV_SMB2_CHANNEL_RDMA_V1);
	assert_int_equal(io.channel_offset, 112);
	assert_int_equal(io.channel_length, 16);
	assert_int_equal(io.length, 0);
	assert_int_equal(io.remaining, 5000);
	assert_int_equal(io.data_offset, 0);
	io = (struct adv_smb2_io){2, 3, 4, 5, 6, 7};
	adv_smb2_io_encode(m, ADV_SMB2_WRITE, &io);
	memset(&io, 0, sizeof(io));
	assert_true(adv_smb2_io_decode(m, &e, &io));
	assert_int_equal(io.channel, 2);
	assert_int_equal(io.channel_offset, 3);
	assert_int_equal(io.channel_length, 4);
	assert_int_equal(io.length, 5);
	assert_int_equal(io.remaining, 6);
	assert_int_equal(io.data_offset, 7);
	assert_true(adv_get_le64(m + 72) == 0x1122334455667788);
	assert_true(adv_smb2_element_at(m, 111, 0, &e));
	assert_false(adv_smb2_io_decode(m, &e, &io));
}

/* The body of a READ request of Linux 6.1, as it was captured. */
static void test_linux_read(void **state)
{
	static const uint8_t body[] = {
		0x31, 0,    0,	  0,	0,    0x10, 0,	  0,	0, 0,	 0,    0,    0,
		0,    0,    0,	  0x0d, 0x9d, 0xf1, 0xca, 0,	0, 0,	 0,    4,    0x55,
		0xa8, 0x0b, 0,	  0,	0,    0,    0,	  0,	0, 0,	 2,    0,    0,
		0,    0,    0,	  0,	0,    0x70, 0,	  0x10, 0, 0,	 0x60, 0x53, 0x8c,
		0xb4, 4,    0x2d, 0xff, 0x1b, 4,    0,	  0,	0, 0x10, 0,    0};
	struct adv_smbd_descriptor d;
	struct adv_smb2_element e;
	struct adv_smb2_io io;

	build_header(m, ADV_SMB2_READ, 0x34, 0, 0);
	memcpy(m + 64, body, sizeof(body));
	assert_true(adv_smb2_element_at(m, 64 + sizeof(body), 0, &e));
	assert_true(adv_smb2_io_decode(m, &e, &io));
	assert_int_equal(io.length, 4096);
	assert_int_equal(io.channel, ADV_SMB2_CHANNEL_RDMA_V1_INVALIDATE);
	assert_int_equal(io.remaining, 0);
	assert_int_equal(io.channel_offset, 112);
	assert_int_equal(io.channel_length, 16);
	adv_smbd_descriptor_decode(m + 112, &d);
	assert_int_equal(d.length, 4096);
}

static void test_read_response(void **state)
{
	size_t size = build_read_response(m, 3, 0, "abcdef", 6);
	uint32_t offset, length, by_rdma;
	struct adv_smb2_element e;

	assert_true(adv_smb2_element_at(m, size, 0, &e));
	assert_true(adv_smb2_read_response_decode(m, &e, &offset, &length, &by_rdma));
	assert_int_equal(offset, 80);
	assert_int_equal(length, 6);
	assert_int_equal(by_rdma, 0);
	adv_put_le32(m + 68, 7); /* longer than the message */
	assert_false(adv_smb2_read_response_decode(m, &e, &offset, &length, &by_rdma));
	adv_put_le32(m + 68, 0xffffffff);
	assert_false(adv_smb2_read_response_decode(m, &e, &offset, &length, &by_rdma));
	adv_smb2_read_response_encode(m, 1, 2);
	m[66] = 79; /* in the response's own fields */
	assert_false(adv_smb2_read_response_decode(m, &e, &offset, &length, &by_rdma));
	m[66] = 87;
	assert_false(adv_smb2_read_response_decode(m, &e, &offset, &length, &by_rdma));
	adv_smb2_read_response_encode(m, 0, 99);
	assert_true(adv_smb2_read_response_decode(m, &e, &offset, &length, &by_rdma));
	assert_int_equal(length, 0);
	assert_int_equal(by_rdma, 99);
	e.length = 79;
	assert_false(adv_smb2_read_response_decode(m, &e, &offset, &length, &by_rdma));
}

static void test_dialect(void **state)
{
	struct adv_smb2_element e;

	build_header(m, ADV_SMB2_NEGOTIATE, 0, ADV_SMB2_FLAG_RESPONSE, 0);
	memset(m + 64, 0, 64);
	adv_put_le16(m + 68, 0x0311);
	assert_true(adv_smb2_element_at(m, 128, 0, &e));
	assert_int_equal(adv_smb2_dialect(m, &e), 0x0311);
	e.length = 127;
	assert_int_equal(adv_smb2_dialect(m, &e), 0);
	e.length = 128;
	e.flags = 0;
	assert_int_equal(adv_smb2_dialect(m, &e), 0);
	e.flags = ADV_SMB2_FLAG_RESPONSE;
	e.status = 0xc00000bb; /* STATUS_NOT_SUPPORTED */
	assert_int_equal(adv_smb2_dialect(m, &e), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),	   cmocka_unit_test(test_elements),
		cmocka_unit_test(test_wrong_next), cmocka_unit_test(test_io),
		cmocka_unit_test(test_linux_read), cmocka_unit_test(test_read_response),
		cmocka_unit_test(test_dialect),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
