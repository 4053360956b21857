/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdio.h>
#include <string.h>

#include "../engine/harness.h"

static struct adv_cc_config good(const char *text)
{
	struct adv_cc_config c;
	char why[2048] = "";

	if (!adv_cc_parse(&c, text, why, sizeof(why)))
		fail_msg("'%s': %s", text, why);
	assert_true(adv_cc_valid(&c));
	return c;
}

static void bad(const char *text, const char *said)
{
	struct adv_cc_config c;
	char why[2048] = "";

	assert_false(adv_cc_parse(&c, text, why, sizeof(why)));
	if (!strstr(why, said))
		fail_msg("'%s' says '%s', not '%s'", text, why, said);
}

/* Each default has its documented value, so that no default changes unnoticed.
 * docs/congestion-control.md has the sources. */
static void test_defaults(void **state)
{
	const struct adv_cc_config c = adv_cc_default();
	const struct adv_cc_params wanted = {
		.clamp_tgt_rate = 1,
		.clamp_tgt_rate_after_time_inc = 1,
		.rpg_time_reset = 55,
		.rpg_byte_reset = 10000000,
		.rpg_threshold = 5,
		.rpg_ai_rate = 40,
		.rpg_hai_rate = 200,
		.rpg_gd = 11,
		.rpg_min_dec_fac = 50,
		.rpg_min_rate = 100,
		.dce_tcp_g = 1020,
		.dce_tcp_rtt = 55,
		.rate_reduce_monitor_period = 4,
		.initial_alpha_value = 1024,
		.min_time_between_cnps = 50,
		.cnp_dscp = 48,
		.cnp_802p_prio = 6,
		.dctcp_g = 64,
		.timely_t_low = 50,
		.timely_t_high = 500,
		.timely_min_rtt = 20,
		.timely_ai_rate = 10,
		.timely_alpha = 896,
		.timely_beta = 819,
		.timely_min_rate = 10,
		.swift_target = 25,
		.swift_ai = 1024,
		.swift_beta = 819,
		.swift_max_mdf = 512,
		.swift_fs_range = 100,
		.swift_fs_min = 102,
		.swift_fs_max = 102400,
		.swift_min_window = 10,
		.hpcc_base_rtt = 13,
		.hpcc_eta = 95,
		.hpcc_max_stage = 5,
		.hpcc_ai = 80,
	};

	assert_int_equal(c.algorithm, ADV_CC_DCQCN);
	assert_memory_equal(&c.params, &wanted, sizeof(wanted));
	assert_true(adv_cc_valid(&c));
}

static void test_names(void **state)
{
	struct adv_cc_config c = good("dcqcn rpg_ai_rate=7,rpg_min_rate=3; cnp_dscp=0 ");

	assert_int_equal(c.params.rpg_ai_rate, 7);
	assert_int_equal(c.params.rpg_min_rate, 3);
	assert_int_equal(c.params.cnp_dscp, 0);
	assert_int_equal(c.params.rpg_hai_rate, 200);
	assert_int_equal(good("  none").algorithm, ADV_CC_NONE);
	assert_int_equal(good("dcqcn").algorithm, ADV_CC_DCQCN);
	assert_int_equal(good("dctcp").algorithm, ADV_CC_DCTCP);
	assert_int_equal(good("timely timely_beta=512").params.timely_beta, 512);
	assert_int_equal(good("swift swift_target=40").params.swift_target, 40);
}

/* Returns the parameters that the k-th value of this one needs beside it. */
static const char *beside(const char *name, unsigned k)
{
	if (strcmp(name, "rpg_max_rate") == 0)
		return " rpg_min_rate=1";
	if (strcmp(name, "timely_t_high") == 0)
		return " timely_t_low=1";
	return strcmp(name, "timely_t_low") == 0 && k == 1 ? " timely_t_high=100000" : "";
}

