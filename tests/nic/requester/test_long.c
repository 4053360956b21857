/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Long packets: one packet in place of many, with its payload in the packet or at the sender. */
#include "long_bed.h"

/* One packet carries a whole message, and counts as the packets that it stands for. */
static void test_one_packet(void **state)
{
	for (unsigned i = 0; i < 2; i++) {
		all.away = i;
		end_op(all.a, IBV_WR_RDMA_WRITE, i, all.ra, 0, 64 * KIB - i, all.rb, i * 64 * KIB);
		carry_all();
		assert_int_equal(all.packets, i + 1);
		assert_int_equal(all.longs, i + 1);
		assert_int_equal(all.pulls, i);
		expect_send(all.a, i, i, IBV_WC_SUCCESS);
		expect_pattern(all.rb, i * 64 * KIB, 64 * KIB - i, 1, 0);
		assert_int_equal(counters_of(all.a)->tx_packets, 16 * (i + 1));
		assert_int_equal(counters_of(all.b)->rx_packets, 16 * (i + 1));
		assert_int_equal(all.a->qp->req.next_psn, all.b->qp->resp.epsn);
	}
}

/* A message of more than ADV_LONG_MAX bytes, gathered and scattered, with a short last packet. */
static void test_scattered(void **state)
{
	struct ibv_sge to[] = {
		{(uintptr_t)all.rb->buf, 100, all.rb->key},
		{(uintptr_t)all.rb->buf + 4096, 0, all.rb->key},
		{(uintptr_t)all.rb->buf + 100, 300 * KIB, all.rb->key},
	};

	for (unsigned i = 0; i < 2; i++) {
		struct wr wr;

		all.away = i;
		memset(all.rb->buf, 0, ROOM);
		assert_int_equal(end_recv_sges(all.b, i, to, 3), 0);
		wr_make(&wr, IBV_WR_SEND, i, IBV_SEND_SIGNALED);
		wr_sge(&wr, all.ra, 0, 5000);
		wr_sge(&wr, all.ra, 5000, 260 * KIB);
		assert_int_equal(end_send(all.a, &wr), 0);
		carry_all();
		expect_send(all.a, i, i, IBV_WC_SUCCESS);
		expect_recv(all.b, i, i, IBV_WC_SUCCESS);
		assert_int_equal(all.b->recvs[i].wc.byte_len, 5000 + 260 * KIB);
		expect_pattern(all.rb, 0, 5000 + 260 * KIB, 1, 0);
	}
	assert_int_equal(all.pulls, 2);
}

/* Payload that cannot be read is a lost packet: the peer learns of it at once, without a timer. */
static void test_unreadable(void **state)
{
	static const int opcodes[] = {IBV_WR_RDMA_WRITE, IBV_WR_SEND, IBV_WR_RDMA_WRITE_WITH_IMM};

	all.away = true;
	for (unsigned i = 0; i < 3; i++) {
		uint64_t start = all.net->now;

		if (i)
			end_recv(all.b, i, all.rb, 0, ROOM);
		all.refuse = 1;
		end_op(all.a, opcodes[i], i, all.ra, 0, 300 * KIB, all.rb, 0);
		carry_all();
		expect_send(all.a, i, i, IBV_WC_SUCCESS);
		expect_pattern(all.rb, 0, 300 * KIB, 1, 0);
		assert_true(all.net->now - start < 100 * US);
		assert_int_equal(counters_of(all.a)->local_ack_timeout_err, 0);
		assert_int_equal(counters_of(all.a)->packet_seq_err, i + 1);
		memset(all.rb->buf, 0, ROOM);
	}
	assert_int_equal(all.b->recv_count, 2);
}

/* Payload that cannot be read costs no retry. The packets that are sent in its place are not long,
 * so that a second failure cannot follow before the peer has received something. */
static void test_unreadable_without_retries(void **state)
{
	static const int opcodes[] = {IBV_WR_RDMA_WRITE, IBV_WR_SEND};

	all.away = true;
	all.refuse = UINT32_MAX;
	for (unsigned i = 0; i < 2; i++) {
		if (i)
			end_recv(all.b, i, all.rb, 0, ROOM);
		all.longs = 0;
		end_op(all.a, opcodes[i], i, all.ra, 0, 256 * KIB, all.rb, 0);
		carry_all();
		expect_send(all.a, i, i, IBV_WC_SUCCESS);
		expect_pattern(all.rb, 0, 256 * KIB, 1, 0);
		assert_int_equal(all.longs, 1);
		assert_int_equal(counters_of(all.a)->packet_seq_err, i + 1);
		memset(all.rb->buf, 0, ROOM);
	}
	assert_int_equal(counters_of(all.a)->local_ack_timeout_err, 0);
}

