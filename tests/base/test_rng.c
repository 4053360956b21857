/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The generator gives the numbers of the published algorithms, and bounded numbers stay in range.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/array.h"
#include "base/rng.h"

/* xoshiro256** from the state 1, 2, 3, 4: the first numbers of Blackman and Vigna's program. */
static void test_xoshiro(void **state)
{
	static const uint64_t expected[] = {11520, 0, 1509978240, 1215971899390074240u,
					    1216172134540287360u};
	struct adv_rng r = {{1, 2, 3, 4}};

	for (unsigned i = 0; i < ADV_ARRAY_SIZE(expected); i++)
		assert_true(adv_rng_next(&r) == expected[i]);
}

/* The state is splitmix64's first numbers from the seed: those of Vigna's program. */
static void test_splitmix(void **state)
{
	static const uint64_t expected[] = {1985237415132408290u, 2979275885539914483u,
					    13511426838097143398u, 8488337342461049707u};
	struct adv_rng r;

	adv_rng_seed(&r, 1477776061723855037u);
	for (unsigned i = 0; i < ADV_ARRAY_SIZE(expected); i++)
		assert_true(r.s[i] == expected[i]);
}

/* Each number below the bound occurs, the bound itself does not. */
static void test_below(void **state)
{
	unsigned count[7] = {0};
	struct adv_rng r;

	adv_rng_seed(&r, 3);
	for (unsigned i = 0; i < 7000; i++) {
		uint64_t n = adv_rng_below(&r, 7);

		assert_true(n < 7);
		count[n]++;
	}
	for (unsigned i = 0; i < 7; i++)
		assert_in_range(count[i], 900, 1100);
	assert_int_equal(adv_rng_below(&r, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_xoshiro),
		cmocka_unit_test(test_splitmix),
		cmocka_unit_test(test_below),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
