/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The SQD state: the send queue drains, and reports it if requested. */
#include "../requester/requester_bed.h"

/* ---- SQD ---- */

static unsigned drained(const struct bed *bed)
{
	return net_count_events(&bed->net->node[0], IBV_EVENT_SQ_DRAINED);
}

static void to_sqd(struct bed *bed, bool notify)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = notify};

	assert_int_equal(adv_qp_modify(bed->a->qp, bed->net->now, &a,
				       IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY),
			 0);
}

/* In SQD, requests that have started finish, and other requests wait. The event is raised once if
 * it is requested. */
static void drain(enum ibv_qp_type type, bool notify, uint32_t mbps)
{
	struct adv_engine_config c = {.seed = {1}, .window = 4, .unreliable_mbps = mbps};
	struct options o = options_default(type);
	struct bed bed;

	bed_open_config(&bed, &o, &c);
	end_op(bed.a, IBV_WR_RDMA_WRITE, 1, bed.ra, 0, 200 * 1024, bed.rb, 0);
	end_op(bed.a, IBV_WR_RDMA_WRITE, 2, bed.ra, 0, 1, bed.rb, 0);
	net_step(bed.net, bed.net->now);
	assert_int_equal(bed.a->send_count, 0);
	to_sqd(&bed, notify);
	net_run(bed.net, SEC);
	assert_int_equal(bed.a->send_count, 1);
	assert_int_equal(drained(&bed), notify);
	end_op(bed.a, IBV_WR_RDMA_WRITE, 3, bed.ra, 0, 1, bed.rb, 0);
	net_run(bed.net, SEC);
	assert_int_equal(bed.a->send_count, 1);
	assert_int_equal(end_to_state(bed.a, IBV_QPS_RTS), 0);
	net_run(bed.net, SEC);
	assert_int_equal(bed.a->send_count, 3);
	assert_int_equal(drained(&bed), notify);
	/* If there is nothing to drain, the event is raised at once. */
	to_sqd(&bed, notify);
	net_run(bed.net, SEC);
	assert_int_equal(drained(&bed), 2 * notify);
	bed_close(&bed);
}

static void test_drain_rc(void **state)
{
	drain(IBV_QPT_RC, true, 0);
	drain(IBV_QPT_RC, false, 0);
}

static void test_drain_uc(void **state)
{
	drain(IBV_QPT_UC, true, 1000);
	drain(IBV_QPT_UC, false, 1000);
}

/* The last packet in flight requested no ACK, because another was to follow. After the transition
 * to SQD it gets one. */
static void test_drain_gets_its_acknowledgement(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct bed bed;

	o.timeout = 0;
	bed_open(&bed, &o);
	for (unsigned i = 0; i < 64; i++)
		end_op(bed.a, IBV_WR_RDMA_WRITE, i, bed.ra, 0, 1024, bed.rb, 0);
	net_step(bed.net, bed.net->now);
	to_sqd(&bed, true);
	net_run(bed.net, SEC);
	assert_int_equal(drained(&bed), 1);
	assert_int_equal(end_to_state(bed.a, IBV_QPS_RTS), 0);
	net_run(bed.net, SEC);
	assert_int_equal(bed.a->send_count, 64);
	bed_close(&bed);
}

/* The last packet of the finished message requests an acknowledgement, because nothing follows. */
static void test_drain_in_mid_message(void **state)
{
	for (uint32_t packets = 10; packets < 30; packets++) {
		struct adv_engine_config c = {.seed = {1}, .window = 8};
		struct options o = options_default(IBV_QPT_RC);
		struct bed bed;

		o.retry_cnt = 0;
		bed_open_config(&bed, &o, &c);
		end_op(bed.a, IBV_WR_RDMA_WRITE, 1, bed.ra, 0, packets * 1024, bed.rb, 0);
		end_op(bed.a, IBV_WR_RDMA_WRITE, 2, bed.ra, 0, 1, bed.rb, 0);
		net_step(bed.net, bed.net->now);
		to_sqd(&bed, true);
		net_run(bed.net, SEC);
		assert_int_equal(bed.a->send_count, 1);
		expect_send(bed.a, 0, 1, IBV_WC_SUCCESS);
		assert_int_equal(drained(&bed), 1);
		assert_int_equal(counters(&bed, 0)->local_ack_timeout_err, 0);
		bed_close(&bed);
	}
}

static void test_drain_while_waiting(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct bed bed;

	o.min_rnr_timer = 14;
	bed_open(&bed, &o);
	end_op(bed.a, IBV_WR_SEND, 1, bed.ra, 0, 1, NULL, 0);
	net_run(bed.net, MS);
	to_sqd(&bed, true);
	end_recv(bed.b, 1, bed.rb, 0, 1);
	net_run(bed.net, SEC);
	assert_int_equal(bed.a->send_count, 1);
	assert_int_equal(drained(&bed), 1);
	bed_close(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_drain_rc),
		cmocka_unit_test(test_drain_uc),
		cmocka_unit_test(test_drain_gets_its_acknowledgement),
		cmocka_unit_test(test_drain_in_mid_message),
		cmocka_unit_test(test_drain_while_waiting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
