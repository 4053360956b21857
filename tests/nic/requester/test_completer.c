/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests how the requester handles responses that are late, lost or wrong. */
#include <stdlib.h>

#include "base/array.h"
#include "../engine/harness.h"

#define FIRST 0x1000u

struct bed {
	struct net *net;
	struct end *a;
	struct end *b;
	struct region *ra;
	struct region *rb;
};

/* Drops the requests, so that the test sends the answers. */
static void mute(struct net *net, struct wire *w)
{
	w->copies = 0;
}

static void bed_open_with(struct bed *bed, uint8_t timeout)
{
	struct options o = options_default(IBV_QPT_RC);

	o.timeout = timeout;
	bed->net = net_open(2, 3);
	bed->ra = region_open(&bed->net->node[0], 16384, ALL_ACCESS);
	bed->rb = region_open(&bed->net->node[1], 16384, ALL_ACCESS);
	region_fill(bed->ra, 1);
	pair_open(bed->net, &o, &bed->a, &bed->b);
	bed->net->hook = mute;
}

static void bed_open(struct bed *bed)
{
	bed_open_with(bed, 0);
}

static void bed_close(struct bed *bed)
{
	net_abandon(bed->net);
}

static void post(struct bed *bed, int opcode, uint64_t id, uint32_t len)
{
	end_op(bed->a, opcode, id, bed->ra, id * 1024, len, bed->rb, id * 1024);
}

static void answer(struct bed *bed, uint8_t opcode, uint8_t syndrome, uint32_t ahead, uint32_t len)
{
	struct adv_headers h = {.bth = {.opcode = opcode,
					.pkey = ADV_PKEY_DEFAULT,
					.dest_qpn = adv_qp_num(bed->a->qp),
					.psn = adv_psn_add(FIRST, ahead)},
				.aeth = {.syndrome = syndrome, .msn = 1},
				.atomicacketh = {.original = 77}};

	h.bth.pad = -len & 3;
	net_inject_packet(bed->net, 1, 0, &h, len);
	net_run(bed->net, US);
}

static void ack(struct bed *bed, uint32_t ahead)
{
	answer(bed, ADV_OP_ACKNOWLEDGE, 0x1f, ahead, 0);
}

static void expect_state(const struct bed *bed, unsigned sends, enum ibv_qp_state state)
{
	assert_int_equal(bed->a->send_count, sends);
	assert_int_equal(end_state(bed->a), state);
}

static void test_ack_covers_all_before(void **state)
{
	struct bed bed;

	bed_open(&bed);
	for (uint64_t i = 0; i < 5; i++)
		post(&bed, IBV_WR_RDMA_WRITE, i, 2000); /* two packets each */
	net_run(bed.net, US);
	ack(&bed, 2); /* first packet of the second request */
	expect_state(&bed, 1, IBV_QPS_RTS);
	ack(&bed, 7);
	expect_state(&bed, 4, IBV_QPS_RTS);
	ack(&bed, 4); /* an older ACK has no effect */
	ack(&bed, 7);
	expect_state(&bed, 4, IBV_QPS_RTS);
	ack(&bed, 9);
	expect_state(&bed, 5, IBV_QPS_RTS);
	bed_close(&bed);
}

/* Responses for PSNs that were never sent, or were sent long ago, have no effect. */
static void test_ghosts(void **state)
{
	static const uint8_t syndromes[] = {0x1f, ADV_AETH_RNR_NAK | 5, ADV_AETH_NAK,
					    ADV_AETH_NAK | ADV_NAK_INVALID_REQUEST,
					    ADV_AETH_NAK | ADV_NAK_REMOTE_ACCESS_ERROR};
	static const uint32_t ahead[] = {2, 3, 0x7fffff, 0xffffff, 0x800000};
	struct bed bed;

	bed_open(&bed);
	post(&bed, IBV_WR_RDMA_WRITE, 0, 2000);
	net_run(bed.net, US);
	for (int s = 0; s < 5; s++)
		for (int i = 0; i < 5; i++)
			answer(&bed, ADV_OP_ACKNOWLEDGE, syndromes[s], ahead[i], 0);
	answer(&bed, ADV_OP_READ_RESPONSE_ONLY, 0x1f, 2, 4);
	answer(&bed, ADV_OP_ATOMIC_ACKNOWLEDGE, 0x1f, 0xffffff, 0);
	expect_state(&bed, 0, IBV_QPS_RTS);
	ack(&bed, 1);
	expect_state(&bed, 1, IBV_QPS_RTS);
	bed_close(&bed);
}

