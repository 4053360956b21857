/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests the responder: gaps, duplicates, sequences of opcodes, and deregistered regions. */
#include <stdlib.h>

#include "base/array.h"
#include "responder_bed.h"

/* ---- single packets, made by hand ---- */

static struct adv_headers packet(const struct bed *bed, uint8_t opcode, uint32_t ahead)
{
	struct adv_headers h = {.bth = {.opcode = opcode,
					.pkey = ADV_PKEY_DEFAULT,
					.dest_qpn = adv_qp_num(bed->b->qp),
					.ackreq = true,
					.psn = adv_psn_add(0x1000, ahead)}};

	h.reth.va = h.atomiceth.va = bed->rb->iova;
	h.reth.rkey = h.atomiceth.rkey = bed->rb->key;
	h.atomiceth.swap_add = 1;
	return h;
}

static void inject(struct bed *bed, uint8_t opcode, uint32_t ahead, uint32_t length)
{
	struct adv_headers h = packet(bed, opcode, ahead);

	h.reth.length = length;
	h.bth.pad = -length & 3;
	net_inject_packet(bed->net, 0, 1, &h,
			  adv_opcode_table[opcode].flags & ADV_PKT_PAYLOAD ? length : 0);
}

/* Drops the answers, because the peer's engine did not send these requests. */
static void mute_answers(struct net *net, struct wire *w)
{
	note(net, w);
	w->copies = 0;
}

static void bed_open_muted(struct bed *bed, const struct options *o)
{
	bed_open(bed, o);
	bed->net->hook = mute_answers;
}

static void expect_answer(struct bed *bed, unsigned n, uint8_t opcode, uint8_t syndrome,
			  uint32_t ahead)
{
	net_run(bed->net, MS);
	assert_int_equal(bed->count, n + 1);
	assert_int_equal(bed->sent[n].h.bth.opcode, opcode);
	assert_int_equal(bed->sent[n].h.aeth.syndrome, syndrome);
	assert_int_equal(bed->sent[n].h.bth.psn, adv_psn_add(0x1000, ahead));
}

static void test_one_nak_for_a_gap(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct bed bed;

	bed_open_muted(&bed, &o);
	for (uint32_t i = 1; i < 6; i++)
		inject(&bed, ADV_OP_WRITE_ONLY, i, 4);
	expect_answer(&bed, 0, ADV_OP_ACKNOWLEDGE, ADV_AETH_NAK | ADV_NAK_PSN_SEQUENCE_ERROR, 0);
	inject(&bed, ADV_OP_WRITE_ONLY, 7, 4);
	net_run(bed.net, MS);
	assert_int_equal(bed.count, 1);
	assert_int_equal(counters(&bed, 1)->out_of_sequence, 6);
	inject(&bed, ADV_OP_WRITE_ONLY, 0, 4);
	expect_answer(&bed, 1, ADV_OP_ACKNOWLEDGE, 0x1f, 0);
	/* A new gap causes a new NAK. */
	inject(&bed, ADV_OP_WRITE_ONLY, 2, 4);
	inject(&bed, ADV_OP_WRITE_ONLY, 3, 4);
	expect_answer(&bed, 2, ADV_OP_ACKNOWLEDGE, ADV_AETH_NAK | ADV_NAK_PSN_SEQUENCE_ERROR, 1);
	assert_int_equal(end_state(bed.b), IBV_QPS_RTS);
	bed_close(&bed);
}

/* The peer sends all packets again that follow an RNR NAK: they are not behind a loss. */
static void test_packets_behind_an_rnr_nak_are_not_lost(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct bed bed;

	bed_open_muted(&bed, &o);
	for (uint32_t i = 0; i < 6; i++)
		inject(&bed, ADV_OP_SEND_ONLY, i, 4);
	expect_answer(&bed, 0, ADV_OP_ACKNOWLEDGE, ADV_AETH_RNR_NAK | 1, 0);
	assert_int_equal(counters(&bed, 1)->out_of_buffer, 1);
	assert_int_equal(counters(&bed, 1)->out_of_sequence, 0);
	end_recv(bed.b, 1, bed.rb, 0, 64);
	inject(&bed, ADV_OP_SEND_ONLY, 0, 4);
	expect_answer(&bed, 1, ADV_OP_ACKNOWLEDGE, 0x1f, 0);
	/* What follows then is behind a gap. */
	inject(&bed, ADV_OP_SEND_ONLY, 2, 4);
	expect_answer(&bed, 2, ADV_OP_ACKNOWLEDGE, ADV_AETH_NAK | ADV_NAK_PSN_SEQUENCE_ERROR, 1);
	assert_int_equal(counters(&bed, 1)->out_of_sequence, 1);
	bed_close(&bed);
}

