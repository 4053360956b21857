/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Changes of a running target: subsystems that go, hosts that are no longer allowed, namespaces
 * that grow. */
#include <errno.h>

#include "harness.h"

#include "base/bytes.h"

struct changes {
	struct lab lab;
	struct lab_queue admin, io;
};

static int setup(void **state)
{
	static struct changes s;
	struct adv_nvme_target_config config = {0};

	lab_create(&s.lab, &config);
	lab_ready(&s.lab, &s.admin, &s.io, 0);
	*state = &s;
	return 0;
}

static int teardown(void **state)
{
	struct changes *s = *state;

	if (!s->io.closed)
		lab_close(&s->io);
	if (!s->admin.closed)
		lab_close(&s->admin);
	lab_destroy(&s->lab);
	return 0;
}

/* The hosts are disconnected, new ones find nothing, and the memory is there as long as a command
 * in execution uses it. */
static void test_removed_subsystem(void **state)
{
	struct changes *s = *state;
	struct adv_nvme_command write = lab_io(ADV_NVME_WRITE, 0, 1);
	struct adv_nvme_target_counts counts;
	struct lab_queue other;

	s->lab.hold_backend = true;
	lab_send(&s->io, &write);
	assert_int_equal(s->lab.held_count, 1);
	adv_nvme_target_remove_subsystem(s->lab.subsystem);
	assert_null(adv_nvme_target_find_subsystem(s->lab.target, LAB_NQN));
	assert_null(adv_nvme_target_subsystem(s->lab.target, 0));
	lab_run(&s->lab);
	assert_true(s->admin.closed && s->io.closed);
	assert_true(s->admin.freed && !s->io.freed);
	assert_null(adv_nvme_target_next_released(s->lab.target));
	lab_continue(&s->lab, 0);
	assert_true(s->io.freed);
	assert_ptr_equal(adv_nvme_target_next_released(s->lab.target), s->lab.disk);
	assert_null(adv_nvme_target_next_released(s->lab.target));
	adv_nvme_target_count(s->lab.target, &counts);
	assert_int_equal(counts.subsystems, 1); /* discovery */
	assert_int_equal(counts.namespaces, 0);

	assert_int_equal(lab_open(&s->lab, &other, 0, 32), ADV_NVME_CM_OK);
	assert_int_equal(lab_connect(&other, LAB_NQN, ADV_NVME_ANY_CNTLID, 0),
			 ADV_NVME_CONNECT_INVALID | ADV_NVME_DNR);
	lab_close(&other);
	/* The name is free again. */
	assert_int_equal(
		adv_nvme_target_add_subsystem(s->lab.target, LAB_NQN, "S2", &s->lab.subsystem), 0);
}

/* A host that stays allowed goes on; another list disconnects it. */
static void test_hosts(void **state)
{
	struct changes *s = *state;
	char *allowed[] = {LAB_HOST, "nqn.2026-01.test:friend"};
	char *wrong[] = {"nqn.2026-01.test:friend", "nobody"};
	struct adv_nvme_command read = lab_io(ADV_NVME_READ, 0, 1);

	assert_int_equal(adv_nvme_subsystem_set_hosts(s->lab.subsystem, allowed, 2), 0);
	lab_run(&s->lab);
	assert_int_equal(lab_do(&s->io, &read), 0);
	assert_int_equal(adv_nvme_subsystem_set_hosts(s->lab.subsystem, wrong, 2), EINVAL);
	lab_run(&s->lab);
	assert_int_equal(lab_do(&s->io, &read), 0);
	assert_int_equal(adv_nvme_subsystem_set_hosts(s->lab.subsystem, allowed + 1, 1), 0);
	lab_run(&s->lab);
	assert_true(s->admin.closed && s->io.closed);
	/* Without names all are allowed. */
	assert_int_equal(adv_nvme_subsystem_set_hosts(s->lab.subsystem, NULL, 0), 0);
	lab_ready(&s->lab, &s->admin, &s->io, 0);
}

/* The event, the list of changed namespaces, Identify, and the new blocks. */
static void test_grown_namespace(void **state)
{
	struct changes *s = *state;
	struct adv_nvme_command c =
		lab_feature(true, ADV_NVME_FEATURE_ASYNC_EVENTS, ADV_NVME_OAES_NAMESPACE);
	struct adv_nvme_subsystem *subsystem = s->lab.subsystem;
	struct adv_nvme_identify_namespace ns;

	assert_int_equal(lab_do(&s->admin, &c), 0);
	c = lab_command(ADV_NVME_ASYNC_EVENT_REQUEST, 0, 0);
	lab_send(&s->admin, &c);
	assert_int_equal(adv_nvme_subsystem_grow_namespace(subsystem, 2, LAB_BLOCKS), ENOENT);
	assert_int_equal(adv_nvme_subsystem_grow_namespace(subsystem, 1, LAB_BLOCKS), EALREADY);
	assert_int_equal(adv_nvme_subsystem_grow_namespace(subsystem, 1, LAB_BLOCKS - 1), EINVAL);
	assert_int_equal(adv_nvme_subsystem_grow_namespace(subsystem, 1, UINT64_MAX), EINVAL);
	lab_run(&s->lab);
	assert_int_equal(s->admin.responses, s->admin.next_id - 1); /* no event */
	c = lab_io(ADV_NVME_READ, LAB_BLOCKS, 1);
	assert_int_equal(lab_do(&s->io, &c), ADV_NVME_LBA_RANGE | ADV_NVME_DNR);

	assert_int_equal(adv_nvme_subsystem_grow_namespace(subsystem, 1, LAB_BLOCKS + 1), 0);
	lab_run(&s->lab);
	assert_int_equal(s->admin.responses, s->admin.next_id);
	assert_int_equal(s->admin.last.result, ADV_NVME_EVENT_NAMESPACE);
	c = lab_log(ADV_NVME_LOG_CHANGED_NAMESPACES, 0, 4096);
	assert_int_equal(lab_do(&s->admin, &c), 0);
	assert_int_equal(adv_get_le32(s->lab.memory), 1);
	c = lab_identify(ADV_NVME_CNS_NAMESPACE, 1);
	assert_int_equal(lab_do(&s->admin, &c), 0);
	adv_nvme_identify_namespace_decode(s->lab.memory, &ns);
	assert_int_equal(ns.nsze, LAB_BLOCKS + 1);
	s->lab.backend_status = ADV_NVME_READ_ERROR; /* it gets to the backend */
	c = lab_io(ADV_NVME_READ, LAB_BLOCKS, 1);
	assert_int_equal(lab_do(&s->io, &c), ADV_NVME_READ_ERROR);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_removed_subsystem),
		TEST(test_hosts),
		TEST(test_grown_namespace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
