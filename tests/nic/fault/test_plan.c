/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The fault language: parsing, printing, and errors with their position. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "nic/fault/name.h"
#include "nic/fault/plan.h"
#include "nic/wire/opcode.h"

static struct adv_fault_plan parse_plan(const char *text)
{
	struct adv_fault_error error;
	struct adv_fault_plan plan;

	if (!adv_fault_plan_parse(&plan, text, strlen(text), &error))
		fail_msg("%s: at %zu: %s", text, error.at, error.text);
	return plan;
}

/* Parses `text` and compares its printed form. The printed text must parse to the same plan. */
static void expect_print(const char *text, const char *printed)
{
	struct adv_fault_plan plan = parse_plan(text), again;
	char out[ADV_FAULT_TEXT_MAX];

	assert_int_equal(adv_fault_plan_print(&plan, out, sizeof(out)), strlen(printed));
	assert_string_equal(out, printed);
	again = parse_plan(out);
	assert_memory_equal(&plan, &again, sizeof(plan));
}

static void expect_error(const char *text, const char *where, const char *message)
{
	struct adv_fault_error error;
	struct adv_fault_plan plan;

	if (adv_fault_plan_parse(&plan, text, strlen(text), &error))
		fail_msg("taken: %s", text);
	if (!strstr(error.text, message))
		fail_msg("%s: '%s' does not say '%s'", text, error.text, message);
	if (strncmp(text + error.at, where, strlen(where)) != 0)
		fail_msg("%s: points at '%s', not at '%s'", text, text + error.at, where);
}

