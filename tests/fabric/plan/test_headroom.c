/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/array.h"
#include "base/units.h"
#include "fabric/plan/headroom.h"

#define GB 1000000000ull

static struct adv_plan_link link_of(uint64_t speed, uint64_t delay, uint64_t frame)
{
	return (struct adv_plan_link){
		.speed = speed,
		.delay = delay,
		.max_frame = frame,
		.lossless_frame = frame,
		.response_bits = adv_plan_response_bits(speed),
		.interface_bits = adv_plan_interface_bits(speed),
		.small_packets = ADV_RATIO_ONE,
	};
}

/* The result equals values computed by hand, for 100 Gb/s, 100 m of fibre and frames of 9,238
 * bytes. */
static void test_by_hand(void **state)
{
	struct adv_plan_link l = link_of(100 * GB, 500000, 9238);
	struct adv_plan_headroom h;

	assert_null(adv_plan_headroom(&l, &h));
	assert_int_equal(h.frame_ahead, 74064);	    /* (9238 + 20) x 8 */
	assert_int_equal(h.pfc_frame, 672);	    /* the value of annex O */
	assert_int_equal(h.cable, 50000);	    /* 500 ns at 100 Gb/s */
	assert_int_equal(l.response_bits, 201728);  /* 394 x 512 */
	assert_int_equal(l.interface_bits, 140288); /* 201,728 - 61,440 */
	/* 74064 + 672 + 100000 + 201728 + 140288 = 516752 */
	assert_int_equal(h.reaction, 64594);
	assert_int_equal(h.headroom, 64594 + 9258);
	assert_int_equal(h.xon, 64594);
	assert_int_equal(h.xoff, 64594 + 2 * 9238);
	assert_int_equal(h.size, h.xoff + h.headroom);
}

/* The result for the example of annex O: 10GBASE-T with 100 m of copper. Drivers of 10GBASE-T NICs
 * have the same figures, but with a factor of 36/25 and without preambles and gaps. */
static void test_annex_o(void **state)
{
	struct adv_plan_link l = link_of(10 * GB, 555600, 1522);
	struct adv_plan_headroom h;
	uint64_t interface = 25600 + 8192 + 4096;

	l.response_bits = interface + 6144;
	l.interface_bits = interface;
	assert_null(adv_plan_headroom(&l, &h));
	assert_int_equal(h.cable, 5556);
	assert_int_equal(h.reaction,
			 (1522 * 8 + 160 + 672 + 2 * 5556 + 2 * interface + 6144 + 7) / 8);
}

static void test_limits_of_the_standard(void **state)
{
	static const struct {
		uint64_t speed, quanta, higher_layer;
	} cases[] = {{10, 60, 12},    {25, 80, 30},    {40, 118, 48},  {50, 147, 60},
		     {100, 394, 120}, {200, 453, 240}, {400, 905, 480}};

	for (size_t i = 0; i < ADV_ARRAY_SIZE(cases); i++) {
		uint64_t response = adv_plan_response_bits(cases[i].speed * GB);

		assert_int_equal(response, cases[i].quanta * 512);
		assert_int_equal(adv_plan_interface_bits(cases[i].speed * GB),
				 response - cases[i].higher_layer * 512);
	}
	/* Beyond the standard's list: 1158.4 ns, as at 400 Gb/s. */
	assert_int_equal(adv_plan_response_bits(800 * GB), 2 * 905 * 512);
	assert_int_equal(adv_plan_interface_bits(800 * GB), 2 * (905 - 480) * 512);
	assert_int_equal(adv_plan_response_bits(3200 * GB), 8 * 905 * 512);
	assert_int_equal(adv_plan_interface_bits(3200 * GB), 8 * (905 - 480) * 512);
	assert_int_equal(adv_plan_response_bits(20 * GB), 0);
	assert_int_equal(adv_plan_interface_bits(20 * GB), 0);
}

/* A larger input never reduces the headroom. One more bit adds at most one byte. */
static void test_monotonic(void **state)
{
	struct adv_plan_headroom before = {0}, h;

	for (uint64_t metres = 0; metres <= 2000; metres++) {
		struct adv_plan_link l = link_of(400 * GB, metres * 5000, 4200);

		assert_null(adv_plan_headroom(&l, &h));
		if (metres)
			assert_int_equal(h.headroom - before.headroom,
					 500); /* 2 x 5 ns x 50 B/ns */
		before = h;
	}
	for (uint64_t frame = 64; frame <= 9238; frame++) {
		struct adv_plan_link l = link_of(25 * GB, 0, frame);

		assert_null(adv_plan_headroom(&l, &h));
		if (frame > 64)
			assert_int_equal(h.headroom - before.headroom, 2);
		before = h;
	}
}

