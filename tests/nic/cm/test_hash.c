/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "harness.h"

/* The key, each number, their order and the address all change the hash. */
static void test_hash(void **state)
{
	static const uint64_t key[2] = {1, 2}, other[2] = {1, 3};
	struct adv_gid gid = ipv4(1);

	assert_true(adv_cm_hash(key, 1, 2) != adv_cm_hash(key, 2, 1));
	assert_true(adv_cm_hash(key, 1, 2) != adv_cm_hash(other, 1, 2));
	assert_true(adv_cm_hash(key, 1, 2) != adv_cm_hash(key, 1, 3));
	assert_true(adv_cm_hash_gid(key, &gid, 1, 2) == adv_cm_hash_gid(key, &gid, 1, 2));
	assert_true(adv_cm_hash_gid(key, &gid, 1, 2) != adv_cm_hash_gid(key, &gid, 2, 1));
	gid.raw[15]++;
	assert_true(adv_cm_hash_gid(key, &gid, 1, 2) != adv_cm_hash_gid(other, &gid, 1, 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hash),
	};

	return cmocka_run_group_tests_name("cm hash", tests, NULL, NULL);
}
