/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests requests that the network repeats after their responses have arrived. */
#include "../engine/harness.h"
#include "base/array.h"
#include "base/bytes.h"

static struct adv_rx_meta meta;
static uint8_t first[ADV_HEADERS_MAX];
static uint32_t first_len;

/* Records the first request. */
static void keep_first(struct net *net, struct wire *w)
{
	if (w->from != 0 || first_len)
		return;
	meta = w->meta;
	first_len = w->len;
	memcpy(first, w->data, w->len);
}

static void give(struct node *node, const uint8_t *data, uint32_t len)
{
	const struct adv_rx_packet pkt = {.meta = &meta, .data = data, .len = len};

	adv_engine_rx(node->e, node->net->now, &pkt);
}

/* A new request arrives while the responder answers all remembered requests again. The requester
 * does not exceed its limit, because it has the answers: the new request must be accepted. */
static void repeated(int opcode, uint8_t limit, uint8_t remembered)
{
	struct options o = options_default(IBV_QPT_RC);
	struct net *net = net_open(2, 1);
	struct region *ra, *rb;
	struct end *a, *b;

	o.max_rd_atomic = o.max_dest_rd_atomic = limit;
	first_len = 0;
	net->hook = keep_first;
	ra = region_open(&net->node[0], 4096, ALL_ACCESS);
	rb = region_open(&net->node[1], 4096, ALL_ACCESS);
	region_fill(rb, 3);
	pair_open(net, &o, &a, &b);
	for (unsigned i = 0; i < remembered; i++)
		end_op(a, opcode, i, ra, 8 * i, 8, rb, 8 * i);
	net_until(net, a, remembered, 0, SEC);
	for (unsigned i = 0; i < remembered; i++) {
		give(&net->node[1], first, first_len);
		/* The next request differs only in its PSN and address. */
		first[11]++;
		adv_put_be64(first + ADV_BTH_LEN, adv_get_be64(first + ADV_BTH_LEN) + 8);
	}
	assert_int_equal(b->qp->resp.res_pending, remembered);
	end_op(a, opcode, remembered, ra, 8 * remembered, 8, rb, 8 * remembered);
	assert_int_equal(adv_engine_tx(net->node[0].e, net->now, &net->batch), 1);
	give(&net->node[1], net->batch.packet[0].header, net->batch.packet[0].header_len);
	net_until(net, a, remembered + 1u, 0, SEC);
	for (unsigned i = 0; i <= remembered; i++)
		expect_send(a, i, i, IBV_WC_SUCCESS);
	expect_pattern(ra, 0, 8 * (remembered + 1), 3, 0);
	assert_int_equal(end_state(b), IBV_QPS_RTS);
	net_run(net, SEC);
	net_close(net);
}

static void test_reads(void **state)
{
	for (uint8_t limit = 1; limit <= 5; limit++)
		repeated(IBV_WR_RDMA_READ, limit, limit);
	/* The responder remembers more requests than may be outstanding: the next power of two. */
	repeated(IBV_WR_RDMA_READ, 3, 4);
	repeated(IBV_WR_RDMA_READ, 5, 8);
}

static void test_atomics(void **state)
{
	for (uint8_t limit = 1; limit <= 5; limit++)
		repeated(IBV_WR_ATOMIC_FETCH_AND_ADD, limit, limit);
	/* The responder remembers more requests than may be outstanding: the next power of two. */
	repeated(IBV_WR_ATOMIC_FETCH_AND_ADD, 3, 4);
	repeated(IBV_WR_ATOMIC_FETCH_AND_ADD, 5, 8);
}

