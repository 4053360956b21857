/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The effects of a plan on packets, work requests and the device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include <infiniband/verbs.h>

#include "nic/fault/decide.h"
#include "nic/wire/headers.h"

#define SEC 1000000000ull
#define MS  1000000ull

static struct adv_fault_state state;

static void begin_plan(const char *text)
{
	struct adv_fault_error error;
	struct adv_fault_plan plan;

	if (!adv_fault_plan_parse(&plan, text, strlen(text), &error))
		fail_msg("%s: %s", text, error.text);
	adv_fault_begin(&state, &plan, 10 * SEC);
}

static const struct adv_gid peer_a = {{[10] = 0xff, [11] = 0xff, [12] = 10, [15] = 1}};
static const struct adv_gid peer_b = {{0x20, 1, 0xd, 0xb8, [15] = 2}};

static struct adv_fault_packet packet(bool tx, uint8_t opcode, uint32_t qpn, uint32_t psn)
{
	return (struct adv_fault_packet){.tx = tx,
					 .is_packet = true,
					 .opcode = opcode,
					 .dest_qpn = qpn,
					 .psn = psn,
					 .ecn = ADV_ECN_ECT0,
					 .peer = &peer_a};
}

/* True if a rule hits the packet `now` ns after the start of the plan. */
static bool hit_at(const struct adv_fault_packet *p, uint64_t now)
{
	struct adv_fault_verdict v;
	bool hit = adv_fault_decide(&state, 10 * SEC + now, p, &v);
	const struct adv_fault_verdict none = {0};

	if (!hit)
		assert_memory_equal(&v, &none, sizeof(v));
	return hit;
}

static void test_nth(void **unused)
{
	struct adv_fault_packet hit = packet(true, ADV_OP_READ_RESPONSE_MIDDLE, 0x12, 5);
	struct adv_fault_packet other = packet(true, ADV_OP_READ_RESPONSE_MIDDLE, 0x13, 5);
	struct adv_fault_packet request = packet(true, ADV_OP_READ_REQUEST, 0x12, 5);

	begin_plan("drop op=read-response qpn=0x12 nth=3");
	for (unsigned i = 1; i <= 6; i++) {
		assert_false(hit_at(&other, 0));
		assert_false(hit_at(&request, 0));
		assert_int_equal(hit_at(&hit, 0), i == 3);
	}
	begin_plan("drop nth=2-3");
	for (unsigned i = 1; i <= 6; i++)
		assert_int_equal(hit_at(&hit, 0), i == 2 || i == 3);
	begin_plan("drop every=3 times=2");
	for (unsigned i = 1; i <= 12; i++)
		assert_int_equal(hit_at(&hit, 0), i == 3 || i == 6);
}

static void test_conditions(void **unused)
{
	struct adv_fault_packet p = packet(true, ADV_OP_SEND_ONLY, 7, 0xfffffe);

	begin_plan("drop rx");
	assert_false(hit_at(&p, 0));
	p.tx = false;
	assert_true(hit_at(&p, 0));
	begin_plan("drop psn=0xfffff0-0xf");
	assert_true(hit_at(&p, 0));
	p.psn = 0xf;
	assert_true(hit_at(&p, 0));
	p.psn = 0x10;
	assert_false(hit_at(&p, 0));
	p.psn = 0xffffef;
	assert_false(hit_at(&p, 0));
	begin_plan("drop peer=10.0.0.0/31");
	assert_true(hit_at(&p, 0));
	begin_plan("drop peer=10.0.0.2/31");
	assert_false(hit_at(&p, 0));
	p.peer = &peer_b;
	begin_plan("drop peer=2001:db8::/61");
	assert_true(hit_at(&p, 0));
	begin_plan("drop peer=0.0.0.0/0");
	assert_false(hit_at(&p, 0));
	begin_plan("drop from=1s until=2s");
	assert_false(hit_at(&p, SEC - 1));
	assert_true(hit_at(&p, SEC));
	assert_true(hit_at(&p, 2 * SEC - 1));
	assert_false(hit_at(&p, 2 * SEC));
	p.is_packet = false;
	begin_plan("drop qpn=0");
	assert_false(hit_at(&p, 0));
	begin_plan("drop psn=0");
	assert_false(hit_at(&p, 0));
	begin_plan("drop op=rc");
	assert_false(hit_at(&p, 0));
	begin_plan("drop");
	assert_true(hit_at(&p, 0));
}

