/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The fault plan of the environment. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nic/fault/environment.h"

static void test_absent(void **state)
{
	struct adv_fault_plan plan;
	char why[256];

	unsetenv(ADV_FAULT_VARIABLE);
	assert_int_equal(adv_fault_environment_read(&plan, why, sizeof(why)), ENOENT);
	setenv(ADV_FAULT_VARIABLE, "", 1);
	assert_int_equal(adv_fault_environment_read(&plan, why, sizeof(why)), ENOENT);
}

static void test_error(void **state)
{
	struct adv_fault_plan plan;
	char why[256];

	setenv(ADV_FAULT_VARIABLE, "drop=1% foo", 1);
	assert_int_equal(adv_fault_environment_read(&plan, why, sizeof(why)), EINVAL);
	assert_non_null(strstr(why, "ADVERB_FAULT, byte 9: unknown word 'foo'"));
}

/* A plan without a seed gets the same seed each time in one process. */
static void test_seed(void **state)
{
	struct adv_fault_plan plan, again;
	char why[256];

	setenv(ADV_FAULT_VARIABLE, "drop=1%", 1);
	assert_int_equal(adv_fault_environment_read(&plan, why, sizeof(why)), 0);
	assert_int_equal(adv_fault_environment_read(&again, why, sizeof(why)), 0);
	assert_true(plan.has_seed && plan.seed < ADV_FAULT_SEEDS);
	assert_memory_equal(&plan, &again, sizeof(plan));
	setenv(ADV_FAULT_VARIABLE, "drop=1%; seed=9", 1);
	assert_int_equal(adv_fault_environment_read(&plan, why, sizeof(why)), 0);
	assert_int_equal(plan.seed, 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_absent),
		cmocka_unit_test(test_error),
		cmocka_unit_test(test_seed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