/* If a completed READ is repeated after its region was deregistered, the QP still works. */
static void test_region_gone(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct net *net = net_open(2, 1);
	struct region *ra, *rb, *other;
	struct end *a, *b;

	first_len = 0;
	net->hook = keep_first;
	ra = region_open(&net->node[0], 4096, ALL_ACCESS);
	rb = region_open(&net->node[1], 4096, ALL_ACCESS);
	other = region_open(&net->node[1], 4096, ALL_ACCESS);
	pair_open(net, &o, &a, &b);
	end_op(a, IBV_WR_RDMA_READ, 1, ra, 0, 3000, rb, 0);
	net_until(net, a, 1, 0, SEC);
	region_deregister(rb);
	give(&net->node[1], first, first_len);
	net_run(net, MS);
	assert_int_equal(end_state(b), IBV_QPS_RTS);
	end_op(a, IBV_WR_RDMA_READ, 2, ra, 0, 3000, other, 0);
	net_until(net, a, 2, 0, SEC);
	expect_send(a, 1, 2, IBV_WC_SUCCESS);
	net_run(net, SEC);
	net_close(net);
}

/* Drops the first answer, delivers the second after the timeout, and all others later. */
static void lose_first_answer(struct net *net, struct wire *w)
{
	unsigned *answers = net->arg;

	if (w->from == 0)
		return;
	switch ((*answers)++) {
	case 0:
		w->copies = 0;
		break;
	case 1:
		w->delay = 1100 * US;
		break;
	default:
		w->delay = 300 * US;
	}
}

/* Delays answers by half a timeout. */
static void answer_late(struct net *net, struct wire *w)
{
	if (w->from == 1)
		w->delay = 1500 * US;
}

/* If a request cannot be retransmitted because its memory was deregistered, and then its answer
 * arrives, the request is done. The next answers are for the next requests. */
static void test_own_region_gone(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct net *net = net_open(2, 1);
	struct region *ra, *rb, *gone;
	struct end *a, *b;

	o.timeout = 8; /* 1.05 ms */
	ra = region_open(&net->node[0], 4096, ALL_ACCESS);
	rb = region_open(&net->node[1], 4096, ALL_ACCESS);
	gone = region_open(&net->node[0], 4096, ALL_ACCESS);
	pair_open(net, &o, &a, &b);
	net->hook = answer_late;
	end_op(a, IBV_WR_RDMA_WRITE, 1, ra, 0, 10, rb, 0);
	end_op(a, IBV_WR_RDMA_WRITE, 2, gone, 0, 10, rb, 100);
	end_op(a, IBV_WR_RDMA_READ, 3, ra, 0, 10, rb, 200);
	net_run(net, 500 * US);
	region_deregister(gone);
	net_until(net, a, 3, 0, SEC);
	for (unsigned i = 0; i < 3; i++)
		expect_send(a, i, i + 1, IBV_WC_SUCCESS);
	assert_int_equal(end_state(a), IBV_QPS_RTS);
	net_run(net, SEC);
	net_close(net);
}

/* If a response that the timeout has requested again is missing, this costs only one retry. */
static void test_answer_behind_timeout(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct net *net = net_open(2, 1);
	struct region *ra = region_open(&net->node[0], 4096, ALL_ACCESS);
	struct region *rb = region_open(&net->node[1], 4096, ALL_ACCESS);
	unsigned answers = 0;
	struct end *a, *b;

	o.timeout = 8; /* 1.05 ms */
	o.retry_cnt = 1;
	net->hook = lose_first_answer;
	net->arg = &answers;
	pair_open(net, &o, &a, &b);
	end_op(a, IBV_WR_RDMA_READ, 1, ra, 0, 8, rb, 0);
	end_op(a, IBV_WR_RDMA_READ, 2, ra, 8, 8, rb, 8);
	net_until(net, a, 2, 0, SEC);
	expect_send(a, 0, 1, IBV_WC_SUCCESS);
	expect_send(a, 1, 2, IBV_WC_SUCCESS);
	net_run(net, SEC);
	net_close(net);
}

/* If a packet is lost and a packet before it arrives twice, the second ACK does not replace the
 * NAK. */