static void test_kinds(void **unused)
{
	struct adv_fault_packet p = packet(true, ADV_OP_ACKNOWLEDGE, 7, 0);
	struct adv_fault_packet ud = packet(true, ADV_SERVICE_UD | ADV_OP_SEND_ONLY, 1, 0);

	begin_plan("drop op=nak");
	assert_false(hit_at(&p, 0));
	p.syndrome = ADV_AETH_NAK;
	assert_true(hit_at(&p, 0));
	begin_plan("drop op=cm");
	assert_true(hit_at(&ud, 0));
	ud.dest_qpn = 2;
	assert_false(hit_at(&ud, 0));
	assert_false(hit_at(&p, 0));
}

/* The hit rate is that of the plan, and the seed decides which packets are hit. */
static void test_chance(void **unused)
{
	struct adv_fault_packet p = packet(true, ADV_OP_SEND_ONLY, 7, 0);
	uint8_t first[1000];
	unsigned hits = 0, same = 0;

	begin_plan("seed=1 drop=1%");
	for (unsigned i = 0; i < 100000; i++)
		hits += hit_at(&p, 0);
	assert_in_range(hits, 850, 1150);
	assert_int_equal(state.counters.hits[ADV_FAULT_DROP], hits);
	assert_int_equal(state.counters.packets, 100000);
	begin_plan("seed=2 drop=50%");
	for (unsigned i = 0; i < 1000; i++)
		first[i] = hit_at(&p, 0);
	begin_plan("seed=2 drop=50%");
	for (unsigned i = 0; i < 1000; i++)
		assert_int_equal(first[i], hit_at(&p, 0));
	begin_plan("seed=3 drop=50%");
	for (unsigned i = 0; i < 1000; i++)
		same += first[i] == hit_at(&p, 0);
	assert_in_range(same, 400, 600);
	begin_plan("seed=2 drop=0%");
	for (unsigned i = 0; i < 1000; i++)
		assert_false(hit_at(&p, 0));
}

static void test_verdicts(void **unused)
{
	struct adv_fault_packet p = packet(false, ADV_OP_SEND_ONLY, 7, 0);
	struct adv_fault_verdict v;

	begin_plan(
		"duplicate copies=2 after=3us; reorder by=4 hold=5us; delay=1ms jitter=1ms; mark;"
		"corrupt bits=6 length=-7 icrc=right");
	for (unsigned i = 0; i < 100; i++) {
		assert_true(adv_fault_decide(&state, 10 * SEC, &p, &v));
		assert_int_equal(v.copies, 2);
		assert_int_equal(v.after, 3000);
		assert_int_equal(v.behind, 4);
		assert_int_equal(v.hold, 5000);
		assert_in_range(v.delay, MS, 2 * MS);
		assert_true(v.mark && v.corrupt && v.icrc_right && !v.drop);
		assert_int_equal(v.bits, 6);
		assert_int_equal(v.length, -7);
	}
	begin_plan("duplicate copies=16; duplicate copies=16");
	assert_true(adv_fault_decide(&state, 10 * SEC, &p, &v));
	assert_int_equal(v.copies, ADV_FAULT_COPIES_MAX);
}