static void test_acks_are_coalesced(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct bed bed;

	bed_open_muted(&bed, &o);
	for (uint32_t i = 0; i < 10; i++)
		inject(&bed, ADV_OP_WRITE_ONLY, i, 4);
	expect_answer(&bed, 0, ADV_OP_ACKNOWLEDGE, 0x1f, 9);
	assert_int_equal(bed.sent[0].h.aeth.msn, 10);
	bed_close(&bed);
}

static void test_duplicate_atomic(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	uint64_t v = 40;
	struct bed bed;

	bed_open_muted(&bed, &o);
	memcpy(bed.rb->buf, &v, 8);
	inject(&bed, ADV_OP_FETCH_ADD, 0, 0);
	expect_answer(&bed, 0, ADV_OP_ATOMIC_ACKNOWLEDGE, 0x1f, 0);
	inject(&bed, ADV_OP_FETCH_ADD, 1, 0);
	expect_answer(&bed, 1, ADV_OP_ATOMIC_ACKNOWLEDGE, 0x1f, 1);
	inject(&bed, ADV_OP_FETCH_ADD, 0, 0);
	expect_answer(&bed, 2, ADV_OP_ATOMIC_ACKNOWLEDGE, 0x1f, 0);
	inject(&bed, ADV_OP_FETCH_ADD, 1, 0);
	expect_answer(&bed, 3, ADV_OP_ATOMIC_ACKNOWLEDGE, 0x1f, 1);
	assert_true(bed.sent[0].h.atomicacketh.original == 40);
	assert_true(bed.sent[1].h.atomicacketh.original == 41);
	assert_true(bed.sent[2].h.atomicacketh.original == 40);
	assert_true(bed.sent[3].h.atomicacketh.original == 41);
	memcpy(&v, bed.rb->buf, 8);
	assert_true(v == 42);
	assert_int_equal(counters(&bed, 1)->duplicate_request, 2);
	/* Duplicates that are older than the remembered requests get no answer and are not
	 * executed. */
	for (uint32_t i = 2; i < 10; i++) {
		inject(&bed, ADV_OP_FETCH_ADD, i, 0);
		net_run(bed.net, MS);
	}
	bed.count = 0;
	inject(&bed, ADV_OP_FETCH_ADD, 0, 0);
	net_run(bed.net, MS);
	assert_int_equal(bed.count, 0);
	memcpy(&v, bed.rb->buf, 8);
	assert_true(v == 50);
	bed_close(&bed);
}

static void test_duplicate_read(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct adv_headers h;
	struct bed bed;

	bed_open_muted(&bed, &o);
	inject(&bed, ADV_OP_READ_REQUEST, 0, 2500);
	net_run(bed.net, MS);
	assert_int_equal(bed.count, 3);
	/* The whole READ, then its last two packets. */
	inject(&bed, ADV_OP_READ_REQUEST, 0, 2500);
	net_run(bed.net, MS);
	assert_int_equal(bed.count, 6);
	h = packet(&bed, ADV_OP_READ_REQUEST, 1);
	h.reth.va += 1024;
	h.reth.length = 2500 - 1024;
	net_inject_packet(bed.net, 0, 1, &h, 0);
	net_run(bed.net, MS);
	assert_int_equal(bed.count, 8);
	assert_int_equal(bed.sent[6].h.bth.opcode, ADV_OP_READ_RESPONSE_FIRST);
	assert_int_equal(bed.sent[6].h.bth.psn, 0x1001);
	assert_int_equal(bed.sent[7].payload_len, 2500 - 2048);
	for (unsigned i = 0; i < bed.sent[6].payload_len; i++)
		assert_int_equal(bed.sent[6].data[16 + i], region_byte(1024 + i, 2));
	/* A request with an old PSN but another address is a forgery and gets no answer. */
	h.reth.va += 4;
	net_inject_packet(bed.net, 0, 1, &h, 0);
	h.reth.va -= 4;
	h.reth.length += 4000;
	net_inject_packet(bed.net, 0, 1, &h, 0);
	h.reth.length -= 4000;
	h.reth.rkey ^= 1;
	net_inject_packet(bed.net, 0, 1, &h, 0);
	net_run(bed.net, MS);
	assert_int_equal(bed.count, 8);
	assert_int_equal(end_state(bed.b), IBV_QPS_RTS);
	bed_close(&bed);
}

