/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Turns of a queue pair on the fast path: windows, the end of a batch, other queue pairs. */
#include "../requester/requester_bed.h"
#include "nic/congestion/flow.h"
#include "nic/responder/ack.h"
#include "nic/fast/unusual.h"

#define MTU 1024

/* Ends a test that took packets out of the network. */
static void abandon(struct bed *bed)
{
	net_abandon(bed->net);
	free(bed->log.w);
}

/* Posts small WRITEs one by one, each with a turn of its own. Returns the number of packets that
 * the windows allow. */
static unsigned send_one_by_one(const struct adv_engine_config *c)
{
	struct options o = options_default(IBV_QPT_RC);
	unsigned packets = 0;
	struct bed bed;

	bed_open_config(&bed, &o, c);
	for (unsigned i = 1; i <= 12; i++) {
		end_op(bed.a, IBV_WR_RDMA_WRITE, i, bed.ra, 0, 8, bed.rb, 0);
		packets += adv_engine_tx(bed.net->node[0].e, bed.net->now, &bed.net->batch);
	}
	abandon(&bed);
	return packets;
}

static void test_windows_one_by_one(void **state)
{
	struct adv_engine_config c = {.seed = {1}, .window = 4, .total_window = 64};

	assert_int_equal(send_one_by_one(&c), 4);
	c.no_fast_path = true;
	assert_int_equal(send_one_by_one(&c), 4);
	c = (struct adv_engine_config){.seed = {1}, .window = 64, .total_window = 5};
	assert_int_equal(send_one_by_one(&c), 5);
	c.no_fast_path = true;
	assert_int_equal(send_one_by_one(&c), 5);
}

/* An ACK fills the batch; the request waits for the next one. */
static void test_batch_of_one(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct adv_engine *e;
	struct bed bed;

	bed_open(&bed, &o);
	e = bed.net->node[0].e;
	end_op(bed.a, IBV_WR_RDMA_WRITE, 1, bed.ra, 0, 8, bed.rb, 0);
	adv_responder_ack_queue(bed.a->qp, ADV_AETH_ACK | ADV_AETH_NO_CREDITS, o.psn[1]);
	assert_int_equal(adv_engine_tx_some(e, bed.net->now, &bed.net->batch, 1), 1);
	assert_int_equal(bed.net->batch.packet[0].header[0], ADV_OP_ACKNOWLEDGE);
	assert_int_equal(adv_engine_tx_some(e, bed.net->now, &bed.net->batch, 1), 1);
	assert_int_equal(bed.net->batch.packet[0].header[0], ADV_OP_WRITE_ONLY);
	abandon(&bed);
}

/* A packet makes QPs that wait for the common window try again, as on the general path. */
static void check_stalled(bool no_fast_path)
{
	struct adv_engine_config c = {
		.seed = {1}, .window = 8, .total_window = 7, .no_fast_path = no_fast_path};
	struct options o = options_default(IBV_QPT_RC);
	struct end *reader, *writer, *to;
	struct adv_engine *e;
	struct bed bed;

	bed_open_config(&bed, &o, &c);
	e = bed.net->node[0].e;
	pair_open(bed.net, &o, &reader, &to);
	pair_open(bed.net, &o, &writer, &to);
	end_op(bed.a, IBV_WR_RDMA_WRITE, 1, bed.ra, 0, 4 * MTU, bed.rb, 0);
	assert_int_equal(adv_engine_tx(e, bed.net->now, &bed.net->batch), 4);
	end_op(reader, IBV_WR_RDMA_READ, 2, bed.ra, 0, 4 * MTU, bed.rb, 0);
	assert_int_equal(adv_engine_tx(e, bed.net->now, &bed.net->batch), 0);
	end_op(writer, IBV_WR_RDMA_WRITE, 3, bed.ra, 0, 8, bed.rb, 0);
	assert_int_equal(adv_engine_tx_some(e, bed.net->now, &bed.net->batch, 1), 1);
	assert_true(adv_engine_tx_ready(e));
	abandon(&bed);
}

static void test_stalled_try_again(void **state)
{
	check_stalled(false);
	check_stalled(true);
}

/* The only ready QP has turns until it has sent all. */
static void test_whole_batch(void **state)
{
	struct adv_engine_config c = {.seed = {1}, .window = 64, .total_window = 64};
	struct options o = options_default(IBV_QPT_RC);
	struct bed bed;

	bed_open_config(&bed, &o, &c);
	for (unsigned i = 0; i < 2; i++)
		end_op(bed.a, IBV_WR_RDMA_WRITE, i, bed.ra, 0, 25 * MTU, bed.rb, 0);
	assert_int_equal(adv_engine_tx(bed.net->node[0].e, bed.net->now, &bed.net->batch), 50);
	abandon(&bed);
}

