/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The triage of `adverb explain --pid`: two readings of a queue pair with one trouble each, and
 * what is to be checked first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <infiniband/verbs.h>

#include "cli/explain/triage.h"

/* A queue pair with both readings, and what is known of it. */
struct bed {
	struct adv_object before, now;
	struct adv_triage_facts facts;
	struct adv_finding found[ADV_FINDINGS];
	unsigned count;
};

static struct bed *share(struct bed *b, size_t offset, uint32_t recent)
{
	b->now.qp.share[offset / sizeof(uint64_t)] += recent;
	return b;
}

#define RECENT(b, counter, count) share(b, offsetof(struct adv_engine_counters, counter), count)

/* An RC queue pair that works. */
static void bed_open(struct bed *b)
{
	memset(b, 0, sizeof(*b));
	b->before.type = IBV_QPT_RC;
	b->before.state = IBV_QPS_RTS;
	b->before.qp.timeout = 14;
	b->before.qp.retry_cnt = b->before.qp.retry_left = 7;
	b->before.qp.send_room = 128;
	b->before.qp.send_posted = b->before.qp.send_done = 1000;
	b->before.qp.sq_psn = b->before.qp.una_psn = 500;
	b->now = b->before;
	b->facts.before = &b->before;
	b->facts.now = &b->now;
}

static void bed_open_local(struct bed *b)
{
	bed_open(b);
	b->before.qp.flags = b->now.qp.flags = ADV_QP_LOCAL_PEER;
	b->facts.peer = ADV_PEER_RUNS;
}

static void bed_open_iwarp(struct bed *b)
{
	bed_open(b);
	b->before.qp.timeout = b->before.qp.retry_cnt = b->before.qp.retry_left = 0;
	b->before.qp.sq_psn = b->before.qp.una_psn = 0;
	b->before.qp.flags = ADV_QP_IWARP | ADV_QP_STREAM;
	b->now = b->before;
}

/* All requests of the send queue are outstanding, and none has ended between the readings. */
static void wait_for_all(struct bed *b)
{
	b->before.qp.send_posted = b->now.qp.send_posted = b->now.qp.send_done + 128;
	b->before.qp.send_held = b->now.qp.send_held = 128;
}

static void triage(struct bed *b)
{
	b->count = adv_triage(&b->facts, b->found);
	assert_in_range(b->count, 1, ADV_FINDINGS);
}

/* Fails unless the first finding is of the branch and has the text. */
static void expect(struct bed *b, enum adv_branch branch, const char *text)
{
	triage(b);
	if (!strstr(b->found[0].what, text))
		fail_msg("'%s' is found, not '%s'", b->found[0].what, text);
	assert_int_equal(b->found[0].branch, branch);
}

/* Fails if a finding or a remedy has the text. */
static void expect_no(const struct bed *b, const char *text)
{
	for (unsigned i = 0; i < b->count; i++)
		if (strstr(b->found[i].what, text) || strstr(b->found[i].remedy, text))
			fail_msg("'%s' is said: %s: %s", text, b->found[i].what,
				 b->found[i].remedy);
}

static void test_works(void **state)
{
	struct bed b;

	bed_open(&b);
	expect(&b, ADV_BRANCH_NONE, "works");
	b.now.qp.send_posted += 40;
	b.now.qp.send_done += 20;
	b.now.qp.send_held = 30;
	expect(&b, ADV_BRANCH_NONE, "works");
	b.now.qp.send_done = b.now.qp.send_posted;
	b.now.qp.send_held = 127; /* unsignaled, not yet full */
	expect(&b, ADV_BRANCH_NONE, "works");
	bed_open_iwarp(&b);
	expect(&b, ADV_BRANCH_NONE, "works");
}

static void test_receives_come_first(void **state)
{
	struct bed b;

	bed_open(&b);
	RECENT(RECENT(&b, out_of_buffer, 5), out_of_sequence, 75);
	expect(&b, ADV_BRANCH_LOCAL, "posted no receive request");
	bed_open(&b);
	RECENT(RECENT(&b, rnr_nak_retry_err, 5), packet_seq_err, 1);
	expect(&b, ADV_BRANCH_PEER, "no receive request posted");
}

