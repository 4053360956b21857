/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests the rates of queue pairs, in virtual time. */
#include "flow_bed.h"
#include "nic/congestion/dcqcn.h"

/* ---- the rate on the wire ---- */

/* Every packet is sent at the exact ns that the rate requires, through all changes of the rate. The
 * test computes these times as the integral of the rate of another instance of the algorithm. */
struct integral {
	struct adv_cc_params p;
	struct adv_dcqcn d;
	uint64_t now;
	uint64_t cnp_at; /* a second CNP */
};

/* Advances to the next change of the rate, at most to `end`. */
static void move(struct integral *in, uint64_t end)
{
	uint64_t next = adv_dcqcn_next(&in->d);

	if (in->cnp_at < next && in->cnp_at <= end) {
		in->now = in->cnp_at;
		in->cnp_at = ADV_NEVER;
		adv_dcqcn_on_cnp(&in->d, &in->p, 40000000, in->now);
	} else if (next <= end) {
		in->now = next;
		adv_dcqcn_expire(&in->d, &in->p, 40000000, next);
	} else {
		in->now = end;
	}
}

/* Advances until `bits` have been sent, or the limit has ended. */
static void leave(struct integral *in, double bits)
{
	while (bits > 0 && in->d.rate) {
		uint64_t before = in->now, rate = in->d.rate;
		double ns = bits * 1e6 / (double)rate;

		move(in, before + (uint64_t)ns);
		if (in->now - before >= (uint64_t)ns)
			return;
		bits -= (double)(in->now - before) * (double)rate / 1e6;
	}
}

static void check_times(const struct bed *bed, const struct adv_cc_params *params, uint64_t first,
			uint64_t second)
{
	struct integral in = {.p = *params, .now = first, .cnp_at = second};

	adv_dcqcn_on_cnp(&in.d, &in.p, 40000000, first);
	for (unsigned i = 0; i < bed->packets && in.d.rate; i++) {
		if (bed->time[i] + 4 < in.now || bed->time[i] > in.now + 4)
			fail_msg("packet %u left at %llu, not at %llu", i,
				 (unsigned long long)bed->time[i], (unsigned long long)in.now);
		in.now = bed->time[i];
		adv_dcqcn_on_sent(&in.d, &in.p, 40000000, bed->bytes[i]);
		leave(&in, bed->bytes[i] * 8.0);
	}
	assert_int_equal(in.cnp_at, ADV_NEVER);
}

static void test_exact_times(void **state)
{
	/* With the second value, the byte counter also changes the rate between two packets. */
	static const uint32_t byte_resets[] = {10000000, 50000};

	for (unsigned i = 0; i < 2; i++) {
		struct options o = options_default(IBV_QPT_UC);
		struct adv_cc_config cc = adv_cc_default();
		struct bed bed;
		uint64_t at;

		cc.params.rpg_byte_reset = byte_resets[i];
		open_with(&bed, &o, 0, &cc);
		at = bed.net->now;
		give_cnp(&bed, 0);
		post_write(&bed, 0, SIZE);
		/* The second CNP arrives while a packet waits. */
		pass(bed.net, 75 * US + 111);
		give_cnp(&bed, 0);
		net_run(bed.net, 10 * MS);
		assert_int_equal(bed.packets, 1024);
		/* 1,024 bytes and headers in 9 kbit at 20 Gb/s. */
		assert_int_equal(bed.bytes[1], 1024 + 12 + 4 + FRAME);
		assert_int_equal(bed.time[1] - bed.time[0], (1024 + 28 + 4 + FRAME) * 8 / 20);
		check_times(&bed, &cc.params, at, at + 75 * US + 111);
		net_close(bed.net);
	}
}

/* The rate of READ responses is the rate of the responder's queue pair. */
static void test_read_responses(void **state)
{
	struct bed bed;
	uint64_t at;

	open_bed(&bed, IBV_QPT_RC);
	bed.watched = 1;
	end_op(bed.end[0], IBV_WR_RDMA_READ, 1, bed.region[0], 0, SIZE, bed.region[1], 0);
	pass(bed.net, 1500);
	bed.packets = 0;
	at = bed.net->now;
	give_cnp(&bed, 1);
	for (unsigned i = 0; i < 6; i++) {
		pass(bed.net, 50 * US);
		give_cnp(&bed, 1);
	}
	/* Each cut halves the rate: 20 + 10 + 5 + 2.5 + 1.25 + .625 Gb/s for 50 us each are 246
	 * kB. */
	assert_true(bed.net->now - at >= 300 * US);
	assert_in_range(bed.packets, 200, 236);
	net_until(bed.net, bed.end[0], 1, 0, 40 * MS);
	expect_send(bed.end[0], 0, 1, IBV_WC_SUCCESS);
	expect_pattern(bed.region[0], 0, SIZE, 2, 0);
	assert_int_equal(counters(&bed, 0)->local_ack_timeout_err, 0);
	assert_int_equal(counters(&bed, 1)->rp_cnp_handled, 7);
	net_run(bed.net, 100 * MS);
	net_close(bed.net);
}