/* Sends a long WRITE packet by packet until the window is full, with an ACK between. Returns the
 * number of packets, and their BTHs. */
static unsigned take_one_by_one(bool no_fast_path, uint8_t bth[][ADV_BTH_LEN])
{
	struct adv_engine_config c = {
		.seed = {1}, .window = 24, .total_window = 64, .no_fast_path = no_fast_path};
	struct options o = options_default(IBV_QPT_RC);
	struct adv_tx_batch *batch;
	struct adv_engine *e;
	unsigned packets = 0;
	struct bed bed;

	bed_open_config(&bed, &o, &c);
	e = bed.net->node[0].e;
	batch = &bed.net->batch;
	end_op(bed.a, IBV_WR_RDMA_WRITE, 1, bed.ra, 0, 6 * MTU + 5, bed.rb, 0);
	end_op(bed.a, IBV_WR_RDMA_WRITE, 2, bed.ra, 0, 50 * MTU, bed.rb, 0);
	while (packets < 40 && adv_engine_tx_some(e, bed.net->now, batch, 1)) {
		assert_int_equal(batch->count, 1);
		memcpy(bth[packets], batch->packet[0].header, ADV_BTH_LEN);
		if (++packets == 3)
			adv_responder_ack_queue(bed.a->qp, ADV_AETH_ACK | ADV_AETH_NO_CREDITS,
						o.psn[1]);
	}
	assert_false(adv_engine_tx_ready(e));
	abandon(&bed);
	return packets;
}

static void test_packet_by_packet(void **state)
{
	uint8_t fast[40][ADV_BTH_LEN], general[40][ADV_BTH_LEN];

	assert_int_equal(take_one_by_one(false, fast), 25);
	assert_int_equal(take_one_by_one(true, general), 25);
	assert_memory_equal(fast, general, 25 * ADV_BTH_LEN);
}

#define PACED 24

/* Sends a window of packets of a QP whose rate a CNP has cut. Writes their BTHs and times. */
static void take_paced(bool no_fast_path, uint8_t bth[][ADV_BTH_LEN], uint64_t at[])
{
	struct adv_engine_config c = {
		.seed = {1}, .window = PACED, .total_window = 64, .no_fast_path = no_fast_path};
	struct options o = options_default(IBV_QPT_RC);
	uint64_t now, start;
	struct adv_engine *e;
	struct bed bed;

	bed_open_config(&bed, &o, &c);
	e = bed.net->node[0].e;
	now = start = bed.net->now;
	for (unsigned i = 0; i < 2; i++)
		adv_flow_on_cnp(bed.a->qp, now);
	adv_qp_review(bed.a->qp);
	end_op(bed.a, IBV_WR_RDMA_WRITE, 1, bed.ra, 0, 6 * MTU + 5, bed.rb, 0);
	end_op(bed.a, IBV_WR_SEND, 2, bed.ra, 0, 50 * MTU, NULL, 0);
	for (unsigned i = 0; i < PACED;) {
		if (!adv_engine_tx_some(e, now, &bed.net->batch, 1)) {
			assert_true(adv_engine_deadline(e) > now);
			now = adv_engine_deadline(e);
			adv_engine_expire(e, now);
			continue;
		}
		assert_int_equal(bed.net->batch.count, 1);
		memcpy(bth[i], bed.net->batch.packet[0].header, ADV_BTH_LEN);
		at[i++] = now - start;
	}
	assert_true(at[PACED - 1] > 0);
	abandon(&bed);
}

static void test_paced(void **state)
{
	uint8_t fast[PACED][ADV_BTH_LEN], general[PACED][ADV_BTH_LEN];
	uint64_t fast_at[PACED], general_at[PACED];

	take_paced(false, fast, fast_at);
	take_paced(true, general, general_at);
	assert_memory_equal(fast, general, sizeof(fast));
	assert_memory_equal(fast_at, general_at, sizeof(fast_at));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_windows_one_by_one), cmocka_unit_test(test_batch_of_one),
		cmocka_unit_test(test_stalled_try_again),  cmocka_unit_test(test_whole_batch),
		cmocka_unit_test(test_packet_by_packet),   cmocka_unit_test(test_paced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