/* The effects of several rules of one kind add up. */
static void test_combined(void **unused)
{
	struct adv_fault_packet p = packet(false, ADV_OP_SEND_ONLY, 7, 0);
	struct adv_fault_verdict v;

	begin_plan("corrupt bits=5; corrupt length=-8 icrc=right; corrupt bits=2");
	assert_true(adv_fault_decide(&state, 10 * SEC, &p, &v));
	assert_int_equal(v.bits, 7);
	assert_int_equal(v.length, -8);
	assert_false(v.icrc_right);
	assert_int_equal(state.counters.hits[ADV_FAULT_CORRUPT], 3);
	begin_plan("corrupt length=-8 icrc=right; corrupt bits=1 icrc=right; corrupt length=+3 "
		   "icrc=right");
	assert_true(adv_fault_decide(&state, 10 * SEC, &p, &v));
	assert_int_equal(v.bits, 1);
	assert_int_equal(v.length, -5);
	assert_true(v.icrc_right);
	begin_plan("corrupt length=+4096 bits=4000; corrupt length=+4096 bits=4000");
	assert_true(adv_fault_decide(&state, 10 * SEC, &p, &v));
	assert_int_equal(v.length, ADV_FAULT_LENGTH_MAX);
	assert_int_equal(v.bits, ADV_FAULT_BITS_MAX);
	begin_plan("corrupt length=-4096; corrupt length=-1");
	assert_true(adv_fault_decide(&state, 10 * SEC, &p, &v));
	assert_int_equal(v.length, -ADV_FAULT_LENGTH_MAX);
	assert_int_equal(v.bits, 0);
	begin_plan("reorder by=4 hold=5us; reorder by=2 hold=9us; delay=1ms; delay=2ms;"
		   "duplicate copies=2 after=7us; duplicate after=3us");
	assert_true(adv_fault_decide(&state, 10 * SEC, &p, &v));
	assert_int_equal(v.behind, 4);
	assert_int_equal(v.hold, 9000);
	assert_int_equal(v.delay, 3 * MS);
	assert_int_equal(v.copies, 3);
	assert_int_equal(v.after, 7000);
}

/* A rule "mark" does not count packets without ECN or packets that are marked already. */
static void test_mark(void **unused)
{
	struct adv_fault_packet p = packet(true, ADV_OP_SEND_ONLY, 7, 0);
	const enum adv_ecn order[] = {ADV_ECN_NOT_ECT, ADV_ECN_ECT0, ADV_ECN_CE, ADV_ECN_ECT1};

	begin_plan("mark nth=2");
	for (unsigned i = 0; i < 4; i++) {
		p.ecn = order[i];
		assert_int_equal(hit_at(&p, 0), i == 3);
	}
	assert_int_equal(state.counters.hits[ADV_FAULT_MARK], 1);
}

static void test_down(void **unused)
{
	struct adv_fault_packet p = packet(false, ADV_OP_SEND_ONLY, 7, 0);
	struct adv_fault_packet other = packet(false, ADV_OP_SEND_ONLY, 8, 0);

	begin_plan("down=1s from=1s qpn=7");
	assert_false(hit_at(&p, 0));
	assert_false(hit_at(&other, 1 * SEC));
	assert_true(hit_at(&p, 1500 * MS));
	assert_false(hit_at(&other, 2 * SEC));
	assert_true(hit_at(&p, 2499 * MS));
	assert_false(hit_at(&p, 2500 * MS));
	assert_false(hit_at(&p, 100 * SEC));
	begin_plan("down=1ms every=2");
	assert_false(hit_at(&p, 0));
	assert_true(hit_at(&p, 0));
	assert_true(hit_at(&p, MS - 1));
	assert_false(hit_at(&p, MS));
	assert_true(hit_at(&p, MS));
}

