/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests the requester: retries and their times, RNR NAKs, windows, fences, limits of READs. */
#include "requester_bed.h"

static bool lose_all(const struct wire *w)
{
	return true;
}

static bool lose_none(const struct wire *w)
{
	return false;
}

static bool lose_answers(const struct wire *w)
{
	return w->from == 1;
}

/*
 * If the peer does not answer, there are retry_cnt retries, each after 4.096 us x 2^timeout. Then
 * the request fails: after 8.2 us with timeout 1 and no retry, after 19.5 hours with timeout 31 and
 * 7 retries.
 */
static void test_retries_exceeded(void **state)
{
	for (uint8_t timeout = 1; timeout <= 31; timeout++) {
		for (uint8_t retries = 0; retries <= 7; retries++) {
			struct options o = options_default(IBV_QPT_RC);
			uint64_t period = 4096ull << timeout, start;
			struct bed bed;

			o.timeout = timeout;
			o.retry_cnt = retries;
			bed_open(&bed, &o);
			bed.log.lose = lose_all;
			start = bed.net->now;
			end_op(bed.a, IBV_WR_RDMA_WRITE, 1, bed.ra, 0, 10, bed.rb, 0);
			end_op(bed.a, IBV_WR_SEND, 2, bed.ra, 0, 10, NULL, 0);
			net_run(bed.net, 100000 * SEC);
			assert_int_equal(bed.a->send_count, 2);
			expect_send(bed.a, 0, 1, IBV_WC_RETRY_EXC_ERR);
			assert_int_equal(bed.a->sends[0].wc.vendor_err, ADV_ERR_TIMEOUT);
			expect_send(bed.a, 1, 2, IBV_WC_WR_FLUSH_ERR);
			assert_int_equal(bed.a->sends[0].time, start + (retries + 1) * period);
			assert_int_equal(count_sent(&bed, 0, ADV_OP_WRITE_ONLY), retries + 1u);
			for (unsigned i = 0; i < bed.log.count; i++)
				assert_int_equal((bed.log.w[i].sent - start) % period, 0);
			assert_int_equal(end_state(bed.a), IBV_QPS_ERR);
			assert_int_equal(counters(&bed, 0)->local_ack_timeout_err, retries + 1u);
			assert_int_equal(counters(&bed, 0)->req_transport_retries_exceeded, 1);
			bed_close(&bed);
		}
	}
}

/* Progress restores all retries. */
static void test_progress_restores_retries(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct bed bed;

	o.retry_cnt = 1;
	bed_open(&bed, &o);
	for (unsigned i = 0; i < 5; i++) {
		bed.log.lose = lose_all;
		end_op(bed.a, IBV_WR_RDMA_WRITE, i, bed.ra, 0, 10, bed.rb, 0);
		net_run(bed.net, MS);
		bed.log.lose = lose_none;
		net_until(bed.net, bed.a, i + 1, 0, SEC);
		expect_send(bed.a, i, i, IBV_WC_SUCCESS);
	}
	bed_close(&bed);
}

/* With timeout 0 there is no timer and a lost packet is not retransmitted. The answer to a later
 * packet reveals the loss. */
static void test_no_timeout(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct bed bed;

	o.timeout = 0;
	bed_open(&bed, &o);
	bed.log.lose = lose_all;
	end_op(bed.a, IBV_WR_RDMA_WRITE, 1, bed.ra, 0, 10, bed.rb, 0);
	net_run(bed.net, 3600 * SEC);
	assert_int_equal(bed.log.count, 1);
	assert_int_equal(bed.a->send_count, 0);
	bed.log.lose = lose_none;
	end_op(bed.a, IBV_WR_RDMA_WRITE, 2, bed.ra, 0, 10, bed.rb, 100);
	net_until(bed.net, bed.a, 2, 0, SEC);
	expect_send(bed.a, 0, 1, IBV_WC_SUCCESS);
	expect_send(bed.a, 1, 2, IBV_WC_SUCCESS);
	bed_close(&bed);
}

