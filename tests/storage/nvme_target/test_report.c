/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reports for a log: what is reported, as text, and that their number has a limit. */
#include "harness.h"

#include "storage/nvme_target/report.h"

/* Takes the next report; its text contains `wanted`. */
static void expect(struct lab *lab, enum adv_nvme_report_kind kind, const char *wanted)
{
	char text[ADV_NVME_REPORT_TEXT];
	struct adv_nvme_report r;

	assert_true(adv_nvme_target_next_report(lab->target, &r));
	adv_nvme_report_print(&r, text, sizeof(text));
	if (r.kind != kind || !strstr(text, wanted))
		fail_msg("kind %d: '%s', not '%s'", r.kind, text, wanted);
}

static void expect_none(struct lab *lab)
{
	assert_false(adv_nvme_target_has_reports(lab->target));
}

static void test_connections(void **state)
{
	struct lab *lab = *state;
	struct lab_queue admin, io;

	lab_ready(lab, &admin, &io, 1000);
	expect(lab, ADV_NVME_REPORT_CONNECTED,
	       "port 4420: host " LAB_HOST " at 192.0.2.9 connected to " LAB_NQN ", controller 1");
	lab_set_cc(&admin, ADV_NVME_CC_DEFAULT | ADV_NVME_CC_ENABLE | 1 << 14); /* shut down */
	lab_close(&io);
	lab_close(&admin);
	expect(lab, ADV_NVME_REPORT_DISCONNECTED, "controller 1: the host has shut down");
	lab_ready(lab, &admin, &io, 1000);
	expect(lab, ADV_NVME_REPORT_CONNECTED, "controller 2");
	lab->now += 2000000000;
	adv_nvme_target_expire(lab->target, lab->now);
	lab_run(lab);
	expect(lab, ADV_NVME_REPORT_DISCONNECTED, "controller 2: no keep alive");
	expect_none(lab);
}

static void test_refused(void **state)
{
	struct lab *lab = *state;
	struct lab_queue q;

	assert_int_not_equal(lab_open(lab, &q, 999, 32), ADV_NVME_CM_OK);
	expect(lab, ADV_NVME_REPORT_REJECTED, "port 4420: host at 192.0.2.9 connection refused: ");
	assert_int_equal(lab_open(lab, &q, 0, 32), ADV_NVME_CM_OK);
	lab_connect_as(&q, "nqn.2026-01.test:\x1b[1m", "nqn.2026-01.test:no\n", 0xffff, 0);
	expect(lab, ADV_NVME_REPORT_REFUSED,
	       "host nqn.2026-01.test:?[1m at 192.0.2.9 refused by nqn.2026-01.test:no?: there is "
	       "no "
	       "such subsystem");
	adv_nvme_subsystem_allow(lab->subsystem, "nqn.2026-01.test:friend");
	lab_connect(&q, LAB_NQN, 0xffff, 0);
	expect(lab, ADV_NVME_REPORT_REFUSED, "the host is not allowed (allow-host)");
	adv_nvme_target_expire(lab->target, UINT64_MAX - 1);
	expect(lab, ADV_NVME_REPORT_CLOSED, "connection of queue 0 closed: no Connect has come");
	lab_run(lab);
	expect_none(lab);
}

/* What the host did wrong is in the error log, not here. */
static void test_failures(void **state)
{
	struct lab *lab = *state;
	struct adv_nvme_command beyond = lab_io(ADV_NVME_READ, LAB_BLOCKS, 1);
	struct adv_nvme_command read = lab_io(ADV_NVME_READ, 7, 1);
	struct lab_queue admin, io;

	lab_ready(lab, &admin, &io, 0);
	expect(lab, ADV_NVME_REPORT_CONNECTED, "");
	lab_do(&io, &beyond);
	expect_none(lab);
	lab->backend_status = ADV_NVME_READ_ERROR;
	lab_do(&io, &read);
	expect(lab, ADV_NVME_REPORT_FAILED,
	       "Read failed, namespace 1 of " LAB_NQN ", block 7: unrecovered read error");
	assert_int_equal(adv_nvme_target_lost_reports(lab->target), 0);
	for (unsigned i = 0; i < 100; i++)
		lab_do(&io, &read);
	for (unsigned i = 0; i < 64; i++)
		expect(lab, ADV_NVME_REPORT_FAILED, "Read failed");
	expect_none(lab);
	assert_int_equal(adv_nvme_target_lost_reports(lab->target), 36);
	assert_int_equal(adv_nvme_target_lost_reports(lab->target), 0);
	lab_close(&io);
	lab_close(&admin);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, lab_setup, lab_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_connections),
		TEST(test_refused),
		TEST(test_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