static void test_alter(void **unused)
{
	struct adv_fault_verdict v = {.corrupt = true, .dice = 5};
	uint8_t data[128];
	unsigned flipped = 0;

	memset(data, 0, sizeof(data));
	v.bits = 1;
	assert_int_equal(adv_fault_alter(&v, data, 100, 100), 100);
	for (unsigned i = 0; i < sizeof(data); i++)
		flipped += (unsigned)__builtin_popcount(data[i]);
	assert_int_equal(flipped, 1);
	v.bits = 0;
	v.length = 4;
	assert_int_equal(adv_fault_alter(&v, data, 100, 104), 104);
	assert_int_equal(adv_fault_alter(&v, data, 100, 101), 101);
	v.length = -60;
	assert_int_equal(adv_fault_alter(&v, data, 100, 100), 40);
	assert_int_equal(adv_fault_alter(&v, data, 40, 100), ADV_BTH_LEN);
	assert_int_equal(adv_fault_alter(&v, data, 4, 100), 4);
}

static void test_read(void **unused)
{
	struct adv_headers h = {
		.bth = {.opcode = ADV_OP_ACKNOWLEDGE, .dest_qpn = 0x123456, .psn = 0xabcdef},
		.aeth = {.syndrome = 0x62}};
	struct adv_fault_packet p;
	uint8_t out[ADV_HEADERS_MAX];
	size_t len = adv_headers_encode(&h, out);

	adv_fault_packet_read(&p, true, &peer_a, ADV_ECN_ECT1, out, len);
	assert_true(p.tx && p.is_packet);
	assert_int_equal(p.opcode, ADV_OP_ACKNOWLEDGE);
	assert_int_equal(p.syndrome, 0x62);
	assert_int_equal(p.ecn, ADV_ECN_ECT1);
	assert_int_equal(p.dest_qpn, 0x123456);
	assert_int_equal(p.psn, 0xabcdef);
	adv_fault_packet_read(&p, false, &peer_a, ADV_ECN_ECT1, out, ADV_BTH_LEN);
	assert_true(!p.tx && p.is_packet);
	adv_fault_packet_read(&p, false, &peer_a, ADV_ECN_ECT1, out, ADV_BTH_LEN - 1);
	assert_false(p.is_packet);
}

static uint32_t decide_work(enum adv_fault_action action, enum adv_fault_work_queue queue,
			    uint8_t opcode, uint32_t qpn, uint64_t now)
{
	struct adv_fault_work w = {action, queue, opcode, qpn};

	return adv_fault_decide_work(&state, 10 * SEC + now, &w);
}

static void test_work(void **unused)
{
	const uint8_t write = ADV_OP_WRITE_ONLY, read = ADV_OP_READ_REQUEST;

	begin_plan("post=ENOMEM op=write qpn=5 nth=2; complete=REM_OP_ERR queue=recv,srq every=3 "
		   "times=1;"
		   "rnr from=1s until=2s");
	assert_int_equal(decide_work(ADV_FAULT_POST, ADV_FAULT_SEND_QUEUE, write, 5, 0), 0);
	assert_int_equal(decide_work(ADV_FAULT_POST, ADV_FAULT_SEND_QUEUE, write, 6, 0), 0);
	assert_int_equal(decide_work(ADV_FAULT_POST, ADV_FAULT_SEND_QUEUE, read, 5, 0), 0);
	assert_int_equal(decide_work(ADV_FAULT_POST, ADV_FAULT_SEND_QUEUE, 0xff, 5, 0), 0);
	assert_int_equal(decide_work(ADV_FAULT_COMPLETE, ADV_FAULT_SEND_QUEUE, write, 5, 0), 0);
	assert_int_equal(decide_work(ADV_FAULT_POST, ADV_FAULT_SEND_QUEUE, write, 5, 0), ENOMEM);
	assert_int_equal(decide_work(ADV_FAULT_POST, ADV_FAULT_SEND_QUEUE, write, 5, 0), 0);
	for (unsigned i = 1; i <= 9; i++)
		assert_int_equal(decide_work(ADV_FAULT_COMPLETE,
					     i % 2 ? ADV_FAULT_RECV_QUEUE : ADV_FAULT_SHARED_QUEUE,
					     0xff, 5, 0),
				 i == 3 ? IBV_WC_REM_OP_ERR : 0);
	assert_int_equal(decide_work(ADV_FAULT_RNR, ADV_FAULT_RECV_QUEUE, 0xff, 5, SEC - 1), 0);
	assert_int_equal(decide_work(ADV_FAULT_RNR, ADV_FAULT_RECV_QUEUE, 0xff, 5, SEC), 1);
	assert_int_equal(decide_work(ADV_FAULT_RNR, ADV_FAULT_RECV_QUEUE, 0xff, 5, 2 * SEC - 1), 1);
	assert_int_equal(decide_work(ADV_FAULT_RNR, ADV_FAULT_RECV_QUEUE, 0xff, 5, 2 * SEC), 0);
	assert_int_equal(state.counters.hits[ADV_FAULT_POST], 1);
	assert_int_equal(state.counters.hits[ADV_FAULT_COMPLETE], 1);
	assert_int_equal(state.counters.hits[ADV_FAULT_RNR], 2);
	assert_int_equal(state.counters.packets, 0);
}

