/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A slow peer that answers packets later than the timeout. It handles all packets in order, and
 * needs `service` ns for each packet, also for a duplicate. Retransmissions must not overload it.
 */
#include "../engine/harness.h"

#define PAIRS	4
#define MESSAGE 65536
#define MTU	1024
#define EACH	16 /* messages of each pair */

/* The peer handles one packet after the other. */
struct slow {
	unsigned node; /* 0: packets from node 0 to the peer take the time; 1: packets from the peer
			*/
	uint64_t service; /* time of a packet, ns */
	uint64_t free_at;
	unsigned taken;
};

static void queue_up(struct net *net, struct wire *w)
{
	struct slow *slow = net->arg;
	uint64_t arrives = net->now + NET_DELAY;

	if (w->from != slow->node)
		return;
	slow->taken++;
	if (slow->free_at < arrives)
		slow->free_at = arrives;
	slow->free_at += slow->service;
	w->delay = slow->free_at - net->now;
}

struct bed {
	struct net *net;
	struct end *a[PAIRS];
	struct end *b[PAIRS];
	struct region *ra;
	struct region *rb;
	struct slow slow;
};

/* Opens pairs with timeout 14 as in perftest, which is 67 ms. A retry lasts four timeouts. The
 * windows are those of the device. */
static void bed_open(struct bed *bed, uint64_t service, unsigned node)
{
	struct adv_engine_config c = {
		.seed = {1}, .timeout_ticks = 4, .window = 256, .total_window = 744};
	struct options o = options_default(IBV_QPT_RC);

	memset(bed, 0, sizeof(*bed));
	bed->slow.service = service;
	bed->slow.node = node;
	bed->net = net_open_config(2, &c);
	bed->net->hook = queue_up;
	bed->net->arg = &bed->slow;
	bed->ra = region_open(&bed->net->node[0], PAIRS * MESSAGE, ALL_ACCESS);
	bed->rb = region_open(&bed->net->node[1], PAIRS * MESSAGE, ALL_ACCESS);
	region_fill(bed->ra, 1);
	region_fill(bed->rb, 2);
	o.timeout = 14;
	for (unsigned i = 0; i < PAIRS; i++)
		pair_open(bed->net, &o, &bed->a[i], &bed->b[i]);
}

/* Checks that all requests complete, and that retransmissions add at most a quarter to the packets
 * of the peer. */
static void expect_done(struct bed *bed, unsigned count, unsigned packets)
{
	for (unsigned i = 0; i < PAIRS; i++) {
		net_until(bed->net, bed->a[i], count, 0, 1000 * SEC);
		for (unsigned k = 0; k < count; k++)
			expect_send(bed->a[i], k, k, IBV_WC_SUCCESS);
	}
	assert_true(adv_engine_counters(bed->net->node[0].e)->local_ack_timeout_err > 0);
	assert_in_range(bed->slow.taken, packets, packets + packets / 4);
	net_run(bed->net, 100 * SEC);
	net_close(bed->net);
}

static void stream(int opcode, uint64_t service)
{
	struct bed bed;

	bed_open(&bed, service, opcode == IBV_WR_RDMA_READ);
	for (unsigned i = 0; i < PAIRS; i++)
		for (unsigned k = 0; k < EACH; k++) {
			if (opcode == IBV_WR_SEND)
				end_recv(bed.b[i], k, bed.rb, i * MESSAGE, MESSAGE);
			end_op(bed.a[i], opcode, k, bed.ra, i * MESSAGE, MESSAGE, bed.rb,
			       i * MESSAGE);
		}
	expect_done(&bed, EACH, PAIRS * EACH * (MESSAGE / MTU));
}

static void test_writes(void **state)
{
	for (uint64_t service = MS; service <= 4 * MS; service += MS / 2)
		stream(IBV_WR_RDMA_WRITE, service);
}

static void test_sends(void **state)
{
	for (uint64_t service = MS; service <= 4 * MS; service += MS / 2)
		stream(IBV_WR_SEND, service);
}

/* READs: each packet of a response takes the peer `service` ns, also for retransmitted requests. */
static void test_reads(void **state)
{
	for (uint64_t service = MS; service <= 5 * MS / 2; service += MS / 2)
		stream(IBV_WR_RDMA_READ, service);
}

/* Atomics: the peer executes each request once. Four of them take 100 to 400 ms. */
static void test_atomics(void **state)
{
	for (uint64_t service = 100 * MS; service <= 400 * MS; service += 100 * MS) {
		uint64_t sum = 0, found;
		struct bed bed;

		bed_open(&bed, service / PAIRS, 0);
		memset(bed.rb->buf, 0, PAIRS * 8);
		for (unsigned i = 0; i < PAIRS; i++)
			for (unsigned k = 0; k < EACH; k++)
				end_op(bed.a[i], IBV_WR_ATOMIC_FETCH_AND_ADD, k, bed.ra, 0, 8,
				       bed.rb, i * 8);
		for (unsigned i = 0; i < PAIRS; i++) {
			net_until(bed.net, bed.a[i], EACH, 0, 1000 * SEC);
			expect_send(bed.a[i], EACH - 1, EACH - 1, IBV_WC_SUCCESS);
			memcpy(&found, bed.rb->buf + i * 8, 8);
			sum += found;
		}
		assert_int_equal(sum, 0);
		assert_int_equal(adv_engine_counters(bed.net->node[1].e)->rx_atomic_requests,
				 PAIRS * EACH);
		net_run(bed.net, 100 * SEC);
		net_close(bed.net);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_writes),
		cmocka_unit_test(test_sends),
		cmocka_unit_test(test_reads),
		cmocka_unit_test(test_atomics),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
