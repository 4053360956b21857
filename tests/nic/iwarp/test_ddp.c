/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "../wire/test_util.h"
#include "nic/iwarp/ddp.h"

static size_t decode(const uint8_t *p, size_t len, struct adv_ddp_header *h)
{
	uint8_t *copy = exact_copy(p, len);
	size_t n = adv_ddp_decode(copy, len, h);

	free(copy);
	return n;
}

static void check(const char *bytes, size_t len, const struct adv_ddp_header *wanted)
{
	uint8_t out[ADV_DDP_HEADER_MAX];
	struct adv_ddp_header h;
	size_t i;

	assert_int_equal(adv_ddp_header_len((uint8_t)bytes[0]), len);
	for (i = 0; i < len; i++)
		assert_int_equal(decode((const uint8_t *)bytes, i, &h), 0);
	assert_int_equal(decode((const uint8_t *)bytes, len, &h), len);
	assert_memory_equal(&h, wanted, sizeof(h));
	assert_int_equal(adv_ddp_encode(&h, out), len);
	assert_memory_equal(out, bytes, len);
}

/* The bytes are those of RFC 5041 figures 2 and 3 with RFC 5040 figure 2, by hand. */
static void test_tagged(void **state)
{
	const struct adv_ddp_header h = {.tagged = true,
					 .ddp_version = 1,
					 .rdmap_version = 1,
					 .opcode = 2,
					 .stag = 0x01020304,
					 .to = 0x1112131415161718};

	check("\x81\x42\x01\x02\x03\x04\x11\x12\x13\x14\x15\x16\x17\x18", 14, &h);
}

static void test_untagged(void **state)
{
	const struct adv_ddp_header h = {.last = true,
					 .ddp_version = 1,
					 .rdmap_version = 1,
					 .opcode = 4,
					 .invalidate_stag = 0xa1a2a3a4,
					 .queue = 1,
					 .msn = 0x10203,
					 .mo = 0x40506};

	check("\x41\x44\xa1\xa2\xa3\xa4\0\0\0\x01\0\x01\x02\x03\0\x04\x05\x06", 18, &h);
}

/* The receiver judges versions and opcodes, so they arrive as they were sent. Reserved bits do not
 * matter. */
static void test_control_bits(void **state)
{
	uint8_t bytes[ADV_DDP_UNTAGGED_LEN] = {0x7f, 0xff}, out[ADV_DDP_HEADER_MAX];
	struct adv_ddp_header h;

	assert_int_equal(decode(bytes, sizeof(bytes), &h), sizeof(bytes));
	assert_true(!h.tagged && h.last);
	assert_int_equal(h.ddp_version, 3);
	assert_int_equal(h.rdmap_version, 3);
	assert_int_equal(h.opcode, 15);
	adv_ddp_encode(&h, out);
	assert_int_equal(out[0], 0x43);
	assert_int_equal(out[1], 0xcf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tagged),
		cmocka_unit_test(test_untagged),
		cmocka_unit_test(test_control_bits),
	};

	return cmocka_run_group_tests_name("ddp", tests, NULL, NULL);
}