/* After marked READ responses the requester sends CNPs to the responder. */
static void test_marked_responses(void **state)
{
	struct bed bed;

	open_bed(&bed, IBV_QPT_RC);
	bed.mark = REPLIES;
	end_op(bed.end[0], IBV_WR_RDMA_READ, 1, bed.region[0], 0, SIZE, bed.region[1], 0);
	net_run(bed.net, 300 * US);
	assert_true(counters(&bed, 0)->np_cnp_sent >= 5);
	assert_int_equal(counters(&bed, 1)->rp_cnp_handled, counters(&bed, 0)->np_cnp_sent);
	assert_true(limit(&bed, 1) > 0 && limit(&bed, 1) < 2000);
	assert_int_equal(limit(&bed, 0), 0);
	net_abandon(bed.net);
}

/* Requests and responses of one queue pair share its rate, and both make progress. */
static void test_both_ways(void **state)
{
	struct bed bed;

	open_bed(&bed, IBV_QPT_RC);
	for (unsigned i = 0; i < 10; i++) {
		give_cnp(&bed, 1);
		pass(bed.net, 50 * US);
	}
	bed.watched = 1;
	end_op(bed.end[0], IBV_WR_RDMA_READ, 1, bed.region[0], SIZE / 2, SIZE / 2, bed.region[1],
	       SIZE / 2);
	post_write(&bed, 1, SIZE / 2);
	net_run(bed.net, 4 * MS);
	/* Both transfers have delivered data, and neither is complete. */
	assert_int_equal(bed.end[0]->send_count + bed.end[1]->send_count, 0);
	assert_int_equal(bed.region[0]->buf[SIZE / 2 + 1024], region_byte(SIZE / 2 + 1024, 2));
	assert_int_equal(bed.region[0]->buf[1024], region_byte(1024, 2));
	net_until(bed.net, bed.end[0], 1, 0, 40 * MS);
	net_until(bed.net, bed.end[1], 1, 0, 40 * MS);
	expect_pattern(bed.region[0], 0, SIZE, 2, 0);
	net_run(bed.net, 100 * MS);
	net_close(bed.net);
}

/* A queue pair that waits long for its rate still sends ACKs at once. */
static void test_acks_do_not_wait(void **state)
{
	struct bed bed;
	uint64_t start;

	open_bed(&bed, IBV_QPT_RC);
	for (unsigned i = 0; i < 12; i++, bed.net->now += 50 * US)
		give_cnp(&bed, 1);
	post_write(&bed, 1, 64 << 10); /* 5 ms of data */
	net_run(bed.net, 10 * US);
	bed.acks = 0;
	start = bed.net->now;
	post_write(&bed, 0, 8);
	net_run(bed.net, 10 * US);
	assert_int_equal(bed.acks, 1);
	assert_int_equal(bed.ack_time, start + NET_DELAY);
	assert_int_equal(bed.end[0]->send_count, 1);
	assert_int_equal(bed.end[1]->send_count, 0);
	net_abandon(bed.net);
}

/* If the rate is so low that 16 packets take longer than the timeout, each packet is acknowledged
 * and none is retransmitted. */
static void test_slower_than_the_timeout(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct adv_cc_config cc = adv_cc_default();
	struct bed bed;

	cc.params.rpg_min_rate = 1;
	cc.params.rpg_time_reset = 10000000; /* the rate does not rise */
	cc.params.rpg_byte_reset = 0;
	o.timeout = 13; /* 34 ms; one packet takes 9 ms */
	open_with(&bed, &o, 0, &cc);
	for (unsigned i = 0; i < 20; i++, bed.net->now += 50 * US)
		give_cnp(&bed, 0);
	assert_int_equal(limit(&bed, 0), 1);
	post_write(&bed, 0, 32 << 10);
	net_until(bed.net, bed.end[0], 1, 0, SEC);
	assert_int_equal(bed.packets, 32);
	assert_int_equal(counters(&bed, 0)->local_ack_timeout_err, 0);
	assert_int_equal(bed.acks, 32);
	net_abandon(bed.net);
}