static void test_fatal_naks(void **state)
{
	static const struct {
		uint8_t code;
		enum ibv_wc_status status;
		enum adv_vendor_err why;
	} naks[] = {
		{ADV_NAK_INVALID_REQUEST, IBV_WC_REM_INV_REQ_ERR, ADV_ERR_NAK_INVALID_REQUEST},
		{ADV_NAK_REMOTE_ACCESS_ERROR, IBV_WC_REM_ACCESS_ERR, ADV_ERR_NAK_ACCESS},
		{ADV_NAK_REMOTE_OPERATIONAL_ERROR, IBV_WC_REM_OP_ERR, ADV_ERR_NAK_OPERATION},
		{ADV_NAK_INVALID_RD_REQUEST, IBV_WC_BAD_RESP_ERR, ADV_ERR_NAK_RESERVED},
		{31, IBV_WC_BAD_RESP_ERR, ADV_ERR_NAK_RESERVED},
	};

	for (size_t i = 0; i < ADV_ARRAY_SIZE(naks); i++) {
		struct bed bed;

		bed_open(&bed);
		for (uint64_t k = 0; k < 4; k++)
			post(&bed, IBV_WR_RDMA_WRITE, k, 10);
		net_run(bed.net, US);
		/* The NAK names the second request, so the first request is done. */
		answer(&bed, ADV_OP_ACKNOWLEDGE, ADV_AETH_NAK | naks[i].code, 1, 0);
		expect_state(&bed, 4, IBV_QPS_ERR);
		expect_send(bed.a, 0, 0, IBV_WC_SUCCESS);
		expect_send(bed.a, 1, 1, naks[i].status);
		assert_int_equal(bed.a->sends[1].wc.vendor_err, naks[i].why);
		expect_send(bed.a, 2, 2, IBV_WC_WR_FLUSH_ERR);
		expect_send(bed.a, 3, 3, IBV_WC_WR_FLUSH_ERR);
		bed_close(&bed);
	}
}

static void test_reserved_syndromes(void **state)
{
	const struct adv_engine_counters *c;
	struct bed bed;

	bed_open(&bed);
	c = adv_engine_counters(bed.net->node[0].e);
	post(&bed, IBV_WR_RDMA_WRITE, 0, 10);
	net_run(bed.net, US);
	answer(&bed, ADV_OP_ACKNOWLEDGE, 0x40, 0, 0);
	answer(&bed, ADV_OP_ACKNOWLEDGE, 0x80, 0, 0);
	expect_state(&bed, 0, IBV_QPS_RTS);
	assert_int_equal(c->rx_malformed, 2);
	bed_close(&bed);
}

