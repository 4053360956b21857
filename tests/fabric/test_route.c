/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "fabric/route.h"

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
		cmocka_unit_test(test_sets_are_shared),
		cmocka_unit_test(test_spread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