static void test_duplicate_send(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct bed bed;

	bed_open_muted(&bed, &o);
	end_recv(bed.b, 1, bed.rb, 0, 100);
	end_recv(bed.b, 2, bed.rb, 100, 100);
	for (int i = 0; i < 3; i++) {
		inject(&bed, ADV_OP_SEND_ONLY, 0, 8);
		expect_answer(&bed, (unsigned)i, ADV_OP_ACKNOWLEDGE, 0x1f, 0);
	}
	assert_int_equal(bed.b->recv_count, 1);
	assert_int_equal(counters(&bed, 1)->duplicate_request, 2);
	bed_close(&bed);
}

/* One READ or atomic more than max_dest_rd_atomic, before any answer, is refused. */
static void test_too_many_reads(void **state)
{
	struct options o = options_default(IBV_QPT_RC);

	for (uint8_t limit = 0; limit <= 5; limit++) {
		struct bed bed;

		o.max_dest_rd_atomic = limit;
		bed_open_muted(&bed, &o);
		for (uint32_t i = 0; i <= limit; i++)
			inject(&bed, i % 2 ? ADV_OP_FETCH_ADD : ADV_OP_READ_REQUEST, i, 8);
		expect_answer(&bed, limit, ADV_OP_ACKNOWLEDGE,
			      ADV_AETH_NAK | ADV_NAK_INVALID_REQUEST, limit);
		assert_int_equal(end_state(bed.b), IBV_QPS_ERR);
		assert_int_equal(net_count_events(&bed.net->node[1], IBV_EVENT_QP_REQ_ERR), 1);
		bed_close(&bed);
	}
}

/* Opcodes that cannot follow the previous opcode, and invalid lengths, are refused (IBTA
 * 9.7.4.1). */
static void test_bad_sequences(void **state)
{
	static const struct {
		uint8_t first; /* 0xff: none */
		uint32_t first_len;
		uint8_t second;
		uint32_t second_len;
	} cases[] = {
		{0xff, 0, ADV_OP_SEND_MIDDLE, 1024},
		{0xff, 0, ADV_OP_SEND_LAST, 10},
		{0xff, 0, ADV_OP_SEND_LAST_WITH_IMM, 10},
		{0xff, 0, ADV_OP_WRITE_MIDDLE, 1024},
		{0xff, 0, ADV_OP_WRITE_LAST, 10},
		{0xff, 0, ADV_OP_WRITE_LAST_WITH_IMM, 10},
		{0xff, 0, ADV_OP_SEND_FIRST, 1020},
		{0xff, 0, ADV_OP_SEND_FIRST, 0},
		{0xff, 0, ADV_OP_SEND_FIRST, 1028},
		{0xff, 0, ADV_OP_SEND_ONLY, 1028},
		{0xff, 0, ADV_OP_WRITE_ONLY, 1028},
		{0xff, 0, ADV_OP_SEND_ONLY, 4096},
		{0xff, 0, ADV_OP_ATOMIC_WRITE, 4},
		{0xff, 0, ADV_OP_ATOMIC_WRITE, 16},
		{0xff, 0, ADV_OP_SEND_LAST_WITH_INV, 8},
		{ADV_OP_SEND_FIRST, 1024, ADV_OP_SEND_ONLY_WITH_INV, 8},
		{ADV_OP_SEND_FIRST, 1024, ADV_OP_SEND_FIRST, 1024},
		{ADV_OP_SEND_FIRST, 1024, ADV_OP_SEND_ONLY, 4},
		{ADV_OP_SEND_FIRST, 1024, ADV_OP_WRITE_ONLY, 4},
		{ADV_OP_SEND_FIRST, 1024, ADV_OP_WRITE_MIDDLE, 1024},
		{ADV_OP_SEND_FIRST, 1024, ADV_OP_WRITE_LAST, 4},
		{ADV_OP_SEND_FIRST, 1024, ADV_OP_READ_REQUEST, 4},
		{ADV_OP_SEND_FIRST, 1024, ADV_OP_FETCH_ADD, 0},
		{ADV_OP_SEND_FIRST, 1024, ADV_OP_SEND_LAST, 0},
		{ADV_OP_SEND_FIRST, 1024, ADV_OP_SEND_MIDDLE, 100},
		{ADV_OP_WRITE_FIRST, 1024, ADV_OP_SEND_LAST, 4},
		{ADV_OP_WRITE_FIRST, 1024, ADV_OP_WRITE_FIRST, 1024},
		{ADV_OP_WRITE_FIRST, 1024, ADV_OP_SEND_ONLY, 4},
		/* The length in the RETH is 1024, so no packet may follow. */
		{ADV_OP_WRITE_FIRST, 1024, ADV_OP_WRITE_LAST, 4},
	};

	for (size_t i = 0; i < ADV_ARRAY_SIZE(cases); i++) {
		struct options o = options_default(IBV_QPT_RC);
		unsigned ahead = 0;
		struct bed bed;

		bed_open_muted(&bed, &o);
		end_recv(bed.b, 1, bed.rb, 0, 8192);
		end_recv(bed.b, 2, bed.rb, 0, 8192);
		if (cases[i].first != 0xff) {
			inject(&bed, cases[i].first, ahead++, cases[i].first_len);
			expect_answer(&bed, 0, ADV_OP_ACKNOWLEDGE, 0x1f, 0);
		}
		inject(&bed, cases[i].second, ahead, cases[i].second_len);
		expect_answer(&bed, ahead, ADV_OP_ACKNOWLEDGE,
			      ADV_AETH_NAK | ADV_NAK_INVALID_REQUEST, ahead);
		assert_int_equal(end_state(bed.b), IBV_QPS_ERR);
		assert_int_equal(bed.b->recv_count, 2);
		bed_close(&bed);
	}
}