/* ---- cost ---- */

/* Runs until the end has completed its request. Returns how many timers of an engine expired. */
static unsigned timers_until_done(struct bed *bed)
{
	struct adv_engine *e = bed->net->node[0].e;
	unsigned timers = 0;

	while (bed->end[0]->send_count == 0) {
		uint64_t before = adv_engine_deadline(e);

		assert_true(net_step(bed->net, bed->net->now + SEC));
		timers += before <= bed->net->now;
	}
	return timers;
}

/* A timer expires once for each burst or each 100 us, not for each packet. At most one burst is
 * sent at once. */
static void test_bursts(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	unsigned timers, at_once = 0, most = 0;
	struct bed bed;

	open_with(&bed, &o, 16 << 10, NULL);
	for (unsigned i = 0; i < 6; i++, bed.net->now += 50 * US)
		give_cnp(&bed, 0);
	post_write(&bed, 0, SIZE);
	timers = timers_until_done(&bed);
	assert_int_equal(bed.packets, 1024);
	assert_in_range(timers, 64, 160);
	for (unsigned i = 1; i < bed.packets; i++) {
		at_once = bed.time[i] == bed.time[i - 1] ? at_once + 1 : 0;
		most = at_once > most ? at_once : most;
	}
	assert_in_range(most, 7, 16);
	net_run(bed.net, 100 * MS);
	net_close(bed.net);
}

/* With bursts, too, the long-term rate is the configured rate. */
static void test_rate_with_bursts(void **state)
{
	struct options o = options_default(IBV_QPT_UC);
	struct adv_cc_config cc = adv_cc_default();
	struct bed bed;
	uint64_t start, ns;

	cc.params.rpg_time_reset = 10000000;
	cc.params.rate_to_set_on_first_cnp = 2000;
	open_with(&bed, &o, 64 << 10, &cc);
	give_cnp(&bed, 0);
	start = bed.net->now;
	post_write(&bed, 0, SIZE);
	net_run(bed.net, 10 * MS);
	assert_int_equal(bed.packets, 1024);
	/* The first burst is sent early, so the time is shorter by that burst. */
	ns = (1024ull * (1024 + 16 + FRAME) - (64 << 10)) * 8 / 2;
	assert_in_range(bed.time[1023] - start, ns - 110 * US, ns + 110 * US);
	net_close(bed.net);
}

/* A link that sends single packets gets the CNP first, then all other packets. */
static void test_single_packets(void **state)
{
	for (unsigned limited = 0; limited < 2; limited++) {
		struct adv_engine *e;
		struct bed bed;
		unsigned n = 0;

		open_bed(&bed, IBV_QPT_RC);
		e = bed.net->node[1].e;
		bed.mark = DATA;
		if (limited)
			give_cnp(&bed, 1);
		post_write(&bed, 0, 8);
		assert_true(net_step(bed.net, bed.net->now + MS)); /* the first packet is sent */
		assert_true(net_step(bed.net, bed.net->now + MS)); /* and received */
		post_write(&bed, 1, 10 << 10);
		assert_int_equal(counters(&bed, 1)->np_ecn_marked_roce_packets, 1);
		while (adv_engine_tx_some(e, bed.net->now, &bed.net->batch, 1) == 1 && n < 20) {
			assert_int_equal(bed.net->batch.packet[0].header[0] == ADV_OPCODE_CNP,
					 n == 0);
			n++;
			if (limited && adv_engine_deadline(e) != ADV_NEVER)
				adv_engine_expire(e, bed.net->now += 20 * US);
		}
		assert_int_equal(n, 1 + 10 + 1); /* CNP, data, ACK */
		net_abandon(bed.net);
	}
}