static void test_nak_before_ack(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct net *net = net_open(2, 1);
	const struct adv_tx_packet *answer = &net->batch.packet[0];
	struct region *r = region_open(&net->node[1], 4096, ALL_ACCESS);
	struct adv_headers h;
	struct end *a, *b;

	first_len = 0;
	net->hook = keep_first;
	pair_open(net, &o, &a, &b);
	end_recv(b, 1, r, 0, 16);
	end_op(a, IBV_WR_SEND, 1, NULL, 0, 0, NULL, 0);
	net_until(net, a, 1, 0, SEC);
	net_until(net, b, 0, 1, SEC);
	assert_true(first[8] & 0x80); /* the packet requests an acknowledgement */
	first[11] += 2;
	give(&net->node[1], first, first_len);
	first[11] -= 2;
	give(&net->node[1], first, first_len);
	assert_int_equal(adv_engine_tx(net->node[1].e, net->now, &net->batch), 1);
	assert_true(adv_headers_decode(answer->header, answer->header_len, &h) > 0);
	assert_int_equal(h.aeth.syndrome, ADV_AETH_NAK | ADV_NAK_PSN_SEQUENCE_ERROR);
	assert_int_equal(h.bth.psn, first[11] + 1u + ((uint32_t)first[10] << 8));
	net_abandon(net);
}

static struct {
	bool lost;
	uint64_t apart; /* ns from one copy to the next */
	unsigned naks;
} storm;

/* Drops one packet inside the message, and delivers each NAK nine times. */
static void repeat_naks(struct net *net, struct wire *w)
{
	if (w->from == 0 && !storm.lost && w->h.bth.opcode == ADV_OP_WRITE_MIDDLE) {
		storm.lost = true;
		w->copies = 0;
	}
	if (w->from == 1 && w->h.aeth.syndrome == (ADV_AETH_NAK | ADV_NAK_PSN_SEQUENCE_ERROR)) {
		w->copies = 9;
		w->delay = storm.apart;
		storm.naks++;
	}
}

/* One loss costs one retry, even if its NAK is repeated before and after the retransmission. */
static void test_repeated_nak(void **state)
{
	static const uint64_t apart[] = {1, 100, 700, 1500, 10000};

	for (unsigned i = 0; i < ADV_ARRAY_SIZE(apart); i++) {
		struct options o = options_default(IBV_QPT_RC);
		struct net *net = net_open(2, 1);
		struct region *ra = region_open(&net->node[0], 1 << 16, ALL_ACCESS);
		struct region *rb = region_open(&net->node[1], 1 << 16, ALL_ACCESS);
		const struct adv_engine_counters *c = adv_engine_counters(net->node[0].e);
		struct end *a, *b;

		memset(&storm, 0, sizeof(storm));
		storm.apart = apart[i];
		o.retry_cnt = 1;
		net->hook = repeat_naks;
		region_fill(ra, 3);
		pair_open(net, &o, &a, &b);
		end_op(a, IBV_WR_RDMA_WRITE, 1, ra, 0, 1 << 16, rb, 0);
		net_until(net, a, 1, 0, SEC);
		expect_send(a, 0, 1, IBV_WC_SUCCESS);
		expect_pattern(rb, 0, 1 << 16, 3, 0);
		assert_int_equal(storm.naks, 1);
		net_run(net, SEC);
		assert_true(c->packet_seq_err >= 1); /* NAKs that arrived before the end */
		assert_int_equal(c->local_ack_timeout_err, 0);
		assert_int_equal(end_state(a), IBV_QPS_RTS);
		net_close(net);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads),
		cmocka_unit_test(test_atomics),
		cmocka_unit_test(test_region_gone),
		cmocka_unit_test(test_own_region_gone),
		cmocka_unit_test(test_answer_behind_timeout),
		cmocka_unit_test(test_nak_before_ack),
		cmocka_unit_test(test_repeated_nak),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
