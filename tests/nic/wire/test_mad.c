/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "test_util.h"
#include "nic/wire/mad.h"

static const uint8_t bytes[ADV_MAD_HEADER_LEN] = {
	0x01, 0x07, 0x02, 0x83, 0x12, 0x34, 0x56, 0x78, 0x01, 0x23, 0x45, 0x67,
	0x89, 0xab, 0xcd, 0xef, 0x00, 0x10, 0x00, 0x00, 0x98, 0x76, 0x54, 0x32,
};

static void test_fields(void **state)
{
	uint8_t *copy = exact_copy(bytes, sizeof(bytes)), out[ADV_MAD_HEADER_LEN];
	struct adv_mad_header h;

	assert_true(adv_mad_header_decode(copy, sizeof(bytes), &h));
	assert_int_equal(h.base_version, ADV_MAD_BASE_VERSION);
	assert_int_equal(h.mgmt_class, ADV_MAD_CLASS_CM);
	assert_int_equal(h.class_version, 2);
	assert_int_equal(h.method, 0x83);
	assert_int_equal(h.status, 0x1234);
	assert_int_equal(h.class_specific, 0x5678);
	assert_true(h.tid == 0x0123456789abcdef);
	assert_int_equal(h.attribute, 0x10);
	assert_int_equal(h.modifier, 0x98765432);
	memset(out, 0xa5, sizeof(out));
	adv_mad_header_encode(&h, out);
	assert_memory_equal(out, bytes, sizeof(out));
	free(copy);
}

/* Reserved fields are ignored on receipt and sent as 0. */
static void test_reserved(void **state)
{
	uint8_t changed[ADV_MAD_HEADER_LEN], out[ADV_MAD_HEADER_LEN];
	struct adv_mad_header h;

	memcpy(changed, bytes, sizeof(changed));
	changed[18] = 0xff;
	changed[19] = 0xff;
	assert_true(adv_mad_header_decode(changed, sizeof(changed), &h));
	adv_mad_header_encode(&h, out);
	assert_memory_equal(out, bytes, sizeof(out));
}

static void test_too_short(void **state)
{
	struct adv_mad_header h;
	size_t len;

	for (len = 0; len < ADV_MAD_HEADER_LEN; len++) {
		uint8_t *copy = exact_copy(bytes, len);

		assert_false(adv_mad_header_decode(copy, len, &h));
		free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_reserved),
		cmocka_unit_test(test_too_short),
	};

	return cmocka_run_group_tests_name("wire mad", tests, NULL, NULL);
}