/* Any other NAK uses a retry, also of a QP that has sent long packets. */
static void test_loss_without_retries(void **state)
{
	end_op(all.a, IBV_WR_RDMA_WRITE, 1, all.ra, 0, 64 * KIB, all.rb, 0);
	carry_all();
	assert_int_equal(all.longs, 1);
	expect_send(all.a, 0, 1, IBV_WC_SUCCESS);
	all.drop_short = 1;
	end_op(all.a, IBV_WR_RDMA_WRITE, 2, all.ra, 0, 8, all.rb, 0);
	end_op(all.a, IBV_WR_RDMA_WRITE, 3, all.ra, 0, 8, all.rb, 0);
	carry_all();
	expect_send(all.a, 1, 2, IBV_WC_RETRY_EXC_ERR);
}

/* The requester cuts a message differently when it sends it again. The responder has the first part
 * of such a packet already, and requests the rest. */
static void test_partly_received(void **state)
{
	struct adv_requester *req = &all.a->qp->req;

	req->cwnd = 8;
	end_op(all.a, IBV_WR_RDMA_WRITE, 1, all.ra, 0, 64 * KIB, all.rb, 0);
	assert_int_equal(carry(all.a, all.b), 1); /* 8 packets; its ACK is late */
	req->cwnd = 256;
	all.a->qp->sq.next = all.a->qp->sq.tail;
	req->offset = 0;
	all.a->node->e->in_flight -= (req->next_psn - req->una_psn) & ADV_PSN_MASK;
	req->next_psn = req->una_psn;
	adv_qp_schedule(all.a->qp);
	assert_int_equal(carry(all.a, all.b), 1); /* all 16 */
	assert_int_equal(carry(all.b, all.a), 1);
	assert_int_equal(all.last.aeth.syndrome, ADV_AETH_NAK | ADV_NAK_PSN_SEQUENCE_ERROR);
	assert_int_equal(all.last.bth.psn, all.b->qp->resp.epsn);
	assert_int_equal(all.b->qp->resp.offset, 8 * MTU);
	carry_all();
	expect_send(all.a, 0, 1, IBV_WC_SUCCESS);
	expect_pattern(all.rb, 0, 64 * KIB, 1, 0);
}

static void test_lost_in_the_middle(void **state)
{
	all.drop = 1;
	end_op(all.a, IBV_WR_RDMA_WRITE, 1, all.ra, 0, 256 * KIB, all.rb, 0);
	end_op(all.a, IBV_WR_RDMA_WRITE, 2, all.ra, 0, 8 * KIB, all.rb, 300 * KIB);
	carry_all();
	expect_send(all.a, 0, 1, IBV_WC_SUCCESS);
	expect_send(all.a, 1, 2, IBV_WC_SUCCESS);
	expect_pattern(all.rb, 0, 256 * KIB, 1, 0);
	expect_pattern(all.rb, 300 * KIB, 8 * KIB, 1, 0);
}