/* Rules about requests do not match packets. */
static void test_tear(void **unused)
{
	begin_plan("tear=200us queue=recv,srq; tear=1ms queue=send nth=2");
	assert_int_equal(decide_work(ADV_FAULT_TEAR, ADV_FAULT_RECV_QUEUE, 0xff, 5, 0), 200000);
	assert_int_equal(decide_work(ADV_FAULT_TEAR, ADV_FAULT_SEND_QUEUE, 0xff, 5, 0), 0);
	assert_int_equal(decide_work(ADV_FAULT_TEAR, ADV_FAULT_SEND_QUEUE, 0xff, 5, 0), 1000000);
	assert_int_equal(decide_work(ADV_FAULT_POST, ADV_FAULT_RECV_QUEUE, 0xff, 5, 0), 0);
	assert_int_equal(state.counters.hits[ADV_FAULT_TEAR], 2);
}

static void test_work_is_no_packet(void **unused)
{
	struct adv_fault_packet p = packet(true, ADV_OP_WRITE_ONLY, 5, 1);

	begin_plan("post=ENOMEM; complete=FATAL_ERR; rnr; event=CQ_ERR");
	assert_false(hit_at(&p, 0));
	p.tx = false;
	assert_false(hit_at(&p, 0));
}

static void test_device(void **unused)
{
	struct adv_fault_packet p = packet(false, ADV_OP_WRITE_ONLY, 5, 1);

	begin_plan("port-down=1s from=2s; port-down=2s from=2.5s; device-fatal from=9s");
	assert_int_equal(adv_fault_device_due(&state, 10 * SEC), 12 * SEC);
	assert_false(adv_fault_port_is_down(&state, 12 * SEC - 1));
	assert_false(hit_at(&p, 2 * SEC - 1));
	assert_true(adv_fault_port_is_down(&state, 12 * SEC));
	assert_true(hit_at(&p, 2 * SEC));
	assert_int_equal(adv_fault_device_due(&state, 12 * SEC), 12 * SEC + SEC / 2);
	assert_true(adv_fault_port_is_down(&state, 14 * SEC));
	assert_int_equal(adv_fault_device_due(&state, 14 * SEC), 14 * SEC + SEC / 2);
	assert_false(adv_fault_port_is_down(&state, 14 * SEC + SEC / 2));
	assert_false(hit_at(&p, 5 * SEC));
	assert_int_equal(adv_fault_device_due(&state, 15 * SEC), 19 * SEC);
	assert_false(adv_fault_device_is_dead(&state, 19 * SEC - 1));
	assert_true(adv_fault_device_is_dead(&state, 19 * SEC));
	assert_true(hit_at(&p, 9 * SEC));
	assert_int_equal(adv_fault_device_due(&state, 19 * SEC), UINT64_MAX);
	assert_int_equal(state.counters.hits[ADV_FAULT_PORT_DOWN], 1);
	assert_int_equal(state.counters.hits[ADV_FAULT_DEVICE_FATAL], 1);
}

