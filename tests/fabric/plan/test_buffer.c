/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/units.h"
#include "fabric/plan/buffer.h"

#define GB 1000000000ull

static struct adv_plan_ports ports_of(uint32_t count, uint64_t speed, uint64_t delay)
{
	return (struct adv_plan_ports){.count = count,
				       .link = {.speed = speed,
						.delay = delay,
						.max_frame = 9238,
						.lossless_frame = 9238,
						.response_bits = adv_plan_response_bits(speed),
						.interface_bits = adv_plan_interface_bits(speed)}};
}

static struct adv_plan_switch switch_of(uint64_t buffer)
{
	return (struct adv_plan_switch){.buffer = buffer,
					.lossless = 2,
					.lossy = 1,
					.reserve = 2000,
					.alpha = ADV_RATIO_ONE / 8,
					.groups = 1,
					.group = {ports_of(32, 100 * GB, 500000)}};
}

/* The result equals values computed by hand: headroom 32 x 2 x 73,852 (test_plan_headroom.c),
 * reserved 32 x 3 x 2,000. */
static void test_by_hand(void **state)
{
	struct adv_plan_switch sw = switch_of(16000000);
	struct adv_plan_buffer b;

	assert_null(adv_plan_buffer(&sw, &b));
	assert_int_equal(b.ports, 32);
	assert_int_equal(b.group_headroom[0], 73852);
	assert_int_equal(b.headroom, 4726528);
	assert_int_equal(b.reserved, 192000);
	assert_true(b.fits);
	assert_int_equal(b.shared, 16000000 - 4726528 - 192000);
	assert_int_equal(b.lossless_fit, 6); /* 6 x 2,363,264 + 7 x 64,000 = 14,627,584 */
}

static void test_groups_add_up(void **state)
{
	struct adv_plan_switch sw = switch_of(16000000);
	struct adv_plan_buffer b, first, second;

	sw.lossless = 1;
	sw.groups = 2;
	sw.group[0] = ports_of(48, 25 * GB, 25000);
	sw.group[1] = ports_of(8, 100 * GB, 500000);
	assert_null(adv_plan_buffer(&sw, &b));
	sw.groups = 1;
	assert_null(adv_plan_buffer(&sw, &first));
	sw.group[0] = sw.group[1];
	assert_null(adv_plan_buffer(&sw, &second));
	assert_int_equal(b.ports, 56);
	assert_int_equal(b.headroom, first.headroom + second.headroom);
	assert_int_equal(b.reserved, first.reserved + second.reserved);
}

/* If one byte is missing, the plan does not fit. With that byte it fits. */
static void test_edge(void **state)
{
	struct adv_plan_switch sw = switch_of(4726528 + 192000);
	struct adv_plan_buffer b;

	assert_null(adv_plan_buffer(&sw, &b));
	assert_false(b.fits);
	assert_int_equal(b.missing, 1);
	assert_int_equal(b.shared, 0);
	assert_int_equal(b.lossless_fit, 1);
	sw.buffer++;
	assert_null(adv_plan_buffer(&sw, &b));
	assert_true(b.fits);
	assert_int_equal(b.shared, 1);
	assert_int_equal(b.missing, 0);
}

/* The reported delay fits. A delay that needs one more byte does not. */
static void test_longest_cable(void **state)
{
	struct adv_plan_switch sw = switch_of(16000000);
	struct adv_plan_buffer b;
	uint64_t delay;

	assert_null(adv_plan_buffer(&sw, &b));
	delay = b.delay_fit;
	assert_true(delay > 500000);
	sw.group[0].link.delay = delay;
	assert_null(adv_plan_buffer(&sw, &b));
	assert_true(b.fits);
	sw.group[0].link.delay = delay + 1;
	assert_null(adv_plan_buffer(&sw, &b));
	assert_false(b.fits);
	sw.buffer = 100000;
	assert_null(adv_plan_buffer(&sw, &b));
	assert_int_equal(b.delay_fit, 0);
	assert_int_equal(b.lossless_fit, 0);
}

static void test_headroom_given(void **state)
{
	struct adv_plan_switch sw = switch_of(16000000);
	struct adv_plan_buffer b;

	sw.headroom = 50000;
	assert_null(adv_plan_buffer(&sw, &b));
	assert_int_equal(b.headroom, 32 * 2 * 50000);
	assert_int_equal(b.delay_fit, 0);
}

/* If all queues are at the threshold, it is alpha times the free bytes. */
static void test_dynamic_threshold(void **state)
{
	const uint64_t shared = 10000000, alpha = ADV_RATIO_ONE / 8;

	assert_int_equal(adv_plan_dynamic_threshold(shared, alpha, 0), shared / 8);
	assert_int_equal(adv_plan_dynamic_threshold(shared, alpha, 1), 1111111);
	assert_int_equal(adv_plan_dynamic_threshold(shared, alpha, 8), 625000);
	assert_int_equal(adv_plan_dynamic_threshold(shared, 8 * ADV_RATIO_ONE, 1), 8888888);
	for (uint64_t n = 1; n < 300; n++) {
		uint64_t t = adv_plan_dynamic_threshold(shared, alpha, n);

		assert_in_range((shared - n * t) / 8 - t, 0, n / 8 + 2);
	}
	/* All parameters at their maximum. */
	assert_true(adv_plan_dynamic_threshold(ADV_PLAN_BUFFER_MAX, ADV_PLAN_ALPHA_MAX, 1) <
		    ADV_PLAN_BUFFER_MAX);
}

static void test_out_of_range(void **state)
{
	struct adv_plan_switch sw;
	struct adv_plan_buffer b;

#define REFUSED(field, value)                                                                      \
	do {                                                                                       \
		sw = switch_of(16000000);                                                          \
		sw.field = (value);                                                                \
		assert_non_null(adv_plan_buffer(&sw, &b));                                         \
	} while (0)
	REFUSED(buffer, 0);
	REFUSED(buffer, ADV_PLAN_BUFFER_MAX + 1);
	REFUSED(lossless, 9);
	REFUSED(lossy, 9);
	REFUSED(reserve, ADV_PLAN_BUFFER_MAX + 1);
	REFUSED(alpha, 0);
	REFUSED(groups, 0);
	REFUSED(groups, 17);
	REFUSED(group[0].count, 0);
	REFUSED(group[0].count, ADV_PLAN_PORTS_MAX + 1);
	REFUSED(group[0].link.speed, 1);
	sw = switch_of(16000000); /* the allowed maximum: no overflow */
	sw.group[0].count = ADV_PLAN_PORTS_MAX;
	sw.reserve = sw.headroom = ADV_PLAN_BUFFER_MAX;
	assert_null(adv_plan_buffer(&sw, &b));
	assert_false(b.fits);
	assert_true(b.missing > 8000 * ADV_PLAN_BUFFER_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_hand),	       cmocka_unit_test(test_groups_add_up),
		cmocka_unit_test(test_edge),	       cmocka_unit_test(test_longest_cable),
		cmocka_unit_test(test_headroom_given), cmocka_unit_test(test_dynamic_threshold),
		cmocka_unit_test(test_out_of_range),
	};

	return cmocka_run_group_tests_name("plan buffer", tests, NULL, NULL);
}