/* The key and the bounds decide before any byte is read or placed. */
static void test_refused(void **state)
{
	all.away = true;
	memset(all.rb->buf, 7, ROOM);
	region_deregister(all.rb);
	end_op(all.a, IBV_WR_RDMA_WRITE, 1, all.ra, 0, 64 * KIB, all.rb, 0);
	carry_all();
	expect_send(all.a, 0, 1, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(all.pulls, 0);
	for (unsigned i = 0; i < ROOM; i++)
		assert_int_equal(all.rb->buf[i], 7);
}

/* Delivers a WRITE of `packets` x MTU bytes whose packet says that it stands for 1 + more. */
static void deliver_wrong(uint32_t length, uint32_t more, bool source)
{
	static uint8_t flat[ADV_HEADERS_MAX + ADV_LONG_MAX + 8192];
	const struct adv_qp *qp = all.b->qp;
	struct adv_rx_meta meta = {.sgid = qp->path.dgid, .dgid = qp->path.sgid, .slot = 2};
	struct adv_headers h = {.bth = {.opcode = ADV_OP_WRITE_ONLY,
					.pkey = ADV_PKEY_DEFAULT,
					.dest_qpn = adv_qp_num(qp),
					.psn = qp->resp.epsn,
					.ackreq = true},
				.reth = {(uintptr_t)all.rb->buf, all.rb->key, length}};
	struct adv_rx_source from = {pull, length + 4};
	struct adv_rx_packet rx = {
		.meta = &meta, .data = flat, .more = more, .source = source ? &from : NULL};

	rx.len = (uint32_t)adv_headers_encode(&h, flat) + length;
	adv_engine_rx(all.b->node->e, all.net->now, &rx);
}

static void test_wrong_lengths(void **state)
{
	static const struct {
		uint32_t length, more;
		bool source;
		bool malformed; /* else it is refused with a NAK */
	} wrong[] = {
		{64 * KIB, 14, false, false},
		{64 * KIB, 16, false, false},
		{64 * KIB, 0, false, false},
		{15 * MTU, 15, false, false},
		{0, 1, false, true},
		{64 * KIB, 64, false, true},
		{ADV_LONG_MAX + 4, 63, false, true},
		{64 * KIB, 15, true, true}, /* the source has another length */
	};

	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		memset(all.rb->buf, 7, ROOM);
		deliver_wrong(wrong[i].length, wrong[i].more, wrong[i].source);
		assert_int_equal(counters_of(all.b)->rx_malformed, wrong[i].malformed);
		assert_int_equal(end_state(all.b), wrong[i].malformed ? IBV_QPS_RTS : IBV_QPS_ERR);
		for (unsigned k = 0; k < ROOM; k++)
			assert_int_equal(all.rb->buf[k], 7);
		close_ends(state);
		open_rc(state);
	}
}

/* The link recalls payload before the program may use its memory again. */
static void test_recalled(void **state)
{
	all.drop = 1;
	end_op(all.a, IBV_WR_RDMA_WRITE, 1, all.ra, 0, 64 * KIB, all.rb, 0);
	assert_int_equal(carry(all.a, all.b), 1);
	assert_int_equal(all.recalls, 0);
	assert_int_equal(end_to_state(all.a, IBV_QPS_ERR), 0);
	assert_int_equal(all.recalls, 1);
	end_poll(all.a);
	expect_send(all.a, 0, 1, IBV_WC_WR_FLUSH_ERR);
	region_deregister(all.ra);
	assert_int_equal(all.recalls, 2);
}

/* Only requests whose memory stays unchanged until the acknowledgement use long packets. */
static void test_never_long(void **state)
{
	close_ends(state);
	open_ends(state, IBV_QPT_UC, 7);
	end_op(all.a, IBV_WR_RDMA_WRITE, 1, all.ra, 0, 64 * KIB, all.rb, 0);
	carry_all();
	assert_int_equal(all.packets, 16);
	assert_int_equal(all.longs, 0);
	expect_pattern(all.rb, 0, 64 * KIB, 1, 0);
	close_ends(state);
	open_rc(state);
	all.a->qp->peer_is_here = false;
	end_op(all.a, IBV_WR_RDMA_WRITE, 1, all.ra, 0, 64 * KIB, all.rb, 0);
	carry_all();
	assert_int_equal(all.packets, 16);
	assert_int_equal(all.longs, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_one_packet, open_rc, close_ends),
		cmocka_unit_test_setup_teardown(test_scattered, open_rc, close_ends),
		cmocka_unit_test_setup_teardown(test_unreadable, open_rc, close_ends),
		cmocka_unit_test_setup_teardown(test_unreadable_without_retries,
						open_without_retries, close_ends),
		cmocka_unit_test_setup_teardown(test_loss_without_retries, open_without_retries,
						close_ends),
		cmocka_unit_test_setup_teardown(test_partly_received, open_rc, close_ends),
		cmocka_unit_test_setup_teardown(test_lost_in_the_middle, open_rc, close_ends),
		cmocka_unit_test_setup_teardown(test_refused, open_rc, close_ends),
		cmocka_unit_test_setup_teardown(test_wrong_lengths, open_rc, close_ends),
		cmocka_unit_test_setup_teardown(test_recalled, open_rc, close_ends),
		cmocka_unit_test_setup_teardown(test_never_long, open_rc, close_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
