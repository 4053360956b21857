/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Hosts that are silent. */
#include "harness.h"

static void test_keep_alive(void **state)
{
	struct lab *lab = *state;
	struct lab_queue admin, io;
	struct adv_nvme_command c = {.opcode = ADV_NVME_KEEP_ALIVE};
	uint64_t deadline;

	lab_ready(lab, &admin, &io, 4500);
	deadline = adv_nvme_target_deadline(lab->target);
	assert_true(deadline == lab->now + 5000000000ull); /* rounded up to the granularity */
	lab->now = deadline - 1;
	adv_nvme_target_expire(lab->target, lab->now);
	assert_int_equal(lab_do(&admin, &c), 0);
	lab->now = deadline;
	adv_nvme_target_expire(lab->target, lab->now);
	lab_run(lab);
	assert_false(admin.closed);
	lab->now = adv_nvme_target_deadline(lab->target);
	adv_nvme_target_expire(lab->target, lab->now);
	lab_run(lab);
	assert_true(admin.freed && io.freed);
	assert_true(adv_nvme_target_deadline(lab->target) == UINT64_MAX);
}

static void expire(struct lab *lab, uint64_t now)
{
	lab->now = now;
	adv_nvme_target_expire(lab->target, now);
	lab_run(lab);
}

/* Queues that get no Connect, or a refused one, end after some time, the oldest first. Others stay.
 */
static void test_connect_timeout(void **state)
{
	const uint64_t limit = 30000000000ull;
	struct lab *lab = *state;
	struct lab_queue admin, silent, refused, late;

	assert_int_equal(lab_open(lab, &silent, 1, 32), ADV_NVME_CM_OK);
	assert_true(adv_nvme_target_deadline(lab->target) == lab->now + limit);
	lab->now += 5;
	assert_int_equal(lab_open(lab, &refused, 0, 32), ADV_NVME_CM_OK);
	assert_int_not_equal(lab_connect(&refused, "nqn.2026-01.test:none", 0xffff, 0), 0);
	assert_int_equal(lab_open(lab, &admin, 0, 32), ADV_NVME_CM_OK);
	assert_int_equal(lab_connect(&admin, LAB_NQN, 0xffff, 0), 0);
	lab->now += 5;
	assert_int_equal(lab_open(lab, &late, 0, 32), ADV_NVME_CM_OK);
	assert_ptr_equal(adv_nvme_target_unconnected(lab->target, refused.queue), late.queue);
	expire(lab, lab->now - 10 + limit - 1);
	assert_false(silent.closed);
	expire(lab, adv_nvme_target_deadline(lab->target));
	assert_true(silent.freed);
	assert_false(refused.closed);
	expire(lab, lab->now + 5);
	assert_true(refused.freed);
	assert_ptr_equal(adv_nvme_target_unconnected(lab->target, NULL), late.queue);
	adv_nvme_queue_fail(late.queue, NULL);
	assert_null(adv_nvme_target_unconnected(lab->target, NULL));
	assert_true(adv_nvme_target_deadline(lab->target) == UINT64_MAX);
	lab_run(lab);
	assert_true(late.freed);
	assert_false(admin.closed);
	lab_close(&admin);
}

/* A discovery controller ends when its host is silent, though the host has no keep alive timer. */
static void test_discovery_timeout(void **state)
{
	struct lab *lab = *state;
	struct lab_queue admin;
	struct adv_nvme_command c = lab_log(ADV_NVME_LOG_DISCOVERY, 0, 1024);

	assert_int_equal(lab_open(lab, &admin, 0, 32), ADV_NVME_CM_OK);
	assert_int_equal(lab_connect(&admin, ADV_NVME_DISCOVERY_NQN, 0xffff, 0), 0);
	lab_set_cc(&admin, ADV_NVME_CC_ENABLE);
	for (unsigned i = 0; i < 3; i++) {
		expire(lab, lab->now + 119000000000ull);
		assert_int_equal(lab_do(&admin, &c), 0);
	}
	expire(lab, lab->now + 120000000000ull);
	assert_true(admin.freed);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, lab_setup, lab_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_keep_alive),
		TEST(test_connect_timeout),
		TEST(test_discovery_timeout),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
