/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/array.h"
#include "base/units.h"
#include "fabric/plan/ecn.h"
#include "fabric/plan/headroom.h"

/* The paper's switch, an Arista 7050QX32: 32 ports of 40 Gb/s, 12 MB, 8 priorities, t_flight
 * 22.4 KB. */
static const struct adv_plan_ecn_switch paper = {12000000, 32, 8, 22400, 8 * ADV_RATIO_ONE};

/* The results equal those of section 4: t_PFC <= 24.47 KB and, with beta = 8, t_ECN < 21.75 KB, in
 * kilobytes of 1000. The paper's static t_ECN < 0.85 KB does not follow from the paper's t_PFC:
 * 24.47 KB / 32 is 0.76 KB. Both are less than a packet. */
static void test_paper(void **state)
{
	struct adv_plan_ecn e;

	assert_null(adv_plan_ecn(&paper, &e));
	assert_int_equal(e.shared, 12000000 - 8 * 32 * 22400);
	assert_int_equal(e.t_pfc, 24475);
	assert_int_equal(e.t_ecn, 21755);
	assert_int_equal(e.t_ecn_static, 764);
}

/* adv_plan_headroom() can explain the paper's t_flight of 22.4 KB. It is for an MTU of 1500 bytes
 * and a cable of unknown length, which has 143 m by adv_plan_headroom(). */
static void test_paper_headroom(void **state)
{
	struct adv_plan_link l = {.speed = 40000000000,
				  .max_frame = 1522,
				  .lossless_frame = 1522,
				  .response_bits = adv_plan_response_bits(40000000000),
				  .interface_bits = adv_plan_interface_bits(40000000000)};
	struct adv_plan_headroom h;

	l.delay = 143 * 5000;
	assert_null(adv_plan_headroom(&l, &h));
	assert_in_range(h.headroom, 22300, 22400);
	l.delay = 145 * 5000;
	assert_null(adv_plan_headroom(&l, &h));
	assert_in_range(h.headroom, 22401, 22500);
}

/* If t_ECN is below the bound and every egress queue is at t_ECN, no ingress queue has reached
 * t_PFC. */
static void test_bound_is_tight(void **state)
{
	static const struct adv_plan_ecn_switch cases[] = {
		{12000000, 32, 8, 22400, 8 * ADV_RATIO_ONE},
		{32000000, 32, 2, 70000, ADV_RATIO_ONE},
		{64000000, 64, 1, 90000, ADV_RATIO_ONE / 8},
		{100000000, 128, 3, 50000, ADV_RATIO_ONE / 64},
	};

	for (size_t i = 0; i < ADV_ARRAY_SIZE(cases); i++) {
		const struct adv_plan_ecn_switch *sw = &cases[i];
		struct adv_plan_ecn e;

		assert_null(adv_plan_ecn(sw, &e));
		assert_true(e.t_ecn > 0);
		assert_true(sw->ports * e.t_ecn <= adv_plan_ecn_t_pfc(sw, e.t_ecn));
		assert_true(sw->ports * (e.t_ecn + 1) > adv_plan_ecn_t_pfc(sw, e.t_ecn + 1));
	}
}

static void test_t_pfc(void **state)
{
	assert_int_equal(adv_plan_ecn_t_pfc(&paper, 0), 6265600); /* 8 x 6,265,600 / 8 */
	assert_int_equal(adv_plan_ecn_t_pfc(&paper, 5000), 6265600 - 256 * 5000);
	assert_int_equal(adv_plan_ecn_t_pfc(&paper, 24475), 0); /* 6,265,600 / 256 */
	assert_int_equal(adv_plan_ecn_t_pfc(&paper, UINT64_MAX), 0);
}

static void test_k(void **state)
{
	assert_int_equal(adv_plan_ecn_k_min(40000000000), 5000);
	assert_int_equal(adv_plan_ecn_k_max(40000000000), 200000);
	assert_int_equal(adv_plan_ecn_k_min(400000000000), 50000);
	assert_int_equal(adv_plan_ecn_k_max(25000000000), 125000);
}

static void test_out_of_range(void **state)
{
	struct adv_plan_ecn_switch sw;
	struct adv_plan_ecn e;

#define REFUSED(field, value)                                                                      \
	do {                                                                                       \
		sw = paper;                                                                        \
		sw.field = (value);                                                                \
		assert_non_null(adv_plan_ecn(&sw, &e));                                            \
	} while (0)
	REFUSED(buffer, 0);
	REFUSED(buffer, ADV_PLAN_BUFFER_MAX + 1);
	REFUSED(ports, 0);
	REFUSED(ports, ADV_PLAN_PORTS_MAX + 1);
	REFUSED(lossless, 0);
	REFUSED(lossless, 9);
	REFUSED(headroom, UINT64_MAX);
	REFUSED(headroom, 46876); /* x 256 is more than the buffer */
	REFUSED(beta, 0);
	REFUSED(beta, ADV_PLAN_ALPHA_MAX + 1);
	sw = paper;
	sw.headroom = 46875; /* exactly the buffer: no shared byte is left */
	assert_null(adv_plan_ecn(&sw, &e));
	assert_int_equal(e.t_ecn, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paper),
		cmocka_unit_test(test_paper_headroom),
		cmocka_unit_test(test_bound_is_tight),
		cmocka_unit_test(test_t_pfc),
		cmocka_unit_test(test_k),
		cmocka_unit_test(test_out_of_range),
	};

	return cmocka_run_group_tests_name("plan ecn", tests, NULL, NULL);
}
