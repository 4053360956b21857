/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Long responses to READs: end b reads, end a responds. */
#include "base/array.h"
#include "long_bed.h"
#include "nic/requester/retransmit.h"

/* Posts a READ of a's memory from its start. */
static void read_from_a(uint64_t wr_id, uint32_t length)
{
	end_op(all.b, IBV_WR_RDMA_READ, wr_id, all.rb, 0, length, all.ra, 0);
}

/* One packet carries the whole response, and counts as the packets that it stands for. */
static void test_one_packet(void **state)
{
	for (unsigned i = 0; i < 2; i++) {
		all.away = i;
		memset(all.rb->buf, 0, ROOM);
		read_from_a(i, 64 * KIB - i);
		carry_all();
		assert_int_equal(all.packets, i + 1);
		assert_int_equal(all.longs, i + 1);
		assert_int_equal(all.pulls, i);
		expect_send(all.b, i, i, IBV_WC_SUCCESS);
		expect_pattern(all.rb, 0, 64 * KIB - i, 1, 0);
		assert_int_equal(counters_of(all.a)->tx_packets, 16 * (i + 1));
		assert_int_equal(counters_of(all.b)->rx_packets, 16 * (i + 1));
		assert_int_equal(all.b->qp->req.una_psn, all.a->qp->resp.epsn);
	}
}

/* A response of more than ADV_LONG_MAX bytes, scattered, with a short last packet. */
static void test_scattered(void **state)
{
	for (unsigned i = 0; i < 2; i++) {
		struct wr wr;

		all.away = i;
		memset(all.rb->buf, 0, ROOM);
		wr_make(&wr, IBV_WR_RDMA_READ, i, IBV_SEND_SIGNALED);
		wr_sge(&wr, all.rb, 0, 5000);
		wr_sge(&wr, all.rb, 5000, 260 * KIB);
		wr_remote(&wr, all.ra, 0);
		assert_int_equal(end_send(all.b, &wr), 0);
		carry_all();
		assert_int_equal(all.packets, 2 * (i + 1));
		expect_send(all.b, i, i, IBV_WC_SUCCESS);
		expect_pattern(all.rb, 0, 5000 + 260 * KIB, 1, 0);
	}
	assert_int_equal(all.pulls, 2);
}

/* A response whose payload cannot be read is requested again at once. This uses neither a timer nor
 * a retry, and what comes then is not long. */
static void test_unreadable(void **state)
{
	all.away = true;
	all.refuse = UINT32_MAX;
	for (unsigned i = 0; i < 2; i++) {
		uint64_t start = all.net->now;

		all.longs = all.packets = 0;
		memset(all.rb->buf, 0, ROOM);
		read_from_a(i, 300 * KIB);
		carry_all();
		expect_send(all.b, i, i, IBV_WC_SUCCESS);
		expect_pattern(all.rb, 0, 300 * KIB, 1, 0);
		assert_int_equal(all.longs, 2);
		assert_int_equal(all.packets, 2 + 75);
		assert_true(all.net->now - start < 100 * US);
		assert_int_equal(counters_of(all.b)->local_ack_timeout_err, 0);
		assert_int_equal(counters_of(all.b)->implied_nak_seq_err, i + 1);
	}
	assert_int_equal(all.pulls, 0);
}

/* A lost response is requested again when a later one arrives. */
static void test_lost(void **state)
{
	all.drop = 1;
	read_from_a(1, 64 * KIB);
	end_op(all.b, IBV_WR_RDMA_READ, 2, all.rb, 64 * KIB, 8 * KIB, all.ra, 64 * KIB);
	carry_all();
	expect_send(all.b, 0, 1, IBV_WC_SUCCESS);
	expect_send(all.b, 1, 2, IBV_WC_SUCCESS);
	expect_pattern(all.rb, 0, 72 * KIB, 1, 0);
	assert_int_equal(counters_of(all.b)->implied_nak_seq_err, 1);
}

/* After a timeout the requester requests one packet. A long response from before is complete all
 * the same, and nothing is requested again. */