/* An atomic is refused if its address is aligned only for the peer, or only for this CPU. */
static void test_atomic_at_odd_iova(void **state)
{
	static const uint8_t opcodes[] = {ADV_OP_FETCH_ADD, ADV_OP_COMPARE_SWAP,
					  ADV_OP_ATOMIC_WRITE};

	for (int i = 0; i < 6; i++) {
		struct options o = options_default(IBV_QPT_RC);
		struct adv_headers h;
		struct region *r;
		struct bed bed;

		bed_open_muted(&bed, &o);
		r = region_open_at(&bed.net->node[1], bed.net->node[1].pd, 64, 0x10004, ALL_ACCESS);
		assert_int_equal((uintptr_t)r->buf & 7, 0);
		h = packet(&bed, opcodes[i / 2], 0);
		h.atomiceth.va = h.reth.va = i % 2 ? 0x10004 : 0x10008;
		h.atomiceth.rkey = h.reth.rkey = r->key;
		h.reth.length = 8;
		net_inject_packet(bed.net, 0, 1, &h, i < 4 ? 0 : 8);
		expect_answer(&bed, 0, ADV_OP_ACKNOWLEDGE, ADV_AETH_NAK | ADV_NAK_INVALID_REQUEST,
			      0);
		for (int k = 0; k < 64; k++)
			assert_int_equal(r->buf[k], 0);
		bed_close(&bed);
	}
}

/* A WRITE is refused if the sum of its packets differs from the length in the RETH. */
static void test_write_of_wrong_length(void **state)
{
	for (int i = 0; i < 4; i++) {
		struct options o = options_default(IBV_QPT_RC);
		struct adv_headers h;
		struct bed bed;

		bed_open_muted(&bed, &o);
		h = packet(&bed, i < 2 ? ADV_OP_WRITE_ONLY : ADV_OP_WRITE_FIRST, 0);
		h.reth.length = i == 0 ? 12 : i == 1 ? 4 : i == 2 ? 1032 : 5000;
		net_inject_packet(bed.net, 0, 1, &h, i < 2 ? 8 : 1024);
		if (i >= 2)
			inject(&bed, ADV_OP_WRITE_LAST, 1, 16);
		net_run(bed.net, MS);
		assert_int_equal(bed.sent[bed.count - 1].h.aeth.syndrome,
				 ADV_AETH_NAK | ADV_NAK_INVALID_REQUEST);
		assert_int_equal(end_state(bed.b), IBV_QPS_ERR);
		expect_pattern(bed.rb, i < 2 ? 0 : 1024, 1000, 2, i < 2 ? 0 : 1024);
		bed_close(&bed);
	}
}

