/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/rng.h"
#include "fabric/switch/route.h"

static void test_sets_are_shared(void **state)
{
	static const uint16_t up[] = {4, 5, 6, 7}, down[] = {1};
	struct adv_route_table t;

	assert_int_equal(adv_route_table_init(&t, 100), 0);
	assert_int_equal(adv_route_find(&t, 7)->count, 0);
	for (uint32_t h = 0; h < 100; h++)
		assert_int_equal(adv_route_set(&t, h, h == 9 ? down : up, h == 9 ? 1 : 4), 0);
	assert_int_equal(t.sets, 3);
	assert_int_equal(adv_route_find(&t, 9)->count, 1);
	assert_int_equal(adv_route_pick(&t, adv_route_find(&t, 9), 77, 1), 1);
	assert_int_equal(adv_route_find(&t, 10)->count, 4);
	assert_int_equal(adv_route_set(&t, 9, NULL, 0), 0);
	assert_int_equal(adv_route_find(&t, 9)->count, 0);
	assert_int_equal(adv_route_set(&t, 100, down, 1), EINVAL);
	adv_route_table_free(&t);
}

/* Hosts are set in random ranges, one by one and alike. A plain array has the same sets. */
static void test_blocks(void **state)
{
	enum { HOSTS = 3 * ADV_ROUTE_BLOCK + 5 };
	uint16_t expected[HOSTS] = {0};
	struct adv_route_table t;
	struct adv_rng rng;

	adv_rng_seed(&rng, 1);
	assert_int_equal(adv_route_table_init(&t, HOSTS), 0);
	for (uint32_t h = 0; h < HOSTS; h++)
		assert_int_equal(adv_route_set(&t, h, &expected[h], 1), 0);
	for (unsigned i = 0; i < 3000; i++) {
		uint32_t first = (uint32_t)adv_rng_below(&rng, HOSTS);
		uint32_t last = first + 1 + (uint32_t)adv_rng_below(&rng, HOSTS - first);
		uint32_t other = (uint32_t)adv_rng_below(&rng, HOSTS);
		uint16_t port = (uint16_t)adv_rng_below(&rng, 3);

		if (i % 3) {
			assert_int_equal(adv_route_set_alike(&t, first, last, other), 0);
			for (uint16_t value = expected[other]; first < last; first++)
				expected[first] = value;
		} else {
			assert_int_equal(adv_route_set(&t, other, &port, 1), 0);
			expected[other] = port;
		}
		for (uint32_t h = 0; h < HOSTS; h++)
			assert_int_equal(t.port[adv_route_find(&t, h)->first], expected[h]);
	}
	adv_route_table_free(&t);
}

/* Blocks whose hosts have one route share its page, in whatever order they are set. */
static void test_blocks_unite(void **state)
{
	static const uint16_t up[] = {4, 5, 6, 7};
	struct adv_route_table t;

	assert_int_equal(adv_route_table_init(&t, 100), 0);
	for (uint16_t first = 0; first < 100; first = (uint16_t)(first + 10)) {
		assert_int_equal(adv_route_set(&t, first, up, 4), 0);
		assert_int_equal(adv_route_set_alike(&t, first + 1u, first + 10u, first), 0);
	}
	assert_int_equal(t.shares, 2); /* no route, and that of `up` */
	assert_int_equal(t.routes, 2 * ADV_ROUTE_BLOCK);
	assert_int_equal(t.block[0], t.block[1]);
	assert_int_equal(adv_route_set(&t, 99, up, 3), 0);
	assert_int_equal(t.shares, 2);
	assert_int_equal(t.routes, 3 * ADV_ROUTE_BLOCK);
	assert_int_equal(adv_route_find(&t, 98)->count, 4);
	assert_int_equal(adv_route_find(&t, 99)->count, 3);
	assert_int_equal(adv_route_set_alike(&t, 96, 99, 99), 0);
	assert_int_equal(t.shares, 3);
	assert_int_equal(t.routes, 3 * ADV_ROUTE_BLOCK);
	assert_int_equal(adv_route_set_alike(&t, 0, 32, 99), 0);
	assert_int_equal(t.block[0], t.block[3]);
	assert_int_equal(t.routes, 3 * ADV_ROUTE_BLOCK);
	adv_route_table_free(&t);
}

/* A block that leaves the newest page leaves it to the other blocks that share it. */
static void test_shared_pages_stay(void **state)
{
	static const uint16_t up[] = {4, 5, 6, 7}, down[] = {1};
	struct adv_route_table t;

	assert_int_equal(adv_route_table_init(&t, 3 * ADV_ROUTE_BLOCK), 0);
	assert_int_equal(adv_route_set(&t, 0, up, 4), 0);
	assert_int_equal(adv_route_set_alike(&t, 1, 32, 0), 0);
	assert_int_equal(adv_route_set(&t, 32, down, 1), 0);
	assert_int_equal(adv_route_set_alike(&t, 33, 96, 32), 0);
	assert_int_equal(t.block[1], t.block[2]);
	assert_int_equal(t.block[2] + ADV_ROUTE_BLOCK, t.routes);
	assert_int_equal(adv_route_set_alike(&t, 32, 64, 0), 0);
	assert_int_equal(adv_route_set(&t, 5, NULL, 0), 0);
	for (uint32_t h = 0; h < 96; h++)
		assert_int_equal(adv_route_find(&t, h)->count, h == 5 ? 0 : h < 64 ? 4 : 1);
	adv_route_table_free(&t);
}

/* Flows are spread evenly over the ports. The same flow always takes the same port. Another seed
 * gives another distribution. */
static void test_spread(void **state)
{
	static const uint16_t up[] = {4, 5, 6, 7, 8};
	unsigned count[16] = {0}, same = 0;
	struct adv_route_table t;
	const struct adv_route_set *set;

	assert_int_equal(adv_route_table_init(&t, 1), 0);
	assert_int_equal(adv_route_set(&t, 0, up, 5), 0);
	set = adv_route_find(&t, 0);
	for (uint32_t flow = 0; flow < 50000; flow++) {
		uint16_t port = adv_route_pick(&t, set, flow, 1);

		assert_int_equal(port, adv_route_pick(&t, set, flow, 1));
		count[port]++;
		same += port == adv_route_pick(&t, set, flow, 2);
	}
	for (unsigned i = 4; i <= 8; i++)
		assert_in_range(count[i], 9600, 10400);
	assert_in_range(same, 9500, 10500);
	adv_route_table_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sets_are_shared), cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_blocks_unite),	cmocka_unit_test(test_shared_pages_stay),
		cmocka_unit_test(test_spread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