static void test_late(void **state)
{
	static struct adv_tx_batch batch;
	uint32_t end;

	all.away = true;
	read_from_a(1, 64 * KIB);
	end_op(all.b, IBV_WR_RDMA_READ, 2, all.rb, 64 * KIB, 64 * KIB, all.ra, 64 * KIB);
	assert_int_equal(carry(all.b, all.a), 2);
	end = all.b->qp->req.max_psn;
	assert_int_equal(adv_engine_tx(all.a->node->e, all.net->now, &batch), 2);
	all.net->now += adv_retransmit_timeout_ns(all.b->qp) + US;
	adv_engine_expire(all.b->node->e, all.net->now);
	assert_true(all.b->qp->req.unanswered);
	assert_int_equal(all.b->qp->req.next_psn, all.b->qp->req.una_psn);
	deliver(all.b, &batch.packet[0]);
	assert_int_equal(all.b->qp->req.next_psn, end);
	deliver(all.b, &batch.packet[1]);
	assert_int_equal(all.b->qp->req.next_psn, end);
	assert_int_equal(all.b->qp->req.una_psn, end);
	end_poll(all.b);
	expect_send(all.b, 0, 1, IBV_WC_SUCCESS);
	expect_send(all.b, 1, 2, IBV_WC_SUCCESS);
	expect_pattern(all.rb, 0, 128 * KIB, 1, 0);
}

/* The same, but the late response cannot be read: the timer runs, as nothing is requested now. */
static void test_late_unreadable(void **state)
{
	static struct adv_tx_batch batch;

	all.away = true;
	read_from_a(1, 64 * KIB);
	assert_int_equal(carry(all.b, all.a), 1);
	assert_int_equal(adv_engine_tx(all.a->node->e, all.net->now, &batch), 1);
	all.net->now += adv_retransmit_timeout_ns(all.b->qp) + US;
	adv_engine_expire(all.b->node->e, all.net->now);
	all.refuse = 1;
	deliver(all.b, &batch.packet[0]);
	assert_int_equal(all.refuse, 0);
	assert_true(all.b->qp->req.retransmit_timer.when != ADV_NEVER);
	all.net->now = all.b->qp->req.retransmit_timer.when + US;
	adv_engine_expire(all.b->node->e, all.net->now);
	carry_all();
	expect_send(all.b, 0, 1, IBV_WC_SUCCESS);
	expect_pattern(all.rb, 0, 64 * KIB, 1, 0);
}

/* ---- wrong packets ---- */

/* Delivers a response for all of a READ of 64 KiB, which says that it stands for 1 + more packets
 * of `length` bytes together. */
static void deliver_wrong(uint8_t op, uint32_t length, uint32_t more, bool source)
{
	static uint8_t flat[ADV_HEADERS_MAX + ADV_LONG_MAX + 8192];
	const struct adv_qp *qp = all.b->qp;
	struct adv_rx_meta meta = {.sgid = qp->path.dgid, .dgid = qp->path.sgid, .slot = 2};
	struct adv_headers h = {.bth = {.opcode = op,
					.pkey = ADV_PKEY_DEFAULT,
					.dest_qpn = adv_qp_num(qp),
					.psn = qp->req.una_psn},
				.aeth = {.syndrome = ADV_AETH_ACK | ADV_AETH_NO_CREDITS}};
	struct adv_rx_source from = {pull, length + 4};
	struct adv_rx_packet rx = {
		.meta = &meta, .data = flat, .more = more, .source = source ? &from : NULL};

	rx.len = (uint32_t)adv_headers_encode(&h, flat) + length;
	adv_engine_rx(all.b->node->e, all.net->now, &rx);
}