/* Requests of more than 2^31 bytes are refused. */
static void test_huge_lengths(void **state)
{
	static const uint8_t opcodes[] = {ADV_OP_READ_REQUEST, ADV_OP_WRITE_FIRST};

	for (int i = 0; i < 2; i++) {
		struct options o = options_default(IBV_QPT_RC);
		struct adv_headers h;
		struct bed bed;

		bed_open_muted(&bed, &o);
		h = packet(&bed, opcodes[i], 0);
		h.reth.length = 0x80000001;
		net_inject_packet(bed.net, 0, 1, &h, i ? 1024 : 0);
		net_run(bed.net, MS);
		assert_int_equal(bed.sent[0].h.aeth.syndrome,
				 ADV_AETH_NAK | ADV_NAK_INVALID_REQUEST);
		bed_close(&bed);
	}
}

/* Answers are sent in the order of their requests, also if ACKs and responses are mixed. */
static void test_order_of_answers(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct bed bed;

	bed_open_muted(&bed, &o);
	inject(&bed, ADV_OP_WRITE_ONLY, 0, 4);
	inject(&bed, ADV_OP_READ_REQUEST, 1, 1500);
	inject(&bed, ADV_OP_FETCH_ADD, 3, 0);
	inject(&bed, ADV_OP_WRITE_ONLY, 4, 4);
	net_run(bed.net, MS);
	for (unsigned i = 1; i < bed.count; i++)
		assert_true(adv_psn_diff(bed.sent[i].h.bth.psn, bed.sent[i - 1].h.bth.psn) > 0);
	assert_int_equal(bed.sent[bed.count - 1].h.bth.psn, 0x1004);
	assert_int_equal(bed.sent[bed.count - 1].h.aeth.msn, 4);
	bed_close(&bed);
}

/* ---- deregistered regions ---- */