static void test_cells(void **state)
{
	struct adv_plan_link l = link_of(100 * GB, 500000, 9238);
	struct adv_plan_headroom h;

	l.cell = 144; /* w = 144 / 64 = 2.25 */
	assert_null(adv_plan_headroom(&l, &h));
	assert_int_equal(h.reaction, 64594);
	assert_int_equal(h.occupied, 145337);	  /* 64594 x 2.25 = 145336.5 */
	assert_int_equal(h.headroom, 1074 * 144); /* 154595 / 144 = 1073.6 */

	l.small_packets = 0;
	assert_null(adv_plan_headroom(&l, &h));
	assert_int_equal(h.occupied, 64594);

	l.cell = 80; /* w = 160 / 81 */
	l.small_packets = ADV_RATIO_ONE / 2;
	assert_null(adv_plan_headroom(&l, &h));
	assert_int_equal(h.occupied, 96094); /* 64594 x (1 + 160/81) / 2 = 96093.5 */
}

/* The result equals that of the driver's integer arithmetic: 301 + 216 = 517; 517 x 100 = 51,700;
 * 272 x 9216 / 100 = 25,067. */
static void test_mlx5(void **state)
{
	struct adv_plan_mlx5 m;

	adv_plan_headroom_mlx5(100 * GB, 100000, 9216, 0, &m);
	assert_int_equal(m.headroom, 51700 + 25067);
	assert_int_equal(m.size, 76767 + 9216);
	adv_plan_headroom_mlx5(50 * GB, 100000, 9216, 0, &m);
	assert_int_equal(m.headroom, 517 * 50 + 25067);
	adv_plan_headroom_mlx5(10 * GB, 7000, 1500, 128, &m); /* counted as 40 Gb/s */
	assert_int_equal(m.speed, 40000);
	assert_int_equal(m.headroom, (301 + 15) * 40 + 4080);
	assert_int_equal(m.size, 16720 + 9216 + 128);
}

static void test_bits_are_rounded_up(void **state)
{
	assert_int_equal(adv_plan_bits(10 * GB, 0), 0);
	assert_int_equal(adv_plan_bits(10 * GB, 1), 1);
	assert_int_equal(adv_plan_bits(10 * GB, 100), 1);
	assert_int_equal(adv_plan_bits(10 * GB, 101), 2);
}

static void test_out_of_range(void **state)
{
	const struct adv_plan_link good = link_of(100 * GB, 500000, 1522);
	struct adv_plan_headroom h;
	struct adv_plan_link l;

#define REFUSED(field, value)                                                                      \
	do {                                                                                       \
		l = good;                                                                          \
		l.field = (value);                                                                 \
		assert_non_null(adv_plan_headroom(&l, &h));                                        \
	} while (0)
	REFUSED(speed, 999999999);
	REFUSED(speed, ADV_PLAN_SPEED_MAX + 1);
	REFUSED(delay, ADV_PLAN_DELAY_MAX + 1);
	REFUSED(max_frame, 63);
	REFUSED(max_frame, ADV_PLAN_FRAME_MAX + 1);
	REFUSED(lossless_frame, 1523);
	REFUSED(response_bits, ADV_PLAN_BITS_MAX + 1);
	REFUSED(interface_bits, UINT64_MAX);
	REFUSED(cell, ADV_PLAN_CELL_MAX + 1);
	REFUSED(small_packets, (uint32_t)ADV_RATIO_ONE + 1);
	assert_int_equal(adv_plan_bits(ADV_PLAN_SPEED_MAX, ADV_QUANTITY_MAX), UINT64_MAX);
	/* All inputs at their maximum: no overflow (UBSan would report it). */
	l = link_of(ADV_PLAN_SPEED_MAX, ADV_PLAN_DELAY_MAX, ADV_PLAN_FRAME_MAX);
	l.response_bits = l.interface_bits = ADV_PLAN_BITS_MAX;
	l.cell = ADV_PLAN_CELL_MAX;
	assert_null(adv_plan_headroom(&l, &h));
	assert_true(h.size > h.headroom && h.headroom > h.reaction * 63);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_hand),
		cmocka_unit_test(test_annex_o),
		cmocka_unit_test(test_limits_of_the_standard),
		cmocka_unit_test(test_monotonic),
		cmocka_unit_test(test_cells),
		cmocka_unit_test(test_mlx5),
		cmocka_unit_test(test_bits_are_rounded_up),
		cmocka_unit_test(test_out_of_range),
	};

	return cmocka_run_group_tests_name("plan headroom", tests, NULL, NULL);
}