static void test_wrong_lengths(void **state)
{
	static const struct {
		uint8_t op;
		uint32_t length, more;
		bool source;
		bool malformed; /* else it ends the connection */
	} wrong[] = {
		{ADV_OP_READ_RESPONSE_ONLY, 64 * KIB, 14, false, false},
		{ADV_OP_READ_RESPONSE_ONLY, 64 * KIB, 16, false, false},
		{ADV_OP_READ_RESPONSE_ONLY, 64 * KIB, 0, false, false},
		{ADV_OP_READ_RESPONSE_FIRST, 15 * MTU, 15, false, false},
		{ADV_OP_READ_RESPONSE_FIRST, 17 * MTU, 16, false, false},
		{ADV_OP_READ_RESPONSE_ONLY, 0, 1, false, true},
		{ADV_OP_READ_RESPONSE_ONLY, 64 * KIB, 64, false, true},
		{ADV_OP_READ_RESPONSE_ONLY, ADV_LONG_MAX + 4, 63, false, true},
		{ADV_OP_READ_RESPONSE_ONLY, 64 * KIB, 15, true, true}, /* another length */
		{ADV_OP_ACKNOWLEDGE, 64 * KIB, 15, false, true},
		{ADV_OP_ATOMIC_ACKNOWLEDGE, 64 * KIB, 15, false, true},
		{ADV_OP_READ_REQUEST, 64 * KIB, 15, false, true},
		{ADV_OP_ATOMIC_WRITE, 8, 1, false, true},
	};

	for (unsigned i = 0; i < ADV_ARRAY_SIZE(wrong); i++) {
		memset(all.rb->buf, 7, ROOM);
		read_from_a(1, 64 * KIB);
		read_from_a(2, 64 * KIB);
		assert_int_equal(carry(all.b, all.a), 2);
		deliver_wrong(wrong[i].op, wrong[i].length, wrong[i].more, wrong[i].source);
		end_poll(all.b);
		assert_int_equal(counters_of(all.b)->rx_malformed, wrong[i].malformed);
		if (!wrong[i].malformed)
			expect_send(all.b, 0, 1, IBV_WC_BAD_RESP_ERR);
		for (unsigned k = 0; k < ROOM; k++)
			assert_int_equal(all.rb->buf[k], 7);
		close_ends(state);
		open_rc(state);
	}
}

/* A response never brings more than was requested: here the first of two chunks. */
static void test_more_than_requested(void **state)
{
	all.b->qp->req.read_chunk = 8;
	all.b->qp->req.cwnd = 8;
	read_from_a(1, 64 * KIB);
	assert_int_equal(carry(all.b, all.a), 1);
	deliver_wrong(ADV_OP_READ_RESPONSE_ONLY, 64 * KIB, 15, false);
	end_poll(all.b);
	expect_send(all.b, 0, 1, IBV_WC_BAD_RESP_ERR);
}

/* ---- the responder's memory ---- */

/* The link recalls the payload before the responder's program may use its memory again. */
static void test_recalled(void **state)
{
	all.drop = 1;
	read_from_a(1, 64 * KIB);
	carry(all.b, all.a);
	assert_int_equal(carry(all.a, all.b), 1);
	assert_int_equal(all.recalls, 0);
	assert_int_equal(end_to_state(all.a, IBV_QPS_ERR), 0);
	assert_int_equal(all.recalls, 1);
	region_deregister(all.ra);
	assert_int_equal(all.recalls, 2);
}

/* A response that was recalled because its region was deregistered is requested again, and refused:
 * the READ fails at once, not after the timeouts. */
static void test_recalled_for_good(void **state)
{
	uint64_t start = all.net->now;

	read_from_a(1, 64 * KIB);
	carry(all.b, all.a);
	all.away = true;
	all.refuse = 1;
	assert_int_equal(carry(all.a, all.b), 1);
	region_deregister(all.ra);
	carry_all();
	expect_send(all.b, 0, 1, IBV_WC_REM_ACCESS_ERR);
	assert_true(all.net->now - start < 100 * US);
	assert_int_equal(counters_of(all.b)->local_ack_timeout_err, 0);
}

/* The responder recalls a response, and refuses a later READ. Its queue pair has ended then, so the
 * first READ fails by the same NAK. */
