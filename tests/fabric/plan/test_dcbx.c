/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "fabric/plan/dcbx.h"

/* Priority 3 is lossless, priority 6 strict, 0 and 3 share by 40 and 60 %. */
static const struct adv_plan_dcb plan = {
	.priority_of_dscp = {[26] = 3, [48] = 6},
	.lossless = 1u << 3,
	.strict = 1u << 6,
	.used = 1u << 0 | 1u << 3 | 1u << 6,
	.percent = {[0] = 40, [3] = 60},
};

static char all[4096];

static void note(void *user, const char *text)
{
	strncat(all, text, sizeof(all) - strlen(all) - 1);
}

/* Checks that the port differs in one thing, whose text contains `part`. */
static void one_difference(const struct adv_dcbx *port, const char *part)
{
	all[0] = '\0';
	assert_int_equal(adv_plan_dcbx_compare(&plan, port, note, NULL), 1);
	if (!strstr(all, part))
		fail_msg("'%s' has no '%s'", all, part);
}

static struct adv_dcbx good(void)
{
	struct adv_dcbx d;

	adv_plan_dcbx(&plan, &d);
	return d;
}

static void test_own(void **state)
{
	struct adv_dcbx d = good();

	assert_int_equal(adv_plan_dcbx_compare(&plan, &d, note, NULL), 0);
	assert_int_equal(d.apps, 65);
	assert_int_equal(d.app[64].protocol, 4791);
	assert_int_equal(d.app[64].priority, 3);
	d.apps = 0; /* many switches advertise no application */
	assert_int_equal(adv_plan_dcbx_compare(&plan, &d, note, NULL), 0);
}

static void test_pfc(void **state)
{
	struct adv_dcbx d = good();

	d.pfc.enabled = 0;
	one_difference(&d, "Priority 3 has no PFC");
	d.pfc.enabled = 1u << 3 | 1u << 4;
	one_difference(&d, "Priority 4 has PFC, which the scenario does not have");
	d = good();
	d.pfc.willing = true;
	one_difference(&d, "willing to change its PFC");
	d = good();
	d.pfc.present = false;
	one_difference(&d, "no PFC");
}

/* Some ports can have PFC for few classes; 0 says that there is no limit. */
static void test_pfc_classes(void **state)
{
	struct adv_plan_dcb two = plan;
	struct adv_dcbx d;

	two.lossless |= 1u << 4;
	adv_plan_dcbx(&two, &d);
	d.pfc.classes = 1;
	all[0] = '\0';
	assert_int_equal(adv_plan_dcbx_compare(&two, &d, note, NULL), 1);
	assert_non_null(strstr(all, "1 traffic class only"));
	d.pfc.classes = 2;
	assert_int_equal(adv_plan_dcbx_compare(&two, &d, note, NULL), 0);
	d.pfc.classes = 0;
	assert_int_equal(adv_plan_dcbx_compare(&two, &d, note, NULL), 0);
}

static void test_ets(void **state)
{
	struct adv_dcbx d = good();

	d.configuration.percent[3] = 59;
	one_difference(&d, "Priority 3 has 59 %");
	d = good();
	d.configuration.algorithm[6] = ADV_DCBX_ETS;
	one_difference(&d, "Priority 6 is served by shares");
	d = good();
	d.configuration.algorithm[0] = ADV_DCBX_STRICT;
	one_difference(&d, "Priority 0 is strict");
	d = good();
	d.configuration.class_of[3] = 0;
	d.configuration.percent[0] = 100;
	one_difference(&d, "Priorities 0 and 3 share traffic class 0");
	d = good();
	d.configuration.willing = true;
	one_difference(&d, "willing to change its ETS");
	d = good();
	d.configuration.present = false;
	one_difference(&d, "no ETS");
}

static void test_applications(void **state)
{
	struct adv_dcbx d = good();

	d.app[26].priority = 0;
	one_difference(&d, "DSCP 26 has priority 0; the scenario gives it 3");
	d = good();
	d.app[64].priority = 5;
	one_difference(&d, "priority 5, which is not lossless");
	d = good();
	d.app[0] = (struct adv_dcbx_app){7, ADV_DCBX_DSCP, 64}; /* there is no such DSCP */
	assert_int_equal(adv_plan_dcbx_compare(&plan, &d, note, NULL), 0);
}

static void test_no_dcbx(void **state)
{
	struct adv_dcbx d = {.apps = 0};

	one_difference(&d, "LLDP without DCBX");
	d.old = true;
	one_difference(&d, "older DCBX");
}

/* ---- both ends of a cable ---- */

/* Checks that the ends give this number of remedies, and texts with `part`; NULL: no text. */
static void cable(const struct adv_dcbx *one, const struct adv_dcbx *other, unsigned remedies,
		  const char *part)
{
	for (unsigned turn = 0; turn < 2; turn++) {
		all[0] = '\0';
		assert_int_equal(
			adv_plan_dcbx_cable(turn ? other : one, turn ? one : other, note, NULL),
			remedies);
		if (part ? !strstr(all, part) : all[0] != '\0')
			fail_msg("'%s', not '%s'", all, part ? part : "");
	}
}

/* PFC: each combination of willing ends, whose settings agree or differ. */
static void test_cable_pfc(void **state)
{
	struct adv_dcbx one = good(), other = good();

	one.mac[5] = 1;
	other.mac[5] = 2;
	for (unsigned willing = 0; willing < 4; willing++) {
		one.pfc.willing = willing & 1;
		other.pfc.willing = willing >> 1;
		other.pfc.enabled = one.pfc.enabled;
		cable(&one, &other, 0, NULL);
		other.pfc.enabled = 1u << 3 | 1u << 5;
		cable(&one, &other, willing == 0 || willing == 3,
		      (const char *[]){
			      "Neither end is willing and their PFC differs: priorities 5 have",
			      "Port 00:00:00:00:00:01 is willing: it takes the PFC of the other "
			      "end, priorities 3, 5.",
			      "Port 00:00:00:00:00:02 is willing: it takes the PFC of the other "
			      "end, priorities 3.",
			      "Both ends are willing and their PFC differs (priorities 5)",
		      }[willing]);
	}
	other.pfc.present = false;
	cable(&one, &other, 0, NULL);
}

/* ETS: a willing end takes a recommendation. Ends that are not willing may differ. */
static void test_cable_ets(void **state)
{
	struct adv_dcbx one = good(), other = good();

	one.mac[5] = 1;
	other.mac[5] = 2;
	other.configuration.percent[0] = 10;
	cable(&one, &other, 0, NULL);
	one.configuration.willing = true;
	cable(&one, &other, 0, "Port 00:00:00:00:00:01 is willing to take ETS, but the other end");
	other.recommendation = other.configuration;
	cable(&one, &other, 0, "Port 00:00:00:00:00:01 is willing: it takes the shares");
	other.recommendation = one.configuration;
	cable(&one, &other, 0, NULL);
	other.configuration.willing = true;
	cable(&one, &other, 0, "Port 00:00:00:00:00:02 is willing to take ETS, but the other end");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own),	     cmocka_unit_test(test_pfc),
		cmocka_unit_test(test_pfc_classes),  cmocka_unit_test(test_ets),
		cmocka_unit_test(test_applications), cmocka_unit_test(test_no_dcbx),
		cmocka_unit_test(test_cable_pfc),    cmocka_unit_test(test_cable_ets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
