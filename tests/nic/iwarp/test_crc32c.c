/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "../wire/test_util.h"
#include "nic/iwarp/crc32c.h"

static void check(const void *p, size_t len, const char *wire)
{
	uint8_t out[4];

	adv_crc32c_put(adv_crc32c(ADV_CRC32C_START, p, len), out);
	assert_memory_equal(out, wire, 4);
}

/* The examples of RFC 3720 appendix B.4, with the bytes as they are sent. */
static void test_examples(void **state)
{
	uint8_t b[32];
	unsigned i;

	memset(b, 0, sizeof(b));
	check(b, sizeof(b), "\xaa\x36\x91\x8a");
	memset(b, 0xff, sizeof(b));
	check(b, sizeof(b), "\x43\xab\xa8\x62");
	for (i = 0; i < sizeof(b); i++)
		b[i] = (uint8_t)i;
	check(b, sizeof(b), "\x4e\x79\xdd\x46");
	for (i = 0; i < sizeof(b); i++)
		b[i] = (uint8_t)(31 - i);
	check(b, sizeof(b), "\x5c\xdb\x3f\x11");
}

/* The CRC of bytes in two pieces is the CRC of the whole, whatever the length and alignment. */
static void test_pieces(void **state)
{
	struct adv_rng rng;
	uint8_t b[200];
	size_t len, cut;

	adv_rng_seed(&rng, 1);
	fill_random(&rng, b, sizeof(b));
	for (len = 0; len <= sizeof(b) - 3; len++) {
		uint32_t whole = adv_crc32c(ADV_CRC32C_START, b + 3, len);

		for (cut = 0; cut <= len; cut++)
			assert_int_equal(adv_crc32c(adv_crc32c(ADV_CRC32C_START, b + 3, cut),
						    b + 3 + cut, len - cut),
					 whole);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_examples),
		cmocka_unit_test(test_pieces),
	};

	return cmocka_run_group_tests_name("crc32c", tests, NULL, NULL);
}
