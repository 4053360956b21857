/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* SipHash-2-4 against its authors' test vectors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/siphash.h"

static void test_vector(void **state)
{
	uint64_t key[2], word[3];
	uint8_t bytes[24];

	for (uint8_t i = 0; i < 24; i++)
		bytes[i] = i;
	memcpy(key, bytes, sizeof(key));
	memcpy(word, bytes, sizeof(word));
	assert_true(adv_siphash(key, word[0]) == 0x93f5f5799a932462u);
	assert_true(adv_siphash_words(key, word, 0) == 0x726fdb47dd0e0e31u);
	assert_true(adv_siphash_words(key, word, 1) == 0x93f5f5799a932462u);
	assert_true(adv_siphash_words(key, word, 2) == 0x3f2acc7f57c29bdbu);
	assert_true(adv_siphash_words(key, word, 3) == 0xb8ad50c6f649af94u);
}

/* The same generator yields other numbers under another key. */
static void test_secret(void **state)
{
	const uint64_t one[2] = {1, 2}, other[2] = {1, 3};
	struct adv_rng a, b;

	adv_rng_seed(&a, 7);
	b = a;
	for (int i = 0; i < 1000; i++)
		assert_true(adv_rng_secret(&a, one) != adv_rng_secret(&b, other));
	assert_memory_equal(&a, &b, sizeof(a));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vector),
		cmocka_unit_test(test_secret),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