static void test_recalled_and_refused(void **state)
{
	static struct adv_tx_batch batch;

	all.away = true;
	read_from_a(1, 64 * KIB);
	assert_int_equal(carry(all.b, all.a), 1);
	assert_int_equal(adv_engine_tx(all.a->node->e, all.net->now, &batch), 1);
	region_deregister(all.ra);
	read_from_a(2, 64 * KIB);
	assert_int_equal(carry(all.b, all.a), 1);
	all.refuse = 1;
	deliver(all.b, &batch.packet[0]);
	carry_all();
	expect_send(all.b, 0, 1, IBV_WC_REM_ACCESS_ERR);
	expect_send(all.b, 1, 2, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(counters_of(all.b)->local_ack_timeout_err, 0);
}

/* A refused READ ends the responder's queue pair, but not the response before it: its payload is
 * not recalled. */
static void test_refused_behind(void **state)
{
	static struct adv_tx_batch batch;
	struct wr wr;

	all.away = true;
	read_from_a(1, 64 * KIB);
	assert_int_equal(carry(all.b, all.a), 1);
	assert_int_equal(adv_engine_tx(all.a->node->e, all.net->now, &batch), 1);
	wr_make(&wr, IBV_WR_RDMA_READ, 2, IBV_SEND_SIGNALED);
	wr_sge(&wr, all.rb, 0, 64 * KIB);
	wr_remote(&wr, all.ra, 0);
	wr.w.wr.rdma.rkey ^= 1;
	assert_int_equal(end_send(all.b, &wr), 0);
	assert_int_equal(carry(all.b, all.a), 1);
	assert_int_equal(all.recalls, 0);
	deliver(all.b, &batch.packet[0]);
	assert_int_equal(all.pulls, 1);
	carry_all();
	expect_send(all.b, 0, 1, IBV_WC_SUCCESS);
	expect_send(all.b, 1, 2, IBV_WC_REM_ACCESS_ERR);
	expect_pattern(all.rb, 0, 64 * KIB, 1, 0);
	assert_int_equal(end_to_state(all.a, IBV_QPS_RESET), 0);
	assert_int_equal(all.recalls, 1);
}

/* A region that is registered again recalls the responses from its memory. */
static void test_reregistered(void **state)
{
	static struct adv_tx_batch batch;

	all.away = true;
	read_from_a(1, 64 * KIB);
	assert_int_equal(carry(all.b, all.a), 1);
	assert_int_equal(adv_engine_tx(all.a->node->e, all.net->now, &batch), 1);
	assert_int_equal(adv_mr_reregister(all.ra->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0,
					   ALL_ACCESS),
			 0);
	assert_int_equal(all.recalls, 1);
	all.refuse = 1;
	deliver(all.b, &batch.packet[0]);
	carry_all();
	expect_send(all.b, 0, 1, IBV_WC_SUCCESS);
	expect_pattern(all.rb, 0, 64 * KIB, 1, 0);
}

/* Opens a window of a's memory with a key that b may use. */
static struct adv_mw *open_window(enum ibv_mw_type type, struct region *r, uint32_t *key)
{
	struct adv_mw *mw = adv_mw_create(all.net->node[0].pd, type);
	struct ibv_mr mr = {.lkey = r->key};
	struct ibv_mw ibv = {.type = type, .rkey = adv_mw_rkey(mw)};
	struct wr wr;

	*key = (ibv.rkey & ~0xffu) | ((ibv.rkey + 1) & 0xff);
	wr_make(&wr, type == IBV_MW_TYPE_2 ? IBV_WR_BIND_MW : (int)ADV_WR_BIND_TYPE_1, 1, 0);
	wr.w.bind_mw.mw = &ibv;
	wr.w.bind_mw.rkey = *key;
	wr.w.bind_mw.bind_info =
		(struct ibv_mw_bind_info){.mr = &mr,
					  .addr = r->iova,
					  .length = ROOM,
					  .mw_access_flags = IBV_ACCESS_REMOTE_READ};
	assert_int_equal(end_send(all.a, &wr), 0);
	carry_all();
	return mw;
}

/* Reads through a window. */
static void read_window(uint64_t wr_id, uint32_t key)
{
	struct wr wr;

	wr_make(&wr, IBV_WR_RDMA_READ, wr_id, IBV_SEND_SIGNALED);
	wr_sge(&wr, all.rb, 0, 64 * KIB);
	wr.w.wr.rdma.remote_addr = all.ra->iova;
	wr.w.wr.rdma.rkey = key;
	assert_int_equal(end_send(all.b, &wr), 0);
}

/* So does the end of a window of type 2. */
static void test_window(void **state)
{
	struct region *ra = region_open(&all.net->node[0], ROOM, ALL_ACCESS | IBV_ACCESS_MW_BIND);
	struct adv_mw *mw;
	struct wr wr;
	uint32_t key;

	all.ra = ra;
	region_fill(ra, 1);
	mw = open_window(IBV_MW_TYPE_2, ra, &key);
	read_window(1, key);
	carry_all();
	assert_int_equal(all.longs, 1);
	expect_send(all.b, 0, 1, IBV_WC_SUCCESS);
	expect_pattern(all.rb, 0, 64 * KIB, 1, 0);
	assert_int_equal(all.recalls, 0);
	wr_make(&wr, IBV_WR_LOCAL_INV, 2, 0);
	wr.w.invalidate_rkey = key;
	assert_int_equal(end_send(all.a, &wr), 0);
	carry_all();
	assert_int_equal(all.recalls, 1);
	assert_false(all.locked);
	adv_mw_destroy(mw);
	assert_int_equal(all.recalls, 1);
}

/* A bound window that is deallocated recalls, and a queue pair does so once for all of its windows.
 */
static void test_window_gone(void **state)
{
	const int access = ALL_ACCESS | IBV_ACCESS_MW_BIND;
	struct region *ra = region_open(&all.net->node[0], ROOM, access);
	struct adv_mw *one, *two;
	uint32_t key;

	all.ra = ra;
	one = open_window(IBV_MW_TYPE_2, ra, &key);
	read_window(1, key);
	carry_all();
	two = open_window(IBV_MW_TYPE_2, ra, &key);
	assert_int_equal(all.recalls, 0);
	adv_mw_destroy(one);
	assert_int_equal(all.recalls, 1);
	assert_int_equal(end_to_state(all.a, IBV_QPS_RESET), 0);
	assert_int_equal(all.recalls, 2);
	adv_mw_destroy(two);
	assert_int_equal(all.recalls, 2);
	assert_false(all.locked);
}

static bool page_in(void *addr, uint64_t length, bool to_write)
{
	return true;
}

/* Reads 64 KiB by packets of the MTU. */
static void expect_short(struct region *from, uint32_t key, unsigned n)
{
	region_fill(from, 1);
	memset(all.rb->buf, 0, ROOM);
	all.ra = from;
	read_window(n, key);
	carry_all();
	expect_send(all.b, n, n, IBV_WC_SUCCESS);
	expect_pattern(all.rb, 0, 64 * KIB, 1, 0);
	assert_int_equal(all.longs, 0);
}

/* Responses are not long if their memory is paged or in a window of type 1, or if the peer is on
 * another machine. */
static void test_never_long(void **state)
{
	const int access = ALL_ACCESS | IBV_ACCESS_MW_BIND;
	struct region *ra = region_open(&all.net->node[0], ROOM, access), *paged;
	struct adv_mw *mw;
	uint32_t key;

	all.a->node->e->page_in = page_in;
	paged = region_open(&all.net->node[0], ROOM, access | IBV_ACCESS_ON_DEMAND);
	mw = open_window(IBV_MW_TYPE_1, ra, &key);
	expect_short(ra, key, 0);
	expect_short(paged, paged->key, 1);
	all.a->qp->peer_is_here = false;
	expect_short(ra, ra->key, 2);
	all.a->qp->peer_is_here = true;
	adv_mw_destroy(mw);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_one_packet, open_rc, close_ends),
		cmocka_unit_test_setup_teardown(test_scattered, open_rc, close_ends),
		cmocka_unit_test_setup_teardown(test_unreadable, open_without_retries, close_ends),
		cmocka_unit_test_setup_teardown(test_lost, open_rc, close_ends),
		cmocka_unit_test_setup_teardown(test_late, open_rc, close_ends),
		cmocka_unit_test_setup_teardown(test_late_unreadable, open_rc, close_ends),
		cmocka_unit_test_setup_teardown(test_wrong_lengths, open_rc, close_ends),
		cmocka_unit_test_setup_teardown(test_more_than_requested, open_rc, close_ends),
		cmocka_unit_test_setup_teardown(test_recalled, open_rc, close_ends),
		cmocka_unit_test_setup_teardown(test_recalled_for_good, open_rc, close_ends),
		cmocka_unit_test_setup_teardown(test_recalled_and_refused, open_rc, close_ends),
		cmocka_unit_test_setup_teardown(test_refused_behind, open_rc, close_ends),
		cmocka_unit_test_setup_teardown(test_reregistered, open_rc, close_ends),
		cmocka_unit_test_setup_teardown(test_window, open_rc, close_ends),
		cmocka_unit_test_setup_teardown(test_window_gone, open_rc, close_ends),
		cmocka_unit_test_setup_teardown(test_never_long, open_rc, close_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