static void test_a_full_queue_of_unsignaled_requests(void **state)
{
	struct bed b;

	bed_open(&b);
	b.before.qp.send_held = b.now.qp.send_held = 128;
	expect(&b, ADV_BRANCH_LOCAL, "full of unsignaled requests");
	/* A completion waits: its polling frees the queue. */
	b.facts.unpolled = b.facts.unpolled_sends = 1;
	b.facts.cq_stuck = true;
	expect(&b, ADV_BRANCH_LOCAL, "are not polled");
	expect_no(&b, "unsignaled");
	/* The requests are on their way. */
	bed_open(&b);
	b.now.qp.send_posted += 128;
	b.now.qp.send_held = 128;
	expect(&b, ADV_BRANCH_NONE, "works");
}

static void test_losses(void **state)
{
	struct bed b;

	bed_open(&b);
	RECENT(&b, packet_seq_err, 3);
	expect(&b, ADV_BRANCH_FABRIC, "packets are lost");
	assert_non_null(strstr(b.found[0].remedy, "switches"));
	bed_open(&b);
	b.facts.faults = true;
	RECENT(&b, packet_seq_err, 3);
	expect(&b, ADV_BRANCH_FABRIC, "a fault plan of this program is in force");
}

/* No switch is between two programs of one machine. */
static void test_losses_on_one_machine(void **state)
{
	struct bed b;

	bed_open_local(&b);
	RECENT(&b, local_ack_timeout_err, 3);
	expect(&b, ADV_BRANCH_SET_UP, "two programs of this machine");
	expect_no(&b, "switches");
	b.facts.peer_faults = true;
	expect(&b, ADV_BRANCH_FABRIC, "a fault plan of the peer's program is in force");
	expect_no(&b, "switches");
	bed_open_local(&b);
	RECENT(&b, rp_cnp_handled, 3);
	expect(&b, ADV_BRANCH_FABRIC, "a queue is congested");
	expect_no(&b, "switch port");
	bed_open_local(&b);
	b.before = *RECENT(&b, duplicate_request, 1)->facts.now;
	expect(&b, ADV_BRANCH_FABRIC, "earlier, packets were lost or late");
	expect_no(&b, "switches");
	bed_open_local(&b);
	b.now.state = IBV_QPS_ERR;
	b.now.qp.error_kind = ADV_QP_ERROR_SEND;
	b.now.qp.error_status = IBV_WC_RETRY_EXC_ERR;
	b.now.qp.error_cause = ADV_ERR_SEQUENCE_RETRIES;
	expect(&b, ADV_BRANCH_SET_UP, "packets were lost");
	expect_no(&b, "switches");
}

static void test_silence_on_one_machine(void **state)
{
	struct bed b;

	bed_open_local(&b);
	wait_for_all(&b);
	b.now.qp.flags |= ADV_QP_UNANSWERED;
	expect(&b, ADV_BRANCH_SET_UP, "drops the packets");
	b.facts.faults = true;
	expect(&b, ADV_BRANCH_FABRIC, "a fault plan of this program");
	expect_no(&b, "switches");
	b.facts.faults = false;
	b.facts.peer = ADV_PEER_UNKNOWN; /* of another user */
	expect(&b, ADV_BRANCH_PEER, "of another user");
	expect_no(&b, "switches");
	b.facts.peer = ADV_PEER_STOPPED;
	expect(&b, ADV_BRANCH_PEER, "is stopped");
	/* Also before the first timeout, which may be long. */
	b.now.qp.flags &= (uint8_t)~ADV_QP_UNANSWERED;
	expect(&b, ADV_BRANCH_PEER, "is stopped");
}

static void test_silence(void **state)
{
	struct bed b;

	bed_open(&b);
	wait_for_all(&b);
	b.now.qp.retry_left = 6;
	b.facts.cm = b.facts.echo = b.facts.echo_long = ADV_PROBE_ANSWERED;
	expect(&b, ADV_BRANCH_PEER, "its queue pair does not");
	b.facts.cm = b.facts.echo = b.facts.echo_long = ADV_PROBE_SILENT;
	expect(&b, ADV_BRANCH_FABRIC, "does not answer at all");
	b.facts.cm = ADV_PROBE_REFUSED;
	expect(&b, ADV_BRANCH_FABRIC, "UDP port 4791 does not get through");
}

