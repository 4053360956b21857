/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "fabric/plan/dcb.h"

#define NETWORK "[network]\ntopology = leaf-spine\nleaves = 2\nspines = 2\nhosts = 4\n"
#define FLOW	"[flow]\nfrom = 0\nto = 1\nbytes = 1kB\n"

/* Plans a scenario. Returns what adv_plan_dcb() returns. */
static const char *plan_of(const char *text, struct adv_plan_dcb *plan)
{
	struct adv_scenario s = {.name = ""};
	char why[ADV_SCENARIO_WHY] = "";
	struct adv_topology t;
	struct adv_fabric *f = NULL;
	const char *wrong;

	if (!adv_scenario_read(&s, "test", text, strlen(text), why) ||
	    !adv_scenario_build(&s, &t, &f, why))
		fail_msg("%s", why);
	wrong = adv_plan_dcb(&s, &t, f, plan);
	adv_fabric_destroy(f);
	adv_topology_free(&t);
	adv_scenario_free(&s);
	return wrong;
}

static unsigned sum_of(const struct adv_plan_dcb *plan)
{
	unsigned sum = 0;

	for (unsigned p = 0; p < ADV_PRIORITIES; p++)
		sum += plan->percent[p];
	return sum;
}

/* The weights of the defaults are 10 each, 50 of priority 3, and 6 is strict: 110 together. */
static void test_defaults(void **state)
{
	static const uint8_t percent[ADV_PRIORITIES] = {9, 9, 9, 46, 9, 9, 0, 9};
	struct adv_plan_dcb plan;

	assert_null(plan_of(NETWORK FLOW, &plan));
	assert_int_equal(plan.lossless, 1u << 3);
	assert_int_equal(plan.strict, 1u << 6);
	assert_int_equal(plan.used, 0xff);
	assert_int_equal(plan.marked, 0);
	assert_memory_equal(plan.percent, percent, sizeof(percent));
	assert_true(plan.rounded);
	assert_int_equal(plan.priority_of_dscp[26], 3);
	assert_int_equal(plan.alpha_log2[3], -3);
}

static void test_shares(void **state)
{
	struct adv_plan_dcb plan;

	assert_null(plan_of(NETWORK FLOW "[priority 0]\nweight = 7\n[priority 5]\nweight = 13\n",
			    &plan));
	assert_int_equal(sum_of(&plan), 100);
	assert_null(plan_of(NETWORK FLOW "[priority 4]\nweight = 0\n", &plan));
	assert_int_equal(sum_of(&plan), 100);
	assert_false(plan.rounded);
	assert_int_equal(plan.percent[3], 50);
	assert_int_equal(plan.strict, 1u << 4 | 1u << 6);
	assert_non_null(plan_of(NETWORK FLOW
				"[priority 0]\nweight = 1\n[priority 1]\nweight = 100\n"
				"[priority 2]\nweight = 100\n[priority 5]\nweight = 100\n",
				&plan));
}

static void test_map(void **state)
{
	struct adv_plan_dcb plan;

	assert_null(plan_of(NETWORK FLOW "[map]\ndscp = 10\npriority = 3\n", &plan));
	assert_int_equal(plan.priority_of_dscp[10], 3);
	assert_int_equal(plan.priority_of_dscp[11], 1);
}

static void test_ports(void **state)
{
	struct adv_plan_dcb plan;
	const struct adv_plan_dcb_port *host, *trunk;

	assert_null(plan_of("[network]\ntopology = leaf-spine\nleaves = 2\nspines = 2\nhosts = 4\n"
			    "cable = 10m\ntrunk-cable = 100m\nspeed = 100Gb/s\n"
			    "trunk-speed = 400Gb/s\n" FLOW,
			    &plan));
	assert_int_equal(plan.ports, 2);
	host = &plan.port[plan.port[0].to_host ? 0 : 1];
	trunk = &plan.port[plan.port[0].to_host ? 1 : 0];
	assert_true(host->to_host);
	assert_false(trunk->to_host);
	assert_int_equal(host->count, 8);
	assert_int_equal(trunk->count, 8);
	assert_int_equal(host->cable.ps_per_byte, 80);
	assert_int_equal(trunk->cable.ps_per_byte, 20);
	assert_int_equal(host->headroom, adv_fabric_headroom(host->cable, 4096, 500 * 1000));
	assert_int_equal(trunk->headroom, adv_fabric_headroom(trunk->cable, 4096, 500 * 1000));
}

static void test_given_values(void **state)
{
	struct adv_plan_dcb plan;

	assert_null(plan_of(NETWORK FLOW "[priority 3]\nheadroom = 50kB\nalpha = 1/4\n"
					 "ecn-min = 1kB\necn-max = 2kB\n",
			    &plan));
	assert_int_equal(plan.port[0].headroom, 50000);
	assert_int_equal(plan.alpha_log2[3], -2);
	assert_int_equal(plan.marked, 1u << 3);
	assert_null(plan_of(NETWORK FLOW "[priority 3]\nalpha = 3\n", &plan));
	assert_int_equal(plan.alpha_log2[3], 2); /* 4 is nearer than 2, by their ratio */
}

static void test_no_switch(void **state)
{
	struct adv_plan_dcb plan;

	assert_non_null(plan_of("[network]\ntopology = pair\n" FLOW, &plan));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),     cmocka_unit_test(test_shares),
		cmocka_unit_test(test_map),	     cmocka_unit_test(test_ports),
		cmocka_unit_test(test_given_values), cmocka_unit_test(test_no_switch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
