/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What namespaces and hosts have done: commands, bytes, times, errors; hosts that come and go. */
#include "harness.h"

#include <stdio.h>

#include "storage/nvme_target/stats.h"

static struct adv_nvme_client_stats clients[ADV_NVME_CLIENTS_MAX];

static void test_commands(void **state)
{
	struct lab *lab = *state;
	struct adv_nvme_command read = lab_io(ADV_NVME_READ, 0, 3);
	struct adv_nvme_command write = lab_io(ADV_NVME_WRITE, 0, 2);
	struct adv_nvme_command flush = lab_io(ADV_NVME_FLUSH, 0, 0);
	struct adv_nvme_command beyond = lab_io(ADV_NVME_READ, LAB_BLOCKS, 1);
	struct adv_nvme_namespace_stats rows[ADV_NVME_LIST_MAX];
	const struct adv_nvme_stats *s = &rows[0].stats;
	struct lab_queue admin, io;

	lab_ready(lab, &admin, &io, 0);
	lab->hold_backend = true;
	lab_send(&io, &read);
	lab->now += 5000;
	lab_continue(lab, 0);
	lab->hold_backend = false;
	lab->hold_sends = true;
	lab_do(&io, &write);
	lab->now += 700;
	lab->hold_sends = false;
	lab_continue(lab, 0);
	lab_do(&io, &write);
	lab_do(&io, &flush);
	lab_do(&io, &beyond);
	assert_int_equal(adv_nvme_subsystem_stats(lab->subsystem, rows), 1);
	assert_int_equal(rows[0].nsid, 1);
	assert_int_equal(rows[0].bytes, LAB_BLOCKS << LAB_SHIFT);
	assert_int_equal(s->reads, 1);
	assert_int_equal(s->read_bytes, 3 << LAB_SHIFT);
	assert_int_equal(s->read_ns, 5000);
	assert_int_equal(s->writes, 2);
	assert_int_equal(s->write_bytes, 4 << LAB_SHIFT);
	assert_int_equal(s->write_ns, 700);
	assert_int_equal(s->others, 1);
	assert_int_equal(s->errors, 1);
	assert_int_equal(adv_nvme_target_client_stats(lab->target, clients), 1);
	assert_string_equal(clients[0].nqn, LAB_HOST);
	assert_int_equal(clients[0].controllers, 1);
	assert_memory_equal(&clients[0].stats, s, sizeof(*s));
	/* The host leaves before the response is acknowledged. */
	lab->hold_sends = true;
	lab_do(&io, &read);
	lab_close(&io);
	lab_close(&admin);
	lab_continue(lab, 0);
	lab->hold_sends = false;
	assert_int_equal(adv_nvme_target_client_stats(lab->target, clients), 1);
	assert_int_equal(clients[0].controllers, 0);
	assert_int_equal(clients[0].stats.reads, 2);
	adv_nvme_subsystem_stats(lab->subsystem, rows);
	assert_int_equal(s->reads, 2);
}

/* Names are the hosts' choice: the first ones that left are forgotten, not those that are there. */
static void test_many_hosts(void **state)
{
	struct lab *lab = *state;
	struct lab_queue stays, q;
	char nqn[ADV_NVME_NQN_LEN];

	assert_int_equal(lab_open(lab, &stays, 0, 32), ADV_NVME_CM_OK);
	assert_int_equal(lab_connect_as(&stays, "nqn.2026-01.test:stays", LAB_NQN, 0xffff, 0), 0);
	for (unsigned i = 0; i < 2 * ADV_NVME_CLIENTS_MAX; i++) {
		snprintf(nqn, sizeof(nqn), "nqn.2026-01.test:%u", i);
		assert_int_equal(lab_open(lab, &q, 0, 32), ADV_NVME_CM_OK);
		assert_int_equal(lab_connect_as(&q, nqn, LAB_NQN, 0xffff, 0), 0);
		lab_close(&q);
	}
	assert_int_equal(adv_nvme_target_client_stats(lab->target, clients), ADV_NVME_CLIENTS_MAX);
	assert_string_equal(clients[0].nqn, "nqn.2026-01.test:stays");
	assert_string_equal(clients[1].nqn, "nqn.2026-01.test:257");
	lab_close(&stays);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, lab_setup, lab_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_commands),
		TEST(test_many_hosts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