/* An idle queue pair with a limit has no timer. A full window does not cause endless turns. */
static void test_idle(void **state)
{
	struct bed bed;

	open_bed(&bed, IBV_QPT_RC);
	give_cnp(&bed, 0);
	assert_int_equal(adv_engine_deadline(bed.net->node[0].e), ADV_NEVER);
	assert_false(adv_engine_tx_ready(bed.net->node[0].e));
	post_write(&bed, 0, SIZE);
	assert_int_equal(end_to_state(bed.end[1], IBV_QPS_ERR), 0); /* in ERR it sends no answers */
	net_run(bed.net, 2 * MS);
	assert_int_equal(bed.packets, 64);
	for (unsigned i = 0; i < 100; i++) {
		adv_qp_schedule(bed.end[0]->qp);
		assert_int_equal(adv_engine_tx(bed.net->node[0].e, bed.net->now, &bed.net->batch),
				 0);
		assert_false(adv_engine_tx_ready(bed.net->node[0].e));
	}
	net_abandon(bed.net);
}

static void check_timers(const struct bed *bed)
{
	const struct adv_timer_heap *h = &bed->net->node[0].e->timers;

	for (uint32_t i = 1; i <= h->heap.count; i++)
		assert_int_equal(adv_timer_at(h, i)->position, i);
}

/* If a queue pair is reset or destroyed at any moment, no timer is left, and its next connection
 * starts at the full rate. */
static void test_reset(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct bed bed;
	uint32_t room;

	open_bed(&bed, IBV_QPT_RC);
	room = bed.net->node[0].e->timers.heap.reserved;
	bed.mark = DATA | REPLIES;
	post_write(&bed, 0, SIZE);
	net_run(bed.net, 100 * US);
	assert_true(limit(&bed, 0) > 0);
	assert_int_equal(bed.net->node[0].e->timers.heap.count, 2);
	assert_int_equal(bed.net->node[0].e->timers.heap.reserved, room + 1);
	assert_int_equal(end_to_state(bed.end[0], IBV_QPS_RESET), 0);
	check_timers(&bed);
	assert_int_equal(bed.net->node[0].e->timers.heap.reserved, room);
	assert_null(bed.end[0]->qp->flow);
	assert_int_equal(end_to_state(bed.end[1], IBV_QPS_RESET), 0);
	bed.mark = 0;
	net_run(bed.net, 10 * MS);
	ends_connect(bed.end[0], bed.end[1], &o);
	assert_int_equal(limit(&bed, 0), 0);
	post_write(&bed, 0, SIZE);
	net_until(bed.net, bed.end[0], 1, 0, MS);
	give_cnp(&bed, 0);
	post_write(&bed, 0, SIZE);
	net_run(bed.net, 10 * US);
	assert_int_equal(adv_qp_destroy(bed.end[0]->qp), 0);
	bed.end[0]->qp = NULL;
	net_run(bed.net, 100 * MS);
	assert_int_equal(adv_engine_deadline(bed.net->node[0].e), ADV_NEVER);
	net_abandon(bed.net);
}

/* The line rate is rpg_max_rate or, if that is 0, the port's speed. */
static void test_line(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct adv_cc_config cc = adv_cc_default();
	struct bed bed;

	open_bed(&bed, IBV_QPT_RC);
	adv_engine_set_line_rate(bed.net->node[0].e, 10000);
	give_cnp(&bed, 0);
	assert_int_equal(limit(&bed, 0), 5000);
	bed.net->now += 60 * US;
	give_cnp(&bed, 0);
	assert_int_equal(limit(&bed, 0),
			 3765); /* 3,764,649 kb/s, a quarter of the number in test_dcqcn.c */
	net_abandon(bed.net);
	open_bed(&bed, IBV_QPT_RC);
	adv_engine_set_line_rate(bed.net->node[0].e, 0);
	give_cnp(&bed, 0);
	assert_int_equal(limit(&bed, 0), 20000);
	net_abandon(bed.net);
	cc.params.rpg_max_rate = 1000;
	open_with(&bed, &o, 0, &cc);
	adv_engine_set_line_rate(bed.net->node[0].e, 10000);
	give_cnp(&bed, 0);
	assert_int_equal(limit(&bed, 0), 500);
	net_abandon(bed.net);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact_times),
		cmocka_unit_test(test_read_responses),
		cmocka_unit_test(test_marked_responses),
		cmocka_unit_test(test_both_ways),
		cmocka_unit_test(test_acks_do_not_wait),
		cmocka_unit_test(test_slower_than_the_timeout),
		cmocka_unit_test(test_bursts),
		cmocka_unit_test(test_rate_with_bursts),
		cmocka_unit_test(test_single_packets),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_reset),
		cmocka_unit_test(test_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