static void test_deregister_under_write(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct bed bed;

	bed_open(&bed, &o);
	end_op(bed.a, IBV_WR_RDMA_WRITE, 1, bed.ra, 0, 16384, bed.rb, 0);
	for (int i = 0; i < 6; i++)
		net_step(bed.net, bed.net->now + MS);
	region_deregister(bed.rb);
	memset(bed.rb->buf, 0x77, 16384);
	net_run(bed.net, SEC);
	expect_send(bed.a, 0, 1, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(net_count_events(&bed.net->node[1], IBV_EVENT_QP_ACCESS_ERR), 1);
	for (int i = 0; i < 16384; i++)
		assert_int_equal(bed.rb->buf[i], 0x77);
	bed_close(&bed);
}

static void test_deregister_under_read(void **state)
{
	for (int local = 0; local < 2; local++) {
		struct options o = options_default(IBV_QPT_RC);
		struct adv_engine_config c = {.seed = {1}, .window = 4};
		struct bed bed;

		memset(&bed, 0, sizeof(bed));
		bed.net = net_open_config(2, &c);
		bed.ra = region_open(&bed.net->node[0], 16384, ALL_ACCESS);
		bed.rb = region_open(&bed.net->node[1], 16384, ALL_ACCESS);
		pair_open(bed.net, &o, &bed.a, &bed.b);
		end_op(bed.a, IBV_WR_RDMA_READ, 1, bed.ra, 0, 16384, bed.rb, 0);
		for (int i = 0; i < 6; i++)
			net_step(bed.net, bed.net->now + MS);
		region_deregister(local ? bed.ra : bed.rb);
		memset(bed.ra->buf, 0x77, 16384);
		net_run(bed.net, SEC);
		expect_send(bed.a, 0, 1, local ? IBV_WC_LOC_PROT_ERR : IBV_WC_REM_ACCESS_ERR);
		for (int i = 0; local && i < 16384; i++)
			assert_int_equal(bed.ra->buf[i], 0x77);
		bed_close(&bed);
	}
}

/* The region is deregistered during a READ, with responses still to send. */
static void test_deregister_under_response(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct bed bed;

	bed_open_muted(&bed, &o);
	inject(&bed, ADV_OP_READ_REQUEST, 0, 8);
	inject(&bed, ADV_OP_READ_REQUEST, 1, 3000);
	region_deregister(bed.rb);
	expect_answer(&bed, 0, ADV_OP_ACKNOWLEDGE, ADV_AETH_NAK | ADV_NAK_REMOTE_ACCESS_ERROR, 0);
	assert_int_equal(end_state(bed.b), IBV_QPS_ERR);
	assert_int_equal(net_count_events(&bed.net->node[1], IBV_EVENT_QP_ACCESS_ERR), 1);
	bed_close(&bed);
}

static void test_deregister_under_send(void **state)
{
	for (int local = 0; local < 2; local++) {
		struct options o = options_default(IBV_QPT_RC);
		struct bed bed;

		bed_open(&bed, &o);
		end_recv(bed.b, 1, bed.rb, 0, 16384);
		for (int i = 0; i < 4; i++)
			end_op(bed.a, IBV_WR_RDMA_WRITE, 10, bed.ra, 0, 16384, bed.rb, 0);
		end_op(bed.a, IBV_WR_SEND, 1, bed.ra, 0, 16384, NULL, 0);
		while (bed.b->qp->resp.message != ADV_MSG_SEND)
			assert_true(net_step(bed.net, bed.net->now + SEC));
		region_deregister(local ? bed.ra : bed.rb);
		net_run(bed.net, SEC);
		if (!local) {
			expect_send(bed.a, 4, 1, IBV_WC_REM_OP_ERR);
			expect_recv(bed.b, 0, 1, IBV_WC_LOC_PROT_ERR);
		} else if (bed.a->sends[4].wc.status != IBV_WC_SUCCESS) {
			/* The request fails unless all of its data was sent before. */
			expect_send(bed.a, 4, 1, IBV_WC_LOC_PROT_ERR);
		}
		bed_close(&bed);
	}
}

static void test_communication_established(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct net *net = net_open(2, 1);
	struct region *ra = region_open(&net->node[0], 64, 0);
	struct region *rb = region_open(&net->node[1], 64, IBV_ACCESS_LOCAL_WRITE);
	struct end *a = end_open(&net->node[0], &o, NULL), *b = end_open(&net->node[1], &o, NULL);

	assert_int_equal(end_to_init(a, &o) | end_to_init(b, &o), 0);
	assert_int_equal(end_to_rtr(a, &o, b, o.psn[1]) | end_to_rtr(b, &o, a, o.psn[0]), 0);
	assert_int_equal(end_to_rts(a, &o, o.psn[0]), 0);
	end_recv(b, 1, rb, 0, 64);
	end_recv(b, 2, rb, 0, 64);
	end_op(a, IBV_WR_SEND, 1, ra, 0, 8, NULL, 0);
	end_op(a, IBV_WR_SEND, 2, ra, 0, 8, NULL, 0);
	net_run(net, SEC);
	/* In RTR messages are received and answered. The event tells the application to move to
	 * RTS. */
	expect_recv(b, 1, 2, IBV_WC_SUCCESS);
	expect_send(a, 1, 2, IBV_WC_SUCCESS);
	assert_int_equal(net_count_events(&net->node[1], IBV_EVENT_COMM_EST), 1);
	assert_int_equal(net_count_events(&net->node[0], IBV_EVENT_COMM_EST), 0);
	net_close(net);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_nak_for_a_gap),
		cmocka_unit_test(test_packets_behind_an_rnr_nak_are_not_lost),
		cmocka_unit_test(test_acks_are_coalesced),
		cmocka_unit_test(test_duplicate_atomic),
		cmocka_unit_test(test_duplicate_read),
		cmocka_unit_test(test_duplicate_send),
		cmocka_unit_test(test_too_many_reads),
		cmocka_unit_test(test_bad_sequences),
		cmocka_unit_test(test_atomic_at_odd_iova),
		cmocka_unit_test(test_write_of_wrong_length),
		cmocka_unit_test(test_huge_lengths),
		cmocka_unit_test(test_order_of_answers),
		cmocka_unit_test(test_deregister_under_write),
		cmocka_unit_test(test_deregister_under_read),
		cmocka_unit_test(test_deregister_under_response),
		cmocka_unit_test(test_deregister_under_send),
		cmocka_unit_test(test_communication_established),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