static void test_actions(void **state)
{
	struct adv_fault_plan p =
		parse_plan("drop=1%; duplicate=2% copies=3 after=1ms; reorder by=4;"
			   "corrupt bits=7 length=-8 icrc=right; delay=5ms jitter=1us;"
			   "mark=0.5%\ndown=2s");

	assert_int_equal(p.count, 7);
	assert_int_equal(p.rule[0].action, ADV_FAULT_DROP);
	assert_int_equal(p.rule[0].chance, 10000000);
	assert_true(p.rule[0].tx && p.rule[0].rx);
	assert_int_equal(p.rule[1].action, ADV_FAULT_DUPLICATE);
	assert_int_equal(p.rule[1].count, 3);
	assert_int_equal(p.rule[1].time, 1000000);
	assert_int_equal(p.rule[2].action, ADV_FAULT_REORDER);
	assert_int_equal(p.rule[2].count, 4);
	assert_int_equal(p.rule[2].time, 10000000);
	assert_int_equal(p.rule[2].chance, ADV_FAULT_CERTAIN);
	assert_int_equal(p.rule[3].count, 7);
	assert_int_equal(p.rule[3].length, -8);
	assert_true(p.rule[3].icrc_right);
	assert_int_equal(p.rule[4].time, 5000000);
	assert_int_equal(p.rule[4].jitter, 1000);
	assert_int_equal(p.rule[5].chance, 5000000);
	assert_int_equal(p.rule[6].time, 2000000000);
	assert_int_equal(p.rule[6].times, 1);

	p = parse_plan("post=ENOSPC queue=recv; complete=RETRY_EXC_ERR; rnr; port-down=2s from=1s");
	assert_int_equal(p.count, 4);
	assert_int_equal(p.rule[0].action, ADV_FAULT_POST);
	assert_int_equal(p.rule[0].value, ENOSPC);
	assert_int_equal(p.rule[0].queues, 1 << ADV_FAULT_RECV_QUEUE);
	assert_false(p.rule[0].tx || p.rule[0].rx);
	assert_int_equal(p.rule[1].value, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(p.rule[2].action, ADV_FAULT_RNR);
	assert_int_equal(p.rule[3].until, 3000000000);
	assert_true(p.rule[3].tx && p.rule[3].rx);
}

static void test_conditions(void **state)
{
	struct adv_fault_plan p =
		parse_plan("seed=0x10 tx drop op=read-response qpn=0x12 psn=0xfffff0-0xf nth=3 "
			   "peer=10.1.2.3/8 from=1s until=2.5s every=2 times=9 chance=50%");
	const struct adv_fault_rule *r = &p.rule[0];
	uint8_t peer[16] = {[10] = 0xff, [11] = 0xff, [12] = 10};

	assert_int_equal(p.count, 1);
	assert_true(p.has_seed);
	assert_int_equal(p.seed, 16);
	assert_true(r->tx && !r->rx);
	assert_true(r->has_kinds && r->has_qpn && r->has_psn);
	assert_true(adv_fault_kinds_has(&r->kinds, ADV_SERVICE_RC | ADV_OP_READ_RESPONSE_FIRST));
	assert_true(adv_fault_kinds_has(&r->kinds, ADV_SERVICE_XRC | ADV_OP_READ_RESPONSE_ONLY));
	assert_false(adv_fault_kinds_has(&r->kinds, ADV_SERVICE_RC | ADV_OP_READ_REQUEST));
	assert_int_equal(r->qpn_first, 0x12);
	assert_int_equal(r->qpn_last, 0x12);
	assert_int_equal(r->psn_first, 0xfffff0);
	assert_int_equal(r->psn_last, 0xf);
	assert_int_equal(r->nth_first, 3);
	assert_int_equal(r->nth_last, 3);
	assert_int_equal(r->peer_bits, 104);
	assert_memory_equal(r->peer.raw, peer, 16);
	assert_int_equal(r->from, 1000000000);
	assert_int_equal(r->until, 2500000000);
	assert_int_equal(r->every, 2);
	assert_int_equal(r->times, 9);
	assert_int_equal(r->chance, ADV_FAULT_CERTAIN / 2);
}

static bool names(const char *op, unsigned kind)
{
	struct adv_fault_kinds set = {0};

	assert_true(adv_fault_kinds_add(&set, op, strlen(op)));
	return adv_fault_kinds_has(&set, kind);
}

static void test_names(void **state)
{
	assert_true(names("rc-send-only", ADV_SERVICE_RC | ADV_OP_SEND_ONLY));
	assert_true(names("RC_RDMA_WRITE_FIRST", ADV_SERVICE_RC | ADV_OP_WRITE_FIRST));
	assert_true(names("rdma-read-response-last", ADV_OP_READ_RESPONSE_LAST));
	assert_true(names("send-only-with-immediate", ADV_SERVICE_UD | ADV_OP_SEND_ONLY_WITH_IMM));
	assert_true(names("CmpSwap", ADV_OP_COMPARE_SWAP));
	assert_true(names("uc", ADV_SERVICE_UC | ADV_OP_SEND_ONLY));
	assert_false(names("uc", ADV_SERVICE_UD | ADV_OP_SEND_ONLY));
	assert_false(names("rc", ADV_SERVICE_XRC | ADV_OP_SEND_ONLY));
	assert_true(names("ack", ADV_FAULT_KIND_RC_ACK));
	assert_true(names("ack", ADV_FAULT_KIND_XRC_ACK));
	assert_false(names("ack", ADV_FAULT_KIND_RC_NAK));
	assert_true(names("nak", ADV_FAULT_KIND_RC_NAK));
	assert_false(names("nak", ADV_FAULT_KIND_RC_RNR_NAK));
	assert_true(names("rnr-nak", ADV_FAULT_KIND_RC_RNR_NAK));
	assert_true(names("acknowledge", ADV_FAULT_KIND_XRC_NAK));
	assert_true(names("atomic", ADV_OP_FETCH_ADD));
	assert_false(names("atomic", ADV_OP_ATOMIC_ACKNOWLEDGE));
	assert_true(names("response", ADV_OP_ATOMIC_ACKNOWLEDGE));
	assert_true(names("response", ADV_FAULT_KIND_RC_NAK));
	assert_true(names("request", ADV_OP_FLUSH));
	assert_true(names("cm", ADV_FAULT_KIND_CM));
	assert_true(names("cnp", ADV_OPCODE_CNP));
	assert_int_equal(adv_fault_kind_of(ADV_OP_ACKNOWLEDGE, 0x1f), ADV_FAULT_KIND_RC_ACK);
	assert_int_equal(adv_fault_kind_of(ADV_OP_ACKNOWLEDGE, 0x21), ADV_FAULT_KIND_RC_RNR_NAK);
	assert_int_equal(adv_fault_kind_of(ADV_OP_ACKNOWLEDGE, 0x60), ADV_FAULT_KIND_RC_NAK);
	assert_int_equal(adv_fault_kind_of(ADV_OP_SEND_ONLY, 0x60), ADV_OP_SEND_ONLY);
}

/* Every opcode has a name, and is printed by it. */
static void test_all_opcodes(void **state)
{
	struct adv_fault_kinds set, again;
	char text[4096];

	for (unsigned op = 0; op < 256; op++) {
		const char *name = adv_opcode_table[op].name;

		if (!name || (op & ADV_OP_MASK) == ADV_OP_ACKNOWLEDGE)
			continue;
		memset(&set, 0, sizeof(set));
		snprintf(text, sizeof(text), "%s", name);
		if (strchr(text, ' '))
			*strchr(text, ' ') = '-';
		assert_true(adv_fault_kinds_add(&set, text, strlen(text)));
		assert_true(adv_fault_kinds_has(&set, op));
		memset(&again, 0, sizeof(again));
		assert_true(adv_fault_kinds_print(&set, text, sizeof(text)) < sizeof(text));
		for (char *s = strtok(text, ","); s; s = strtok(NULL, ","))
			assert_true(adv_fault_kinds_add(&again, s, strlen(s)));
		assert_memory_equal(&set, &again, sizeof(set));
	}
}

static void test_print(void **state)
{
	expect_print("", "");
	expect_print(" ; ;\n ", "");
	expect_print("seed=7", "seed=7");
	expect_print("drop=1%;drop", "drop=1%; drop");
	expect_print("tx drop chance=0.0000001%", "drop=0.0000001% tx");
	expect_print("rx tx mark", "mark");
	expect_print("delay=1500us jitter=2s chance=10% rx", "delay=1.5ms chance=10% jitter=2s rx");
	expect_print("delay=0ms", "delay=0s");
	expect_print("delay=0s jitter=1ms", "delay=0s jitter=1ms");
	expect_print("down=200ms nth=100", "down=200ms nth=100");
	expect_print("down=0.000000001s", "down=1ns times=1");
	expect_print("reorder", "reorder by=1 hold=10ms");
	expect_print("corrupt", "corrupt bits=1");
	expect_print("corrupt length=+4", "corrupt length=+4");
	expect_print("duplicate after=1us", "duplicate after=1us");
	expect_print("drop op=rc-nak,xrc-nak,rc-ack", "drop op=rc-ack,nak");
	expect_print("drop op=READ_RESPONSE,ack qpn=18 psn=1-2 nth=3-5",
		     "drop op=read-response,ack qpn=0x12 psn=0x1-0x2 nth=3-5");
	expect_print("drop peer=192.0.2.7", "drop peer=192.0.2.7");
	expect_print("drop peer=192.0.2.77/24", "drop peer=192.0.2.0/24");
	expect_print("drop peer=2001:db8::1/32", "drop peer=2001:db8::/32");
	expect_print("drop peer=::ffff:1.2.3.4", "drop peer=1.2.3.4");
	expect_print("drop from=1s until=2s every=10 times=3",
		     "drop from=1s until=2s every=10 times=3");
	expect_print("nth=3 post=enomem queue=srq,send", "post=ENOMEM queue=send,srq nth=3");
	expect_print("complete=IBV_WC_REM_ACCESS_ERR op=read qpn=0x10002 chance=1%",
		     "complete=REM_ACCESS_ERR chance=1% op=read-response,read-request "
		     "qpn=0x10002");
	expect_print("complete=wr_flush_err queue=recv", "complete=WR_FLUSH_ERR queue=recv");
	expect_print("rnr from=1s until=2s", "rnr from=1s until=2s");
	expect_print("rnr queue=srq", "rnr queue=srq");
	expect_print("tear=200us", "tear=200us");
	expect_print("chance=5% tear=1ms queue=send qpn=7 every=2",
		     "tear=1ms chance=5% queue=send qpn=0x7 every=2");
	expect_print("complete=TM_ERR queue=recv op=rc-send-last",
		     "complete=TM_ERR queue=recv op=rc-send-last");
	expect_print("complete=TM_ERR queue=send op=ack,rc-compare-swap",
		     "complete=TM_ERR queue=send op=ack,rc-compare-swap");
	expect_print("post=EIO op=uc", "post=EIO op=uc");
	expect_print("rnr=5% times=9", "rnr=5% times=9");
	expect_print("port-down=500ms from=2s", "port-down=500ms from=2s");
	expect_print("port-down=1s", "port-down=1s");
	expect_print("device-fatal from=3s", "device-fatal from=3s");
	expect_print("event=cq_err", "event=CQ_ERR");
	expect_print("from=2s event=IBV_EVENT_QP_FATAL qpn=0x10-0x1f",
		     "event=QP_FATAL qpn=0x10-0x1f from=2s");
	expect_print("event=SRQ_ERR qpn=5; event=LID_CHANGE",
		     "event=SRQ_ERR qpn=0x5; event=LID_CHANGE");
	expect_print("complete=ibv_wc_tm_err", "complete=TM_ERR");
}

static void test_errors(void **state)
{
	expect_error("dorp=1%", "dorp", "unknown word 'dorp': expected an action");
	expect_error("drop=1%; lose", "lose", "unknown word");
	expect_error("drop=1", "1", "'1' is not a value of 'drop': expected a chance");
	expect_error("drop=101%", "101%", "chance");
	expect_error("drop=0.00000001%", "0.00", "chance");
	expect_error("drop=", "drop", "needs a value");
	expect_error("drop=1% chance=2%", "chance", "twice");
	expect_error("tx nth=3", "tx", "a rule without an action");
	expect_error("drop delay=1ms", "delay", "a second action");
	expect_error("delay", "delay", "'delay' needs a value: a time");
	expect_error("delay=5", "5", "expected a time with its unit");
	expect_error("delay=1.5ns", "1.5ns", "time");
	expect_error("delay=99999999999s", "9999", "time");
	expect_error("down=0ms chance=1%", "0ms", "'down' needs a time above 0");
	expect_error("port-down=0s from=1s", "0s", "'port-down' needs a time above 0");
	expect_error("drop jitter=1ms", "jitter", "'jitter' does not belong to 'drop'");
	expect_error("corrupt bits=1 by=2", "by", "'by' does not belong to 'corrupt'");
	expect_error("post", "post", "'post' needs a value: the name of an errno");
	expect_error("post=EWHAT", "EWHAT", "such as ENOMEM");
	expect_error("complete=SUCCESS", "SUCCESS", "a status that is an error");
	expect_error("complete=REM_ACCESS_ERRO", "REM", "such as REM_ACCESS_ERR");
	expect_error("post=ENOMEM queue=send,", "send,", "send, recv or srq");
	expect_error("post=ENOMEM queue", "queue", "needs a value");
	expect_error("post=ENOMEM tx", "tx", "'tx' does not belong to 'post'");
	expect_error("psn=1 complete=FATAL_ERR", "psn", "'psn' does not belong to 'complete'");
	expect_error("rnr=5% op=send", "op", "'op' does not belong to 'rnr'");
	expect_error("tear", "tear", "'tear' needs a value");
	expect_error("tear=0s", "0s", "'tear' needs a time above 0");
	expect_error("tear=101ms", "101ms", "at most 100ms");
	expect_error("tear=1ms op=write", "op", "'op' does not belong to 'tear'");
	expect_error("tear=1ms queue=srq", "queue", "READs (queue=send) and WRITEs");
	expect_error("tear=1ms rx", "rx", "'rx' does not belong to 'tear'");
	expect_error("rnr queue=send", "queue", "a send request needs no receive request");
	expect_error("complete=REM_OP_ERR op=ack", "op", "no request has these packets");
	expect_error("post=ENOMEM op=read-response,nak", "op", "no request has these packets");
	expect_error("complete=REM_OP_ERR queue=send op=send-last", "op", "no request has these");
	expect_error("complete=REM_OP_ERR queue=recv op=read", "op", "no request has these");
	expect_error("post=ENOMEM op=send queue=recv,srq", "op", "no request has these");
	expect_error("drop queue=send", "queue", "'queue' does not belong to 'drop'");
	expect_error("port-down", "port-down", "a time");
	expect_error("port-down=1s times=2", "times", "does not belong to 'port-down'");
	expect_error("device-fatal=1s", "1s", "takes no value");
	expect_error("device-fatal until=1s", "until", "does not belong");
	expect_error("event", "event", "'event' needs a value: the name of an asynchronous event");
	expect_error("event=QP_FATALLY", "QP_FATALLY", "such as QP_FATAL");
	expect_error("event=IBV_WC_TM_ERR", "IBV_WC_TM_ERR", "an asynchronous event");
	expect_error("event=PORT_ERR qpn=5", "qpn",
		     "'qpn' does not belong to an event of the port");
	expect_error("qpn=5 from=1s event=WQ_FATAL", "qpn", "an event of the port");
	expect_error("event=QP_FATAL times=2", "times", "does not belong to 'event'");
	expect_error("event=QP_FATAL tx", "tx", "does not belong to 'event'");
	expect_error("drop tx=1", "1", "'tx' takes no value");
	expect_error("drop tx tx", "tx", "twice");
	expect_error("drop op=ack,foo", "foo", "no packet is called 'foo'");
	expect_error("drop op=ack,,nak", ",nak", "no packet is called ''");
	expect_error("drop op=rc-sendonly", "rc-sendonly", "no packet");
	expect_error("drop peer=300.1.2.3", "300", "an address");
	expect_error("drop peer=10.0.0.0/33", "10.0.0.0/33", "an address");
	expect_error("drop qpn=0x1000000", "0x1000000", "24 bits");
	expect_error("drop qpn=5-4", "5-4", "24 bits");
	expect_error("drop nth=0", "0", "from 1");
	expect_error("drop nth=5-3", "5-3", "from 1");
	expect_error("drop times=18446744073709551616", "1844", "whole number");
	expect_error("drop from=2s until=1s", "drop", "never hold");
	expect_error("duplicate copies=17", "17", "from 1 to 16");
	expect_error("corrupt length=8", "8", "bytes to cut off");
	expect_error("corrupt icrc=maybe", "maybe", "right or wrong");
	expect_error("seed=1;seed=2", "seed=2", "seed is given twice");
	expect_error("seed=-1", "-1", "64 bits");
}

static void check_names(enum adv_fault_action action, uint32_t first, uint32_t last)
{
	for (uint32_t i = first; i <= last; i++) {
		const char *name = adv_fault_value_name(action, i);
		uint32_t value;

		assert_non_null(name);
		assert_true(adv_fault_value_read(action, name, strlen(name), &value));
		assert_int_equal(value, i);
	}
}

/* All statuses except success, and all events, have names. */
static void test_named_values(void **state)
{
	check_names(ADV_FAULT_COMPLETE, IBV_WC_SUCCESS + 1, IBV_WC_TM_RNDV_INCOMPLETE);
	check_names(ADV_FAULT_EVENT, 0, IBV_EVENT_WQ_FATAL);
	assert_null(adv_fault_value_name(ADV_FAULT_COMPLETE, IBV_WC_SUCCESS));
	assert_null(adv_fault_value_name(ADV_FAULT_DROP, 0));
}

static void test_limits(void **state)
{
	static char text[ADV_FAULT_TEXT_MAX + 2];
	struct adv_fault_error error;
	struct adv_fault_plan plan;

	for (unsigned i = 0; i < ADV_FAULT_RULES; i++)
		strcat(text, "drop;");
	assert_int_equal(parse_plan(text).count, ADV_FAULT_RULES);
	strcat(text, "mark");
	expect_error(text, "mark", "too many rules");
	memset(text, ' ', sizeof(text));
	assert_true(adv_fault_plan_parse(&plan, text, ADV_FAULT_TEXT_MAX, &error));
	assert_false(adv_fault_plan_parse(&plan, text, ADV_FAULT_TEXT_MAX + 1, &error));
	/* A zero byte is a character that no word contains. */
	assert_false(adv_fault_plan_parse(&plan, "drop\0", 5, &error));
}

static void test_caret(void **state)
{
	const char *text = "seed=1\ndrop=1% foo=2";
	struct adv_fault_error error;
	struct adv_fault_plan plan;
	char out[512];

	assert_false(adv_fault_plan_parse(&plan, text, strlen(text), &error));
	adv_fault_error_print(&error, text, strlen(text), out, sizeof(out));
	assert_non_null(strstr(out, "\n  drop=1% foo=2\n          ^"));
	assert_true(adv_fault_error_print(&error, text, strlen(text), NULL, 0) == strlen(out));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_actions),	     cmocka_unit_test(test_conditions),
		cmocka_unit_test(test_names),	     cmocka_unit_test(test_all_opcodes),
		cmocka_unit_test(test_print),	     cmocka_unit_test(test_errors),
		cmocka_unit_test(test_named_values), cmocka_unit_test(test_limits),
		cmocka_unit_test(test_caret),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