/* Without a timeout no counter grows, and the queue pair waits for ever. */
static void test_no_timeout(void **state)
{
	struct bed b;
	bool said = false;

	bed_open(&b);
	b.before.qp.timeout = b.now.qp.timeout = 0;
	expect(&b, ADV_BRANCH_NONE, "works");
	wait_for_all(&b);
	b.before.qp.in_flight = b.now.qp.in_flight = 20;
	b.facts.cm = b.facts.echo = b.facts.echo_long = ADV_PROBE_SILENT;
	expect(&b, ADV_BRANCH_FABRIC, "does not answer at all");
	for (unsigned i = 0; i < b.count; i++)
		said |= strstr(b.found[i].what, "timeout 0") != NULL;
	assert_true(said);
}

static void test_iwarp(void **state)
{
	struct bed b;

	bed_open_iwarp(&b);
	b.before.qp.flags = b.now.qp.flags = ADV_QP_IWARP;
	wait_for_all(&b);
	expect(&b, ADV_BRANCH_SET_UP, "no connection: its requests wait");
	bed_open_iwarp(&b);
	wait_for_all(&b);
	b.before.qp.stream_queued = b.now.qp.stream_queued = 4000000;
	expect(&b, ADV_BRANCH_PEER, "takes no more bytes");
	b.now.qp.stream_retries = 3;
	expect(&b, ADV_BRANCH_FABRIC, "does not acknowledge TCP segments");
	b.now.qp.flags |= ADV_QP_LOCAL_PEER;
	expect(&b, ADV_BRANCH_SET_UP, "this machine's own address");
	expect_no(&b, "switches");
	b.facts.peer = ADV_PEER_STOPPED;
	expect(&b, ADV_BRANCH_PEER, "is stopped");
	/* Bytes are acknowledged, slowly: it works. */
	b.now.qp.stream_acked++;
	expect(&b, ADV_BRANCH_NONE, "works");
}

static void test_iwarp_waits_for_the_peer(void **state)
{
	struct bed b;

	bed_open_iwarp(&b);
	wait_for_all(&b);
	b.now.qp.request = IBV_WR_RDMA_READ;
	expect(&b, ADV_BRANCH_PEER, "does not answer");
	b.now.qp.request = IBV_WR_SEND;
	b.now.qp.flags |= ADV_QP_FIRST_AWAITED;
	expect(&b, ADV_BRANCH_PEER, "may not send before it");
}

static void fail_by_event(struct bed *b, enum ibv_event_type event, enum adv_vendor_err cause)
{
	bed_open(b);
	b->now.state = IBV_QPS_ERR;
	b->now.qp.error_kind = ADV_QP_ERROR_EVENT;
	b->now.qp.error_status = (uint8_t)event;
	b->now.qp.error_cause = (uint8_t)cause;
}

static void test_refused_requests_of_the_peer(void **state)
{
	struct bed b;

	fail_by_event(&b, IBV_EVENT_QP_ACCESS_ERR, ADV_ERR_RKEY);
	expect(&b, ADV_BRANCH_SET_UP, "of this process was refused");
	fail_by_event(&b, IBV_EVENT_QP_REQ_ERR, ADV_ERR_QP_ACCESS);
	expect(&b, ADV_BRANCH_SET_UP, "does not allow the peer's request");
	assert_non_null(strstr(b.found[0].remedy, "qp_access_flags"));
	fail_by_event(&b, IBV_EVENT_QP_REQ_ERR, ADV_ERR_NO_RECEIVE);
	expect(&b, ADV_BRANCH_LOCAL, "no receive request");
	fail_by_event(&b, IBV_EVENT_QP_FATAL, ADV_ERR_TERMINATED);
	expect(&b, ADV_BRANCH_PEER, "the peer found an error");
	fail_by_event(&b, IBV_EVENT_QP_REQ_ERR, ADV_ERR_REQUEST_SEQUENCE);
	expect(&b, ADV_BRANCH_PEER, "does not continue its message");
	fail_by_event(&b, IBV_EVENT_QP_FATAL, ADV_ERR_CQ_OVERRUN);
	expect(&b, ADV_BRANCH_LOCAL, "completion queue was full");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_works),
		cmocka_unit_test(test_receives_come_first),
		cmocka_unit_test(test_a_full_queue_of_unsignaled_requests),
		cmocka_unit_test(test_losses),
		cmocka_unit_test(test_losses_on_one_machine),
		cmocka_unit_test(test_silence_on_one_machine),
		cmocka_unit_test(test_silence),
		cmocka_unit_test(test_no_timeout),
		cmocka_unit_test(test_iwarp),
		cmocka_unit_test(test_iwarp_waits_for_the_peer),
		cmocka_unit_test(test_refused_requests_of_the_peer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