/* NAKs of sequence error cost one retry each if una_psn does not move between them. */
static void test_sequence_naks_use_retries(void **state)
{
	const struct adv_engine_counters *c;
	struct bed bed;

	bed_open_with(&bed, 10);
	c = adv_engine_counters(bed.net->node[0].e);
	bed.net->node[0].e->timeout_ticks = 64;
	post(&bed, IBV_WR_RDMA_WRITE, 0, 10);
	post(&bed, IBV_WR_RDMA_WRITE, 1, 10);
	net_run(bed.net, US);
	for (uint64_t i = 1; i <= 7; i++) {
		/* Until a timeout has retransmitted everything, repeated NAKs count as NAKs of the
		 * same loss. */
		for (int copy = 0; copy < 3; copy++)
			answer(&bed, ADV_OP_ACKNOWLEDGE, ADV_AETH_NAK, 1, 0);
		expect_state(&bed, 1, IBV_QPS_RTS);
		assert_int_equal(bed.a->qp->req.retry_left, 7 - i);
		/* several steps may be necessary: without progress the timer runs for several
		 * timeouts */
		while (c->local_ack_timeout_err < i)
			assert_true(net_step(bed.net, bed.net->now + SEC));
		assert_int_equal(c->local_ack_timeout_err, i);
	}
	answer(&bed, ADV_OP_ACKNOWLEDGE, ADV_AETH_NAK, 1, 0);
	expect_state(&bed, 2, IBV_QPS_ERR);
	expect_send(bed.a, 1, 1, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(bed.a->sends[1].wc.vendor_err, ADV_ERR_SEQUENCE_RETRIES);
	bed_close(&bed);
}

/* A duplicate ACK shows that the peer is alive: all retries are restored, and the timer restarts. A
 * much older ACK has no effect. */
static void test_repeated_ack_is_life(void **state)
{
	uint64_t period = 4096ull << 10;
	struct bed bed;

	bed_open_with(&bed, 10);
	post(&bed, IBV_WR_RDMA_WRITE, 0, 10);
	post(&bed, IBV_WR_RDMA_WRITE, 1, 10);
	net_run(bed.net, US);
	ack(&bed, 0);
	for (int i = 0; i < 5; i++) {
		net_run(bed.net, 7 * period + period / 2);
		expect_state(&bed, 1, IBV_QPS_RTS);
		assert_int_equal(bed.a->qp->req.retry_left, 0);
		ack(&bed, 0);
		assert_int_equal(bed.a->qp->req.retry_left, 7);
	}
	net_run(bed.net, 7 * period + period / 2);
	ack(&bed, ADV_PSN_MASK - bed.net->node[0].e->window);
	answer(&bed, ADV_OP_ACKNOWLEDGE, ADV_AETH_NAK, 0, 0);
	answer(&bed, ADV_OP_ACKNOWLEDGE, ADV_AETH_RNR_NAK | 1, 0, 0);
	expect_state(&bed, 1, IBV_QPS_RTS);
	assert_int_equal(bed.a->qp->req.retry_left, 0);
	net_run(bed.net, period);
	expect_state(&bed, 2, IBV_QPS_ERR);
	expect_send(bed.a, 1, 1, IBV_WC_RETRY_EXC_ERR);
	bed_close(&bed);
}

/*
 * A timeout retransmits only the oldest packet. When it is acknowledged the others follow, twice as
 * many each round trip. Acknowledgements of packets that were not retransmitted do not open the
 * window.
 */
static void test_one_packet_after_a_timeout(void **state)
{
	uint64_t before;
	struct bed bed;

	bed_open_with(&bed, 10);
	for (uint64_t i = 0; i < 24; i++)
		post(&bed, IBV_WR_RDMA_WRITE, i % 16, 10);
	net_run(bed.net, US);
	before = bed.net->sent;
	assert_int_equal(before, 24);
	net_run(bed.net, 5 * MS);
	assert_int_equal(bed.net->sent, before + 1);
	ack(&bed, 4); /* acknowledges packets that were sent before the timeout */
	assert_int_equal(bed.net->sent, before + 2);
	ack(&bed, 5); /* acknowledges the retransmitted packet */
	assert_int_equal(bed.net->sent, before + 7);
	ack(&bed, 7);
	assert_int_equal(bed.net->sent, before + 13);
	ack(&bed, 23);
	expect_state(&bed, 24, IBV_QPS_RTS);
	bed_close(&bed);
}

/* Checks when the timer becomes short after late answers: when all packets that were in flight at
 * that time are answered in time or (`soon`) when a retransmitted packet is answered very soon. */
static void short_timer_again(bool soon)
{
	uint64_t period = 4096ull << 10;
	const struct adv_engine_counters *c;
	struct bed bed;

	bed_open_with(&bed, 10);
	c = adv_engine_counters(bed.net->node[0].e);
	bed.net->node[0].e->timeout_ticks = 4;
	for (uint64_t i = 0; i < 4; i++)
		post(&bed, IBV_WR_RDMA_WRITE, i, 10);
	net_run(bed.net, 6 * period); /* retransmissions after 1, 2 and 4 timeouts */
	assert_int_equal(c->local_ack_timeout_err, 3);
	ack(&bed, 1); /* acknowledges packets that were sent before the timeout */
	assert_int_equal(bed.a->qp->req.backoff, 4);
	bed.net->now += soon ? period / 8 : period / 2;
	ack(&bed, 2); /* acknowledges a retransmitted packet */
	assert_int_equal(bed.a->qp->req.backoff, soon ? 1 : 4);
	bed.net->now += period / 2;
	ack(&bed, 3);
	expect_state(&bed, 4, IBV_QPS_RTS);
	post(&bed, IBV_WR_RDMA_WRITE, 5, 10);
	net_run(bed.net, period + period / 2);
	assert_int_equal(c->local_ack_timeout_err, 4);
	bed_close(&bed);
}

static void test_short_timer_again(void **state)
{
	short_timer_again(false);
	short_timer_again(true);
}

/* After a timeout, the first packet of a READ is requested again. If the response to the original
 * request then arrives, nothing more is requested. */
static void test_read_that_is_late(void **state)
{
	uint64_t before;
	struct bed bed;

	bed_open_with(&bed, 10);
	post(&bed, IBV_WR_RDMA_READ, 0, 4096);
	end_op(bed.a, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, bed.ra, 8192, 8, bed.rb, 0);
	net_run(bed.net, US);
	before = bed.net->sent;
	assert_int_equal(before, 2);
	net_run(bed.net, 5 * MS);
	assert_int_equal(bed.net->sent, before + 1);
	answer(&bed, ADV_OP_READ_RESPONSE_FIRST, 0x1f, 0, 1024);
	answer(&bed, ADV_OP_READ_RESPONSE_MIDDLE, 0x1f, 1, 1024);
	answer(&bed, ADV_OP_READ_RESPONSE_MIDDLE, 0x1f, 2, 1024);
	answer(&bed, ADV_OP_READ_RESPONSE_LAST, 0x1f, 3, 1024);
	expect_state(&bed, 1, IBV_QPS_RTS);
	assert_int_equal(bed.net->sent, before + 1);
	answer(&bed, ADV_OP_ATOMIC_ACKNOWLEDGE, 0x1f, 4, 0);
	expect_state(&bed, 2, IBV_QPS_RTS);
	bed_close(&bed);
}

/* A fenced request still waits for the whole READ after a timeout. */
static void test_fence_behind_a_late_read(void **state)
{
	uint64_t before;
	struct bed bed;
	struct wr wr;

	bed_open_with(&bed, 10);
	post(&bed, IBV_WR_RDMA_READ, 0, 4096);
	wr_make(&wr, IBV_WR_RDMA_WRITE, 1, IBV_SEND_FENCE);
	wr_sge(&wr, bed.ra, 8192, 8);
	wr_remote(&wr, bed.rb, 0);
	assert_int_equal(end_send(bed.a, &wr), 0);
	net_run(bed.net, 5 * MS);
	before = bed.net->sent;
	assert_int_equal(before, 2);
	answer(&bed, ADV_OP_READ_RESPONSE_FIRST, 0x1f, 0, 1024);
	answer(&bed, ADV_OP_READ_RESPONSE_MIDDLE, 0x1f, 1, 1024);
	answer(&bed, ADV_OP_READ_RESPONSE_MIDDLE, 0x1f, 2, 1024);
	assert_int_equal(bed.net->sent, before);
	answer(&bed, ADV_OP_READ_RESPONSE_LAST, 0x1f, 3, 1024);
	assert_int_equal(bed.net->sent, before + 1);
	bed_close(&bed);
}

/* After a timeout one packet of a READ is requested. When it arrives, the rest is requested. */
static void test_read_that_is_lost(void **state)
{
	uint64_t before;
	struct bed bed;

	bed_open_with(&bed, 10);
	post(&bed, IBV_WR_RDMA_READ, 0, 4096);
	net_run(bed.net, US);
	before = bed.net->sent;
	net_run(bed.net, 5 * MS);
	assert_int_equal(bed.net->sent, before + 1);
	answer(&bed, ADV_OP_READ_RESPONSE_ONLY, 0x1f, 0, 1024);
	assert_int_equal(bed.net->sent, before + 2);
	answer(&bed, ADV_OP_READ_RESPONSE_FIRST, 0x1f, 1, 1024);
	answer(&bed, ADV_OP_READ_RESPONSE_MIDDLE, 0x1f, 2, 1024);
	answer(&bed, ADV_OP_READ_RESPONSE_LAST, 0x1f, 3, 1024);
	expect_state(&bed, 1, IBV_QPS_RTS);
	bed_close(&bed);
}

/* An ACK for a PSN after an unanswered READ shows that the response was lost: it is requested
 * again. */
static void test_implied_nak(void **state)
{
	uint64_t before;
	struct bed bed;

	bed_open(&bed);
	post(&bed, IBV_WR_RDMA_WRITE, 0, 10);
	post(&bed, IBV_WR_RDMA_READ, 1, 10);
	post(&bed, IBV_WR_RDMA_WRITE, 2, 10);
	net_run(bed.net, US);
	before = bed.net->sent;
	ack(&bed, 2);
	expect_state(&bed, 1, IBV_QPS_RTS);
	assert_int_equal(adv_engine_counters(bed.net->node[0].e)->implied_nak_seq_err, 1);
	assert_int_equal(bed.net->sent, before + 2);
	/* The response is requested again only once, even if the ACK is repeated. */
	ack(&bed, 2);
	ack(&bed, 2);
	assert_int_equal(bed.net->sent, before + 2);
	answer(&bed, ADV_OP_READ_RESPONSE_ONLY, 0x1f, 1, 10);
	expect_state(&bed, 2, IBV_QPS_RTS);
	ack(&bed, 2);
	expect_state(&bed, 3, IBV_QPS_RTS);
	bed_close(&bed);
}

/* A response acknowledges all requests before it. */
static void test_response_is_an_ack(void **state)
{
	uint64_t v;
	struct bed bed;

	bed_open(&bed);
	post(&bed, IBV_WR_RDMA_WRITE, 0, 10);
	post(&bed, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 8);
	net_run(bed.net, US);
	answer(&bed, ADV_OP_ATOMIC_ACKNOWLEDGE, 0x1f, 1, 0);
	expect_state(&bed, 2, IBV_QPS_RTS);
	memcpy(&v, bed.ra->buf + 1024, 8);
	assert_true(v == 77);
	bed_close(&bed);
}

/* A wrong response ends the connection and writes nothing. */
static void test_bad_responses(void **state)
{
	static const struct {
		int request;
		uint32_t len;
		uint8_t response;
		uint8_t syndrome;
		uint32_t response_len;
	} cases[] = {
		{IBV_WR_RDMA_WRITE, 10, ADV_OP_READ_RESPONSE_ONLY, 0x1f, 10},
		{IBV_WR_RDMA_WRITE, 10, ADV_OP_ATOMIC_ACKNOWLEDGE, 0x1f, 0},
		{IBV_WR_SEND, 0, ADV_OP_READ_RESPONSE_ONLY, 0x1f, 0},
		{IBV_WR_RDMA_READ, 10, ADV_OP_ATOMIC_ACKNOWLEDGE, 0x1f, 0},
		{IBV_WR_RDMA_READ, 10, ADV_OP_READ_RESPONSE_ONLY, 0x1f, 11},
		{IBV_WR_RDMA_READ, 10, ADV_OP_READ_RESPONSE_ONLY, 0x1f, 9},
		{IBV_WR_RDMA_READ, 10, ADV_OP_READ_RESPONSE_ONLY, 0x1f, 0},
		{IBV_WR_RDMA_READ, 10, ADV_OP_READ_RESPONSE_ONLY, 0x61, 10},
		{IBV_WR_RDMA_READ, 2000, ADV_OP_READ_RESPONSE_FIRST, 0x1f, 1020},
		{IBV_WR_RDMA_READ, 2000, ADV_OP_READ_RESPONSE_FIRST, 0x1f, 2000},
		{IBV_WR_ATOMIC_CMP_AND_SWP, 8, ADV_OP_READ_RESPONSE_ONLY, 0x1f, 8},
		{IBV_WR_ATOMIC_CMP_AND_SWP, 8, ADV_OP_READ_RESPONSE_ONLY, 0x1f, 0},
	};

	for (size_t i = 0; i < ADV_ARRAY_SIZE(cases); i++) {
		struct bed bed;

		bed_open(&bed);
		post(&bed, cases[i].request, 0, cases[i].len);
		net_run(bed.net, US);
		answer(&bed, cases[i].response, cases[i].syndrome, 0, cases[i].response_len);
		expect_state(&bed, 1, IBV_QPS_ERR);
		expect_send(bed.a, 0, 0, IBV_WC_BAD_RESP_ERR);
		expect_pattern(bed.ra, 0, 4000, 1, 0);
		bed_close(&bed);
	}
}

/* READ responses are placed by their PSN. A response that is out of order has no effect. */
static void test_response_out_of_order(void **state)
{
	struct bed bed;

	bed_open(&bed);
	post(&bed, IBV_WR_RDMA_READ, 0, 3000);
	net_run(bed.net, US);
	answer(&bed, ADV_OP_READ_RESPONSE_FIRST, 0x1f, 0, 1024);
	answer(&bed, ADV_OP_READ_RESPONSE_LAST, 0x1f, 2, 952);
	expect_state(&bed, 0, IBV_QPS_RTS);
	expect_pattern(bed.ra, 2048, 952, 1, 2048);
	answer(&bed, ADV_OP_READ_RESPONSE_FIRST, 0x1f, 0, 1024); /* a duplicate: old */
	answer(&bed, ADV_OP_READ_RESPONSE_MIDDLE, 0, 1, 1024);
	answer(&bed, ADV_OP_READ_RESPONSE_LAST, 0x1f, 2, 952);
	expect_state(&bed, 1, IBV_QPS_RTS);
	assert_int_equal(bed.ra->buf[2050], 2);
	bed_close(&bed);
}

/* Responses are dropped by a QP in RTR, and by QPs of unreliable transports. */
static void test_not_a_requester(void **state)
{
	struct options o = options_default(IBV_QPT_UC);
	struct net *net = net_open(2, 1);
	struct adv_headers h = {.bth = {.opcode = ADV_OP_ACKNOWLEDGE, .pkey = 0xffff}};
	struct end *a, *b;

	pair_open(net, &o, &a, &b);
	h.bth.dest_qpn = adv_qp_num(a->qp);
	net_inject_packet(net, 1, 0, &h, 0);
	assert_int_equal(adv_engine_counters(net->node[0].e)->rx_no_qp, 1);
	o = options_default(IBV_QPT_RC);
	a = end_open(&net->node[0], &o, NULL);
	b = end_open(&net->node[1], &o, NULL);
	assert_int_equal(end_to_init(a, &o), 0);
	assert_int_equal(end_to_rtr(a, &o, b, 0), 0);
	h.bth.dest_qpn = adv_qp_num(a->qp);
	net_inject_packet(net, 1, 0, &h, 0);
	assert_int_equal(adv_engine_counters(net->node[0].e)->rx_no_qp, 2);
	net_close(net);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ack_covers_all_before),
		cmocka_unit_test(test_ghosts),
		cmocka_unit_test(test_fatal_naks),
		cmocka_unit_test(test_reserved_syndromes),
		cmocka_unit_test(test_sequence_naks_use_retries),
		cmocka_unit_test(test_repeated_ack_is_life),
		cmocka_unit_test(test_one_packet_after_a_timeout),
		cmocka_unit_test(test_short_timer_again),
		cmocka_unit_test(test_read_that_is_late),
		cmocka_unit_test(test_fence_behind_a_late_read),
		cmocka_unit_test(test_read_that_is_lost),
		cmocka_unit_test(test_implied_nak),
		cmocka_unit_test(test_response_is_an_ack),
		cmocka_unit_test(test_bad_responses),
		cmocka_unit_test(test_response_out_of_order),
		cmocka_unit_test(test_not_a_requester),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