/* adv_fault_port_blinked() reports an outage of the port that the caller has missed, and only once.
 */
static void test_blink(void **unused)
{
	begin_plan("port-down=1s from=2s; port-down=1s from=5s; port-down=2s from=9s");
	assert_false(adv_fault_port_blinked(&state, 12 * SEC - 1));
	assert_true(adv_fault_port_blinked(&state, 13 * SEC));
	assert_false(adv_fault_port_blinked(&state, 14 * SEC));
	/* The previous call reported the second outage, and the third outage is not over. */
	assert_false(adv_fault_port_blinked(&state, 15 * SEC));
	assert_false(adv_fault_port_blinked(&state, 17 * SEC));
	assert_false(adv_fault_port_blinked(&state, 20 * SEC));
	assert_false(adv_fault_port_blinked(&state, 22 * SEC));
	/* The port is down again; then an outage that begins with the plan. */
	begin_plan("port-down=1s; port-down=1s from=5s");
	assert_false(adv_fault_port_blinked(&state, 15 * SEC));
	begin_plan("port-down=1ns");
	assert_true(adv_fault_port_blinked(&state, 10 * SEC + 1));
	assert_false(adv_fault_port_blinked(&state, 10 * SEC + 1));
}

static unsigned objects; /* number of objects on which an event can be raised */
static unsigned calls;

static unsigned raise_event(void *user, const struct adv_fault_rule *r)
{
	assert_ptr_equal(user, &objects);
	assert_int_equal(r->action, ADV_FAULT_EVENT);
	calls++;
	return objects;
}

static void test_events(void **unused)
{
	const uint64_t again = SEC / 100;

	begin_plan("event=QP_FATAL from=1s; drop; event=PORT_ERR from=2s");
	objects = 3;
	assert_int_equal(adv_fault_device_due(&state, 10 * SEC), 11 * SEC);
	adv_fault_raise_events(&state, 11 * SEC - 1, raise_event, &objects);
	assert_int_equal(calls, 0);
	adv_fault_raise_events(&state, 11 * SEC, raise_event, &objects);
	adv_fault_raise_events(&state, 11 * SEC + 1, raise_event, &objects);
	assert_int_equal(calls, 1);
	assert_int_equal(state.counters.hits[ADV_FAULT_EVENT], 3);
	assert_int_equal(adv_fault_device_due(&state, 11 * SEC), 12 * SEC);
	/* No object exists: the event is tried again from time to time. */
	objects = 0;
	adv_fault_raise_events(&state, 13 * SEC, raise_event, &objects);
	assert_int_equal(calls, 2);
	assert_int_equal(adv_fault_device_due(&state, 13 * SEC), 13 * SEC + again);
	adv_fault_raise_events(&state, 13 * SEC + again - 1, raise_event, &objects);
	assert_int_equal(calls, 2);
	objects = 1;
	adv_fault_raise_events(&state, 13 * SEC + again, raise_event, &objects);
	assert_int_equal(calls, 3);
	assert_int_equal(adv_fault_device_due(&state, 13 * SEC + again), UINT64_MAX);
	assert_int_equal(state.counters.hits[ADV_FAULT_EVENT], 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nth),
		cmocka_unit_test(test_conditions),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_chance),
		cmocka_unit_test(test_verdicts),
		cmocka_unit_test(test_combined),
		cmocka_unit_test(test_mark),
		cmocka_unit_test(test_down),
		cmocka_unit_test(test_alter),
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_tear),
		cmocka_unit_test(test_work),
		cmocka_unit_test(test_work_is_no_packet),
		cmocka_unit_test(test_device),
		cmocka_unit_test(test_blink),
		cmocka_unit_test(test_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
