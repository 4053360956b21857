/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The versions of RoCE of a process, and its GID table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/identity/roce.h"

static struct adv_gid_table table_of(uint32_t count)
{
	struct adv_gid_table t = {.count = count, .active_mtu = 1024};

	for (uint32_t i = 0; i < count; i++)
		t.entry[i] = (struct adv_gid_entry){
			.gid.raw = {[15] = (uint8_t)i}, .ifindex = i + 1, .type = ADV_GID_ROCE_V2};
	return t;
}

static void test_names(void **state)
{
	assert_int_equal(adv_roce_named("v2"), ADV_ROCE_V2);
	assert_int_equal(adv_roce_named("v1"), ADV_ROCE_V1);
	assert_int_equal(adv_roce_named("both"), ADV_ROCE_BOTH);
	assert_int_equal(adv_roce_named(""), ADV_ROCE_UNKNOWN);
	assert_int_equal(adv_roce_named("V1"), ADV_ROCE_UNKNOWN);
}

static void test_v2_only(void **state)
{
	struct adv_gid_table t = table_of(5), before = t;

	adv_roce_change_table(&t, ADV_ROCE_V2);
	assert_memory_equal(&t, &before, sizeof(t));
	adv_roce_change_table(&t, ADV_ROCE_UNKNOWN);
	assert_memory_equal(&t, &before, sizeof(t));
}

static void test_v1_only(void **state)
{
	struct adv_gid_table t = table_of(5);

	adv_roce_change_table(&t, ADV_ROCE_V1);
	assert_int_equal(t.count, 5);
	for (uint32_t i = 0; i < 5; i++) {
		assert_int_equal(t.entry[i].type, ADV_GID_ROCE_V1);
		assert_int_equal(t.entry[i].gid.raw[15], i);
		assert_int_equal(adv_roce_v1_index(ADV_ROCE_V1, i, 5), i);
	}
}

/* The entries of v2 keep their indices. */
static void test_both(void **state)
{
	struct adv_gid_table t = table_of(5);

	adv_roce_change_table(&t, ADV_ROCE_BOTH);
	assert_int_equal(t.count, 10);
	for (uint32_t i = 0; i < 5; i++) {
		const struct adv_gid_entry *v1 = &t.entry[adv_roce_v1_index(ADV_ROCE_BOTH, i, 5)];

		assert_int_equal(t.entry[i].type, ADV_GID_ROCE_V2);
		assert_int_equal(t.entry[i].gid.raw[15], i);
		assert_int_equal(v1->type, ADV_GID_ROCE_V1);
		assert_int_equal(v1->gid.raw[15], i);
		assert_int_equal(v1->ifindex, i + 1);
	}
}

/* What does not fit has no GID of v1. */
static void test_full_table(void **state)
{
	static struct adv_gid_table t;

	t = table_of(200);
	adv_roce_change_table(&t, ADV_ROCE_BOTH);
	assert_int_equal(t.count, ADV_GID_TABLE_ENTRIES);
	assert_int_equal(t.entry[199].type, ADV_GID_ROCE_V2);
	assert_int_equal(t.entry[200].type, ADV_GID_ROCE_V1);
	assert_int_equal(t.entry[255].gid.raw[15], 55);
	t = table_of(ADV_GID_TABLE_ENTRIES);
	adv_roce_change_table(&t, ADV_ROCE_BOTH);
	assert_int_equal(t.count, ADV_GID_TABLE_ENTRIES);
}

/* The environment of a process chooses once. */
static void test_environment(void **state)
{
	assert_int_equal(setenv(ADV_ROCE_VARIABLE, "v1", 1), 0);
	assert_int_equal(adv_roce(), ADV_ROCE_V1);
	assert_int_equal(setenv(ADV_ROCE_VARIABLE, "v2", 1), 0);
	assert_int_equal(adv_roce(), ADV_ROCE_V1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),	   cmocka_unit_test(test_v2_only),
		cmocka_unit_test(test_v1_only),	   cmocka_unit_test(test_both),
		cmocka_unit_test(test_full_table), cmocka_unit_test(test_environment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
