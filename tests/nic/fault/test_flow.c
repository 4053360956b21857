/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The effects of a plan on TCP connections. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <infiniband/verbs.h>

#include "base/array.h"
#include "nic/fault/flow.h"

#define MS 1000000ull

static struct adv_fault_state state;
static struct adv_fault_flow flow;
static const struct adv_gid peer = {{[10] = 0xff, [11] = 0xff, [12] = 10, [15] = 1}};

static void parse_plan(const char *text, struct adv_fault_plan *plan)
{
	struct adv_fault_error error;

	if (!adv_fault_plan_parse(plan, text, strlen(text), &error))
		fail_msg("%s: %s", text, error.text);
}

static void begin_plan(const char *text)
{
	struct adv_fault_plan plan;

	parse_plan(text, &plan);
	adv_fault_begin(&state, &plan, 0);
	flow = (struct adv_fault_flow){.until = 0};
}

static enum adv_fault_flow_verdict decide_at(uint64_t now, bool crc)
{
	const struct adv_fault_packet p = {
		.tx = true, .is_packet = true, .dest_qpn = 0x12, .peer = &peer};

	return adv_fault_flow_decide(&flow, &state, now, &p, crc);
}

/* A loss is a pause, and each further one of the same bytes doubles it. */
static void test_loss(void **unused)
{
	begin_plan("seed=1; drop nth=2-4");
	assert_int_equal(decide_at(0, true), ADV_FAULT_FLOW_PASSES);
	for (uint64_t at = 10 * MS, pause = 200 * MS, i = 0; i < 3; i++, pause *= 2) {
		assert_int_equal(decide_at(at, true), ADV_FAULT_FLOW_WAITS);
		assert_int_equal(flow.until, at + pause);
		assert_int_equal(decide_at(at + pause - 1, true), ADV_FAULT_FLOW_WAITS);
		at += pause;
	}
	assert_int_equal(decide_at(1410 * MS, true), ADV_FAULT_FLOW_PASSES);
	assert_int_equal(flow.losses, 0);
	assert_int_equal(state.counters.packets, 5);
	assert_int_equal(state.counters.hits[ADV_FAULT_DROP], 3);
}

/* The pause grows to 102 s. */
static void test_longest_pause(void **unused)
{
	uint64_t now = 0;

	begin_plan("seed=1; drop");
	for (unsigned i = 0; i < 20; i++) {
		uint64_t before = now;

		assert_int_equal(decide_at(now, true), ADV_FAULT_FLOW_WAITS);
		now = flow.until;
		assert_int_equal(now - before, (200 * MS) << (i < 9 ? i : 9));
	}
}

/* An outage ends with the first retransmission after it. */
static void test_outage(void **unused)
{
	begin_plan("seed=1; port-down=500ms");
	assert_int_equal(decide_at(1 * MS, true), ADV_FAULT_FLOW_WAITS);
	assert_int_equal(decide_at(201 * MS, true), ADV_FAULT_FLOW_WAITS);
	assert_int_equal(flow.until, 601 * MS);
	assert_int_equal(decide_at(601 * MS, true), ADV_FAULT_FLOW_PASSES);
}

/* Bytes that have waited for their delay pass, and are not delayed again. */
static void test_delay(void **unused)
{
	begin_plan("seed=1; delay=5ms; corrupt nth=2");
	assert_int_equal(decide_at(0, true), ADV_FAULT_FLOW_WAITS);
	assert_int_equal(decide_at(4 * MS, true), ADV_FAULT_FLOW_WAITS);
	assert_int_equal(decide_at(5 * MS, true), ADV_FAULT_FLOW_PASSES);
	assert_int_equal(decide_at(6 * MS, true), ADV_FAULT_FLOW_WAITS);
	assert_int_equal(decide_at(11 * MS, true), ADV_FAULT_FLOW_DAMAGED);
	assert_int_equal(decide_at(12 * MS, true), ADV_FAULT_FLOW_WAITS);
	assert_int_equal(decide_at(17 * MS, true), ADV_FAULT_FLOW_PASSES);
}

/* Without CRCs, TCP finds the damage. */
static void test_damage(void **unused)
{
	begin_plan("seed=1; corrupt nth=1");
	assert_int_equal(decide_at(0, true), ADV_FAULT_FLOW_DAMAGED);
	assert_int_equal(decide_at(1, true), ADV_FAULT_FLOW_PASSES);
	begin_plan("seed=1; corrupt nth=1");
	assert_int_equal(decide_at(0, false), ADV_FAULT_FLOW_WAITS);
	assert_int_equal(flow.until, 200 * MS);
	assert_int_equal(decide_at(200 * MS, false), ADV_FAULT_FLOW_PASSES);
}

/* TCP hides these. */
static void test_hidden(void **unused)
{
	begin_plan("seed=1; duplicate; reorder");
	assert_int_equal(decide_at(0, true), ADV_FAULT_FLOW_PASSES);
	assert_int_equal(state.counters.hits[ADV_FAULT_DUPLICATE], 1);
	assert_int_equal(state.counters.hits[ADV_FAULT_REORDER], 1);
}

static void test_conditions(void **unused)
{
	begin_plan("seed=1; drop qpn=0x13; drop rx; drop peer=192.0.2.7; drop from=1s");
	assert_int_equal(decide_at(0, true), ADV_FAULT_FLOW_PASSES);
	begin_plan("seed=1; drop qpn=0x12 tx peer=10.0.0.1");
	assert_int_equal(decide_at(0, true), ADV_FAULT_FLOW_WAITS);
}

static void test_fits(void **unused)
{
	static const char *const good[] = {
		"drop=1% tx",		"duplicate copies=3",	"reorder by=3",
		"corrupt bits=5 qpn=7", "delay=1ms jitter=1ms", "down=1s peer=10.0.0.0/8",
		"post=ENOMEM op=write", "complete=FATAL_ERR",	"port-down=1s",
		"device-fatal",		"event=QP_FATAL"};
	static const char *const bad[] = {"mark",
					  "rnr",
					  "tear=1ms",
					  "drop op=write",
					  "delay=1ms psn=7",
					  "corrupt length=-1",
					  "corrupt icrc=right"};
	struct adv_fault_plan plan;

	for (unsigned i = 0; i < ADV_ARRAY_SIZE(good); i++) {
		parse_plan(good[i], &plan);
		assert_true(adv_fault_flow_fits(&plan.rule[0]));
	}
	for (unsigned i = 0; i < ADV_ARRAY_SIZE(bad); i++) {
		parse_plan(bad[i], &plan);
		assert_false(adv_fault_flow_fits(&plan.rule[0]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loss),	   cmocka_unit_test(test_longest_pause),
		cmocka_unit_test(test_outage),	   cmocka_unit_test(test_delay),
		cmocka_unit_test(test_damage),	   cmocka_unit_test(test_hidden),
		cmocka_unit_test(test_conditions), cmocka_unit_test(test_fits),
	};

	return cmocka_run_group_tests_name("faults of connections", tests, NULL, NULL);
}