/* Every parameter accepts its least and its greatest value, and no value beyond. */
static void test_ranges(void **state)
{
	const struct adv_cc_parameter *p;
	unsigned i = 0;

	for (; (p = adv_cc_parameter(i)); i++) {
		uint64_t values[] = {p->min, p->max, (uint64_t)p->max + 1, (uint64_t)p->min - 1};
		char text[128];

		for (unsigned k = 0; k < 3 + (p->min > 0); k++) {
			struct adv_cc_config c;

			snprintf(text, sizeof(text), "%s %s=%llu%s", adv_cc_name(p->algorithm),
				 p->name, (unsigned long long)values[k], beside(p->name, k));
			if (k >= 2 && p->algorithm != ADV_CC_HPCC) {
				bad(text, p->name);
				continue;
			}
			if (strcmp(p->name, "rpg_max_rate") == 0 && k == 0)
				continue;
			/* Programs have no HPCC. */
			if (p->algorithm == ADV_CC_HPCC) {
				bad(text, "hpcc needs switches with telemetry");
				continue;
			}
			c = good(text);
			assert_int_equal(*(uint32_t *)(void *)((char *)&c.params + p->offset),
					 values[k]);
		}
	}
	assert_int_equal(i, sizeof(struct adv_cc_params) / sizeof(uint32_t));
	bad("dcqcn rpg_max_rate=50", "rpg_min_rate (100 Mb/s) is above rpg_max_rate (50 Mb/s)");
	good("dcqcn rpg_max_rate=100");
}

static void test_errors(void **state)
{
	bad("", "expected none, dcqcn, dctcp, timely or swift");
	bad("dcqc", "'dcqc': expected none, dcqcn, dctcp, timely or swift");
	bad("dcqcnx", "expected none, dcqcn, dctcp, timely or swift");
	bad("rpg_gd=11", "expected none, dcqcn, dctcp, timely or swift");
	bad("hpcc", "hpcc needs switches with telemetry: only adverb sim has them");
	bad("timely rpg_gd=11",
	    "timely has no parameter 'rpg_gd'; the parameters are timely_t_low, ");
	bad("timely timely_t_low=600", "timely_t_low (600 us) is above timely_t_high (500 us)");
	bad("none rpg_gd=11", "none has no parameters");
	bad("dcqcn rpg", "dcqcn has no parameter 'rpg'; the parameters are clamp_tgt_rate, ");
	bad("dcqcn rpg_gdd=1", "no parameter 'rpg_gdd'");
	bad("dcqcn =1", "no parameter ''");
	bad("dcqcn rpg_gd", "rpg_gd: expected rpg_gd=N, N a number from 10 to 15");
	bad("dcqcn rpg_gd=", "rpg_gd: expected");
	bad("dcqcn rpg_gd=+11", "rpg_gd: expected");
	bad("dcqcn rpg_gd=11x", "rpg_gd: expected");
	bad("dcqcn rpg_gd=0x0b", "rpg_gd: expected");
	bad("dcqcn rpg_gd=99999999999999999999", "rpg_gd: expected");
	bad("dcqcn rpg_time_reset=4294967351", "from 1 to 10000000 in us");
	bad("dcqcn rpg_gd=11 rpg_gd=11", "rpg_gd is given twice");
}

static void test_print(void **state)
{
	struct adv_cc_config c = good("dcqcn cnp_dscp=4 rpg_time_reset=300"), again;
	char text[1024], few[12];
	int len = adv_cc_print(&c, text, sizeof(text));

	assert_int_equal(len, strlen(text));
	assert_string_equal(text, "dcqcn rpg_time_reset=300 cnp_dscp=4");
	again = good(text);
	assert_memory_equal(&again, &c, sizeof(c));
	assert_int_equal(adv_cc_print(&c, few, sizeof(few)), len);
	assert_string_equal(few, "dcqcn rpg_t");
	c = good("none");
	adv_cc_print(&c, text, sizeof(text));
	assert_string_equal(text, "none");
}

static void test_engine_refuses(void **state)
{
	struct adv_cc_config c = adv_cc_default();
	struct adv_engine_config config = {.seed = {1}, .qpn_first = 2, .qpn_count = 4, .cc = &c};

	c.params.rpg_gd = 9;
	assert_null(adv_engine_create(&config));
	assert_int_equal(errno, EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults), cmocka_unit_test(test_names),
		cmocka_unit_test(test_ranges),	 cmocka_unit_test(test_errors),
		cmocka_unit_test(test_print),	 cmocka_unit_test(test_engine_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
