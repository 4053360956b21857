/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "test_util.h"
#include "nic/wire/crc32.h"

static void test_check_value(void **state)
{
	/* The check value in catalogues of CRCs. */
	assert_int_equal(adv_crc32(0, "123456789", 9), 0xcbf43926);
	assert_int_equal(adv_crc32(0, "", 0), 0);
}

static void test_random_in_pieces(void **state)
{
	uint8_t data[1500];
	struct adv_rng rng;
	int i;

	adv_rng_seed(&rng, 1);
	for (i = 0; i < 500; i++) {
		size_t len = adv_rng_below(&rng, sizeof(data) + 1);
		size_t cut = adv_rng_below(&rng, len + 1);
		uint32_t crc;

		fill_random(&rng, data, len);
		crc = adv_crc32(0, data, cut);
		crc = adv_crc32(crc, data + cut, len - cut);
		assert_int_equal(crc, crc32_by_bits(data, len));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_check_value),
		cmocka_unit_test(test_random_in_pieces),
	};

	return cmocka_run_group_tests_name("wire crc32", tests, NULL, NULL);
}