/* If answers are lost, requests are retransmitted, and executed only once. */
static void test_answers_lost(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	uint64_t v;
	struct bed bed;

	bed_open(&bed, &o);
	memset(bed.rb->buf, 0, 8);
	bed.log.lose = lose_answers;
	end_op(bed.a, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, bed.ra, 0, 8, bed.rb, 0);
	net_run(bed.net, 15 * MS);
	bed.log.lose = lose_none;
	net_until(bed.net, bed.a, 1, 0, SEC);
	memcpy(&v, bed.rb->buf, 8);
	assert_true(count_sent(&bed, 0, ADV_OP_FETCH_ADD) > 2);
	assert_int_equal(counters(&bed, 1)->rx_atomic_requests, 1);
	assert_int_equal(counters(&bed, 1)->duplicate_request,
			 count_sent(&bed, 0, ADV_OP_FETCH_ADD) - 1);
	bed_close(&bed);
}

/*
 * Returns the number of timeouts until the i-th retransmission: after 1, 2 and 4 timeouts in the
 * first retry, then one for each retry in the first half of the retries, then one for each timeout.
 */
static unsigned expiry(unsigned i, unsigned ticks, unsigned retries)
{
	unsigned at = 0, eager = (retries - retries / 2) * ticks;

	while (i--) {
		if (at >= eager)
			at++;
		else if (at >= ticks)
			at += ticks;
		else
			at += at == 0 ? 1 : at < ticks - at ? at : ticks - at;
	}
	return at;
}

/* Checks the times of retries that last `ticks` timeouts, up to 4 (IBTA 9.7.6.1.3). */
static void retry_of(uint8_t ticks, uint8_t retries)
{
	struct adv_engine_config c = {.seed = {1}, .timeout_ticks = ticks};
	struct options o = options_default(IBV_QPT_RC);
	uint64_t period = 4096ull << o.timeout, start;
	unsigned all = ticks * (retries + 1u);
	struct bed bed;

	o.retry_cnt = retries;
	bed_open_config(&bed, &o, &c);
	bed.log.lose = lose_all;
	start = bed.net->now;
	end_op(bed.a, IBV_WR_RDMA_WRITE, 1, bed.ra, 0, 10, bed.rb, 0);
	net_run(bed.net, 100 * SEC);
	expect_send(bed.a, 0, 1, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(bed.a->sends[0].time, start + all * period);
	for (unsigned i = 0; i < bed.log.count; i++)
		assert_int_equal(bed.log.w[i].sent, start + expiry(i, ticks, retries) * period);
	assert_int_equal(expiry(bed.log.count, ticks, retries), all);
	bed_close(&bed);
}

static void test_retry_of_several_timeouts(void **state)
{
	for (uint8_t ticks = 1; ticks <= 4; ticks++)
		for (uint8_t retries = 0; retries <= 7; retries++)
			retry_of(ticks, retries);
}

/* ---- RNR ---- */

/* Times of table 46 of IBTA 9.7.5.2.8, in units of 10 us. */
static const uint32_t rnr_table[32] = {65536, 1,    2,	  3,	 4,	6,     8,     12,
				       16,    24,   32,	  48,	 64,	96,    128,   192,
				       256,   384,  512,  768,	 1024,	1536,  2048,  3072,
				       4096,  6144, 8192, 12288, 16384, 24576, 32768, 49152};

static void rnr_retries(uint8_t timer, uint8_t retries)
{
	struct options o = options_default(IBV_QPT_RC);
	uint64_t period = rnr_table[timer] * 10000ull + 2 * NET_DELAY, start;
	struct bed bed;

	o.min_rnr_timer = timer;
	o.rnr_retry = retries;
	bed_open(&bed, &o);
	start = bed.net->now;
	end_op(bed.a, IBV_WR_SEND, 1, bed.ra, 0, 10, NULL, 0);
	net_run(bed.net, 100 * SEC);
	assert_int_equal(bed.a->send_count, 1);
	expect_send(bed.a, 0, 1, IBV_WC_RNR_RETRY_EXC_ERR);
	assert_int_equal(bed.a->sends[0].wc.vendor_err, ADV_ERR_RNR_RETRIES);
	assert_int_equal(bed.a->sends[0].time, start + retries * period + 2 * NET_DELAY);
	assert_int_equal(count_sent(&bed, 0, ADV_OP_SEND_ONLY), retries + 1u);
	assert_int_equal(counters(&bed, 1)->rnr_nak_sent, retries + 1u);
	assert_int_equal(counters(&bed, 1)->out_of_buffer, retries + 1u);
	assert_int_equal(counters(&bed, 0)->rnr_nak_retry_err, retries + 1u);
	assert_int_equal(counters(&bed, 0)->req_rnr_retries_exceeded, 1);
	assert_int_equal(counters(&bed, 0)->local_ack_timeout_err, 0);
	/* The responder is not in error. */
	assert_int_equal(end_state(bed.b), IBV_QPS_RTS);
	bed_close(&bed);
}

/* After RNR NAKs there are rnr_retry retries, each after the responder's time. Then the request
 * fails. */
static void test_rnr_retries_exceeded(void **state)
{
	for (uint8_t timer = 0; timer < 32; timer++)
		for (uint8_t retries = 0; retries < 7; retries++)
			rnr_retries(timer, retries);
}

/* rnr_retry 7 means unlimited retries: after a hundred times the RNR time the request is still sent
 * again. */
static void test_rnr_for_ever(void **state)
{
	for (uint8_t timer = 0; timer < 32; timer++) {
		struct options o = options_default(IBV_QPT_RC);
		uint64_t period = rnr_table[timer] * 10000ull + 2 * NET_DELAY;
		struct bed bed;

		o.rnr_retry = 7;
		o.min_rnr_timer = timer;
		bed_open(&bed, &o);
		end_op(bed.a, IBV_WR_SEND, 1, bed.ra, 0, 3000, NULL, 0);
		net_run(bed.net, 100 * period);
		assert_int_equal(bed.a->send_count, 0);
		assert_int_equal(counters(&bed, 1)->rnr_nak_sent, 100);
		end_recv(bed.b, 2, bed.rb, 0, 4096);
		net_until(bed.net, bed.a, 1, 0, 2 * period);
		expect_send(bed.a, 0, 1, IBV_WC_SUCCESS);
		expect_recv(bed.b, 0, 2, IBV_WC_SUCCESS);
		expect_pattern(bed.rb, 0, 3000, 1, 0);
		bed_close(&bed);
	}
}

/* If the receive request is posted while the requester waits, the message arrives. The count of
 * retries restarts with each message. */
static void test_rnr_recovery(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct bed bed;

	o.rnr_retry = 2;
	o.min_rnr_timer = 14; /* 1.28 ms */
	bed_open(&bed, &o);
	for (unsigned i = 0; i < 4; i++) {
		end_op(bed.a, i % 2 ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_SEND, i, bed.ra, i * 3000,
		       3000, bed.rb, i * 4096);
		net_run(bed.net, 2 * MS);
		end_recv(bed.b, i, bed.rb, i * 4096, 4096);
		net_until(bed.net, bed.a, i + 1, i + 1 > 4, SEC);
		expect_send(bed.a, i, i, IBV_WC_SUCCESS);
		expect_recv(bed.b, i, i, IBV_WC_SUCCESS);
		expect_pattern(bed.rb, i * 4096, 3000, 1, i * 3000);
	}
	bed_close(&bed);
}

/* A WRITE with immediate is counted as one request, even if it is sent several times before a
 * receive request is posted. */
static void test_rnr_counts_a_request_once(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct bed bed;

	o.rnr_retry = 7;
	o.min_rnr_timer = 14; /* 1.28 ms */
	bed_open(&bed, &o);
	for (unsigned i = 0; i < 4; i++) {
		uint32_t length = i % 2 ? 100 : 3000; /* one packet, several */

		end_op(bed.a, IBV_WR_RDMA_WRITE_WITH_IMM, i, bed.ra, 0, length, bed.rb, 0);
		net_run(bed.net, 10 * MS);
		assert_true(counters(&bed, 1)->rnr_nak_sent >= 5 * (i + 1));
		end_recv(bed.b, i, NULL, 0, 0);
		net_until(bed.net, bed.a, i + 1, i + 1 > 4, SEC);
		expect_send(bed.a, i, i, IBV_WC_SUCCESS);
		expect_recv(bed.b, i, i, IBV_WC_SUCCESS);
		assert_int_equal(counters(&bed, 1)->rx_write_requests, i + 1);
	}
	bed_close(&bed);
}

/* After an RNR NAK nothing is sent until the time is over, even if requests are posted. */
static void test_silence_while_waiting(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	unsigned before;
	struct bed bed;

	o.min_rnr_timer = 0; /* 655.36 ms */
	bed_open(&bed, &o);
	end_op(bed.a, IBV_WR_SEND, 1, bed.ra, 0, 1, NULL, 0);
	net_run(bed.net, MS);
	before = bed.log.count;
	end_op(bed.a, IBV_WR_RDMA_WRITE, 2, bed.ra, 0, 1, bed.rb, 0);
	net_run(bed.net, 600 * MS);
	assert_int_equal(bed.log.count, before);
	end_recv(bed.b, 1, NULL, 0, 0);
	end_recv(bed.b, 2, NULL, 0, 0);
	bed_close(&bed);
}

/* ---- limits of outstanding requests ---- */

/* The outstanding READs and atomics reach max_rd_atomic and never exceed it. */
static void test_read_throttling(void **state)
{
	for (uint8_t limit = 1; limit <= 8; limit++) {
		struct options o = options_default(IBV_QPT_RC);
		unsigned outstanding = 0, most = 0;
		struct bed bed;

		o.max_rd_atomic = limit;
		o.max_dest_rd_atomic = 16;
		bed_open(&bed, &o);
		for (unsigned i = 0; i < 40; i++)
			end_op(bed.a, i % 3 ? IBV_WR_RDMA_READ : IBV_WR_ATOMIC_FETCH_AND_ADD, i,
			       bed.ra, 8 * i, 8, bed.rb, 8 * i);
		net_until(bed.net, bed.a, 40, 0, SEC);
		for (unsigned i = 0; i < bed.log.count; i++) {
			outstanding += bed.log.w[i].from == 0 ? 1 : -1u;
			most = outstanding > most ? outstanding : most;
		}
		/* The hook sees a response when it is sent; the next request may follow when it
		 * arrives. */
		assert_int_equal(most, limit);
		bed_close(&bed);
	}
}

/* max_rd_atomic is 0: a READ can never be sent. */
static void test_read_without_resources(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct bed bed;

	o.max_rd_atomic = 0;
	bed_open(&bed, &o);
	end_op(bed.a, IBV_WR_RDMA_WRITE, 1, bed.ra, 0, 8, bed.rb, 0);
	end_op(bed.a, IBV_WR_RDMA_READ, 2, bed.ra, 0, 8, bed.rb, 0);
	net_run(bed.net, SEC);
	expect_send(bed.a, 0, 1, IBV_WC_SUCCESS);
	expect_send(bed.a, 1, 2, IBV_WC_LOC_QP_OP_ERR);
	assert_int_equal(count_sent(&bed, 0, ADV_OP_READ_REQUEST), 0);
	bed_close(&bed);
}

/* A fenced request is sent when the READs before it are answered. A request without fence is sent
 * at once. */
static void test_fence(void **state)
{
	for (int fence = 0; fence < 2; fence++) {
		struct options o = options_default(IBV_QPT_RC);
		uint64_t response = 0, write = 0;
		struct bed bed;
		struct wr wr;

		bed_open(&bed, &o);
		end_op(bed.a, IBV_WR_RDMA_READ, 1, bed.ra, 0, 8, bed.rb, 0);
		wr_make(&wr, IBV_WR_RDMA_WRITE, 2, fence ? IBV_SEND_FENCE : 0);
		wr_sge(&wr, bed.ra, 0, 8);
		wr_remote(&wr, bed.rb, 0);
		assert_int_equal(end_send(bed.a, &wr), 0);
		net_until(bed.net, bed.a, 2, 0, SEC);
		for (unsigned i = 0; i < bed.log.count; i++) {
			if (bed.log.w[i].h.bth.opcode == ADV_OP_READ_RESPONSE_ONLY)
				response = bed.log.w[i].sent;
			if (bed.log.w[i].h.bth.opcode == ADV_OP_WRITE_ONLY)
				write = bed.log.w[i].sent;
		}
		assert_true(fence ? write == response + NET_DELAY : write < response);
		/* With the fence, the WRITE sends the bytes that the READ fetched. */
		if (fence)
			assert_memory_equal(bed.ra->buf, bed.rb->buf, 8);
		bed_close(&bed);
	}
}

/* The unacknowledged packets reach the window and never exceed it. */
static void test_window(void **state)
{
	struct adv_engine_config c = {.seed = {1}, .window = 8};
	struct options o = options_default(IBV_QPT_RC);
	uint32_t start = o.psn[0], most = 0;
	struct bed bed;

	bed_open_config(&bed, &o, &c);
	for (unsigned i = 0; i < 4; i++)
		end_op(bed.a, IBV_WR_RDMA_WRITE, i, bed.ra, 0, 50000, bed.rb, 0);
	net_until(bed.net, bed.a, 4, 0, SEC);
	for (unsigned i = 0, acked = start; i < bed.log.count; i++) {
		const struct wire *w = &bed.log.w[i];
		uint32_t out;

		if (w->from == 1) {
			acked = w->h.bth.psn + 1;
			continue;
		}
		out = w->h.bth.psn + 1 - acked;
		most = out > most ? out : most;
	}
	assert_int_equal(most, 8);
	bed_close(&bed);
}

/* ACKs are coalesced: there are far fewer ACKs than packets. */
static void test_acks_are_few(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct bed bed;

	bed_open(&bed, &o);
	end_op(bed.a, IBV_WR_RDMA_WRITE, 1, bed.ra, 0, 512 * 1024, bed.rb, 0);
	net_until(bed.net, bed.a, 1, 0, SEC);
	assert_int_equal(count_sent(&bed, 0, ADV_OP_WRITE_FIRST) +
				 count_sent(&bed, 0, ADV_OP_WRITE_MIDDLE) +
				 count_sent(&bed, 0, ADV_OP_WRITE_LAST),
			 512);
	assert_in_range(count_sent(&bed, 1, ADV_OP_ACKNOWLEDGE), 8, 128);
	bed_close(&bed);
}

/* Loses one packet. Only the packets from the gap on are retransmitted, after one NAK. */
static bool lose_third(const struct wire *w)
{
	return w->number == 2;
}

static void test_go_back_n(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct bed bed;

	bed_open(&bed, &o);
	bed.log.lose = lose_third;
	end_op(bed.a, IBV_WR_RDMA_WRITE, 1, bed.ra, 0, 20 * 1024, bed.rb, 0);
	net_until(bed.net, bed.a, 1, 0, SEC);
	/* 20 packets are sent, and then again the 18 from the lost packet on. */
	assert_int_equal(count_sent(&bed, 0, ADV_OP_WRITE_FIRST), 1);
	assert_int_equal(count_sent(&bed, 0, ADV_OP_WRITE_MIDDLE), 18 + 17);
	assert_int_equal(counters(&bed, 0)->packet_seq_err, 1);
	assert_int_equal(counters(&bed, 0)->local_ack_timeout_err, 0);
	assert_int_equal(counters(&bed, 1)->out_of_sequence, 17);
	assert_int_equal(counters(&bed, 1)->duplicate_request, 0);
	assert_true(bed.a->sends[0].time < bed.log.w[0].sent + 100 * US);
	bed_close(&bed);
}

/* If the source is deregistered within a message, the message fails when all requests before it are
 * done. */
static void test_source_deregistered(void **state)
{
	for (unsigned steps = 1; steps < 12; steps++) {
		struct adv_engine_config c = {.seed = {1}, .window = 8};
		struct options o = options_default(IBV_QPT_RC);
		struct region *r;
		struct bed bed;

		bed_open_config(&bed, &o, &c);
		r = region_open(&bed.net->node[0], 65536, 0);
		end_op(bed.a, IBV_WR_RDMA_WRITE, 1, bed.ra, 0, 6000, bed.rb, 0);
		end_op(bed.a, IBV_WR_RDMA_WRITE, 2, r, 0, 65536, bed.rb, 8192);
		end_op(bed.a, IBV_WR_RDMA_WRITE, 3, bed.ra, 0, 8, bed.rb, 0);
		for (unsigned i = 0; i < steps; i++)
			net_step(bed.net, bed.net->now + MS);
		region_deregister(r);
		net_run(bed.net, SEC);
		assert_int_equal(bed.a->send_count, 3);
		expect_send(bed.a, 0, 1, IBV_WC_SUCCESS);
		expect_send(bed.a, 1, 2, IBV_WC_LOC_PROT_ERR);
		assert_int_equal(bed.a->sends[1].wc.vendor_err, ADV_ERR_LKEY);
		expect_send(bed.a, 2, 3, IBV_WC_WR_FLUSH_ERR);
		expect_pattern(bed.rb, 0, 6000, 1, 0);
		bed_close(&bed);
	}
}

/* The second request cannot be sent. The packet of the first did not request an ACK, because
 * another packet was to follow. It gets its ACK without a timeout. */
static void test_next_cannot_be_sent(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct region *r;
	struct bed bed;

	o.retry_cnt = 0;
	bed_open(&bed, &o);
	r = region_open(&bed.net->node[0], 64, 0);
	end_op(bed.a, IBV_WR_RDMA_WRITE, 1, bed.ra, 0, 64, bed.rb, 0);
	end_op(bed.a, IBV_WR_RDMA_WRITE, 2, r, 0, 64, bed.rb, 64);
	region_deregister(r);
	net_run(bed.net, SEC);
	expect_send(bed.a, 0, 1, IBV_WC_SUCCESS);
	expect_send(bed.a, 1, 2, IBV_WC_LOC_PROT_ERR);
	assert_int_equal(counters(&bed, 0)->local_ack_timeout_err, 0);
	bed_close(&bed);
}

/* Loses the first eight packets. The request that cannot be sent fails after the requests before it
 * were retransmitted. */
static bool lose_first_eight(const struct wire *w)
{
	return w->number < 8;
}

static void test_source_deregistered_and_loss(void **state)
{
	struct adv_engine_config c = {.seed = {1}, .window = 8};
	struct options o = options_default(IBV_QPT_RC);
	struct region *r;
	struct bed bed;

	bed_open_config(&bed, &o, &c);
	bed.log.lose = lose_first_eight;
	r = region_open(&bed.net->node[0], 65536, 0);
	end_op(bed.a, IBV_WR_RDMA_WRITE, 1, bed.ra, 0, 6000, bed.rb, 0);
	end_op(bed.a, IBV_WR_RDMA_WRITE, 2, r, 0, 65536, bed.rb, 8192);
	net_step(bed.net, bed.net->now);
	assert_int_equal(bed.log.count, 8);
	region_deregister(r);
	net_run(bed.net, SEC);
	expect_send(bed.a, 0, 1, IBV_WC_SUCCESS);
	expect_send(bed.a, 1, 2, IBV_WC_LOC_PROT_ERR);
	expect_pattern(bed.rb, 0, 6000, 1, 0);
	bed_close(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_retries_exceeded),
		cmocka_unit_test(test_progress_restores_retries),
		cmocka_unit_test(test_no_timeout),
		cmocka_unit_test(test_answers_lost),
		cmocka_unit_test(test_retry_of_several_timeouts),
		cmocka_unit_test(test_source_deregistered),
		cmocka_unit_test(test_source_deregistered_and_loss),
		cmocka_unit_test(test_next_cannot_be_sent),
		cmocka_unit_test(test_rnr_retries_exceeded),
		cmocka_unit_test(test_rnr_for_ever),
		cmocka_unit_test(test_rnr_recovery),
		cmocka_unit_test(test_rnr_counts_a_request_once),
		cmocka_unit_test(test_silence_while_waiting),
		cmocka_unit_test(test_read_throttling),
		cmocka_unit_test(test_read_without_resources),
		cmocka_unit_test(test_fence),
		cmocka_unit_test(test_window),
		cmocka_unit_test(test_acks_are_few),
		cmocka_unit_test(test_go_back_n),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
