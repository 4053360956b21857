/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A responder whose peers request much data with few packets: READs of 1 GiB each, repeatedly. The
 * number of packets that it sends at once is bounded, and its queue pairs take turns. Duplicate
 * requests are answered in proportion to the original requests. Deregistered memory is not read any
 * more.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "base/array.h"
#include "../engine/harness.h"

#define MTU    1024u
#define GIB    (1u << 30)
#define READS  16
#define WINDOW 8 /* packets */

/* A packet that the responder's node sent. */
struct sent {
	uint32_t dest_qpn;
	uint32_t psn;
	uint8_t opcode;
	uint8_t syndrome;
	uint32_t payload_len;
};

/* Node 1 is the responder. The network hook records and drops its packets. */
struct bed {
	struct net *net;
	struct options o;
	struct end *a, *b; /* the first pair */
	uint8_t *memory; /* GIB bytes without access rights, because the engine does not access them
			  */
	struct adv_mr *mr;
	uint32_t rkey; /* stays set after deregistration */
	struct adv_tx_batch batch;
	struct sent sent[ADV_TX_BATCH_PACKETS];
};

static void bed_open(struct bed *bed)
{
	struct adv_engine_config c = {.seed = {1}, .window = WINDOW};

	memset(bed, 0, sizeof(*bed));
	bed->net = net_open_config(2, &c);
	bed->o = options_default(IBV_QPT_RC);
	bed->o.max_rd_atomic = bed->o.max_dest_rd_atomic = READS;
	bed->memory =
		mmap(NULL, GIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_true(bed->memory != MAP_FAILED);
	bed->mr = adv_mr_register(bed->net->node[1].pd, bed->memory, GIB, 0, ALL_ACCESS);
	assert_non_null(bed->mr);
	bed->rkey = adv_mr_rkey(bed->mr);
	pair_open(bed->net, &bed->o, &bed->a, &bed->b);
}

static void bed_close(struct bed *bed)
{
	net_abandon(bed->net);
	assert_int_equal(munmap(bed->memory, GIB), 0);
}

/* Sends a READ request of `length` bytes from byte `offset` on. Its PSN is `ahead` after the first
 * PSN of the connection. */
static void ask(struct bed *bed, const struct end *to, uint32_t ahead, uint64_t offset,
		uint32_t length)
{
	struct adv_headers h = {0};

	h.bth.opcode = ADV_OP_READ_REQUEST;
	h.bth.pkey = ADV_PKEY_DEFAULT;
	h.bth.dest_qpn = adv_qp_num(to->qp);
	h.bth.psn = adv_psn_add(bed->o.psn[0], ahead);
	h.reth.va = offset;
	h.reth.rkey = bed->rkey;
	h.reth.length = length;
	net_inject_packet(bed->net, 0, 1, &h, 0);
}

/* Sends at most `limit` packets of the responder's node in one call. */
static unsigned send_some(struct bed *bed, unsigned limit)
{
	unsigned n = adv_engine_tx_some(bed->net->node[1].e, bed->net->now, &bed->batch, limit);

	assert_true(n <= limit);
	for (unsigned i = 0; i < n; i++) {
		const struct adv_tx_packet *pkt = &bed->batch.packet[i];
		struct adv_headers h;

		assert_true(adv_headers_decode(pkt->header, pkt->header_len, &h) > 0);
		bed->sent[i] = (struct sent){h.bth.dest_qpn, h.bth.psn, h.bth.opcode,
					     h.aeth.syndrome, pkt->payload_len};
	}
	return n;
}

/* Sends all packets that the node has to send. Fails the test if there are more than `most`. */
static unsigned send_all(struct bed *bed, unsigned most)
{
	unsigned packets = 0, n;

	while ((n = send_some(bed, ADV_TX_BATCH_PACKETS)) > 0) {
		packets += n;
		assert_true(packets <= most);
	}
	return packets;
}

/* ---- turns ---- */

static void ask_for_much(struct bed *bed, const struct end *to)
{
	for (uint32_t i = 0; i < READS; i++)
		ask(bed, to, i * (GIB / MTU), 0, GIB);
}

static void post_write(const struct end *end, uint64_t wr_id)
{
	struct ibv_send_wr wr = {.wr_id = wr_id, .opcode = IBV_WR_RDMA_WRITE};
	struct ibv_send_wr *bad;

	wr.wr.rdma.remote_addr = wr_id;
	assert_int_equal(adv_qp_post_send(end->qp, 0, &wr, &bad), 0);
}

/* Returns the packets before the node's first WRITE, in calls of `limit` packets each. */
static unsigned packets_before_write(struct bed *bed, unsigned limit)
{
	for (unsigned packets = 0; packets < 1000;) {
		unsigned n = send_some(bed, limit);

		assert_true(n > 0);
		for (unsigned i = 0; i < n; i++, packets++)
			if (bed->sent[i].opcode == ADV_OP_WRITE_ONLY)
				return packets;
	}
	return UINT32_MAX;
}

/* Two queue pairs have endless responses. The requests of one of them, and of a third queue pair,
 * still get their turns. */
static void test_requests_among_answers(void **state)
{
	static const unsigned limits[] = {1, 2, 31, 32, 33, ADV_TX_BATCH_PACKETS};

	for (size_t k = 0; k < ADV_ARRAY_SIZE(limits); k++) {
		struct end *a2, *b2, *a3, *b3;
		struct bed bed;

		bed_open(&bed);
		pair_open(bed.net, &bed.o, &a2, &b2);
		pair_open(bed.net, &bed.o, &a3, &b3);
		ask_for_much(&bed, bed.b);
		ask_for_much(&bed, b2);
		for (unsigned i = 0; i < 100; i++)
			assert_true(send_some(&bed, limits[k]) > 0);
		for (uint64_t i = 0; i < WINDOW; i++) {
			post_write(i % 2 ? bed.b : b3, i);
			assert_true(packets_before_write(&bed, limits[k]) <= 4 * ADV_QUANTUM);
		}
		bed_close(&bed);
	}
}

/* Responding queue pairs have equal shares, for any number of packets in a call. */
static void test_shares(void **state)
{
	static const unsigned limits[] = {1, 7, ADV_TX_BATCH_PACKETS};

	for (size_t k = 0; k < ADV_ARRAY_SIZE(limits); k++) {
		unsigned share[3] = {0};
		struct end *a[3], *b[3];
		struct bed bed;

		bed_open(&bed);
		a[0] = bed.a;
		b[0] = bed.b;
		for (unsigned i = 1; i < 3; i++)
			pair_open(bed.net, &bed.o, &a[i], &b[i]);
		for (unsigned i = 0; i < 3; i++)
			ask_for_much(&bed, b[i]);
		for (unsigned packets = 0; packets < 9000;) {
			unsigned n = send_some(&bed, limits[k]);

			packets += n;
			for (unsigned i = 0; i < n; i++)
				for (unsigned q = 0; q < 3; q++)
					share[q] += bed.sent[i].dest_qpn == adv_qp_num(a[q]->qp);
		}
		for (unsigned q = 0; q < 3; q++)
			assert_in_range(share[q], 3000 - 2 * ADV_TX_BATCH_PACKETS,
					3000 + 2 * ADV_TX_BATCH_PACKETS);
		bed_close(&bed);
	}
}

/* ---- duplicate requests ---- */

/* A duplicate request is answered from its PSN on, and only once if it arrives several times before
 * the answer. */
static void test_restart(void **state)
{
	struct bed bed;

	bed_open(&bed);
	ask(&bed, bed.b, 0, 0, GIB);
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(send_some(&bed, 10), 10);
	for (unsigned i = 0; i < 50; i++)
		ask(&bed, bed.b, 40, 40 * MTU, GIB - 40 * MTU);
	for (unsigned i = 0; i < 100; i++) {
		assert_int_equal(send_some(&bed, 1), 1);
		assert_int_equal(bed.sent[0].psn, adv_psn_add(bed.o.psn[0], 40 + i));
	}
	bed_close(&bed);
}

/* Each duplicate request permits one window of packets, and all duplicates together permit as many
 * packets as were requested originally. */
static void test_repeated_requests(void **state)
{
	const unsigned packets = 2048, repeats = 40;
	unsigned sent;
	struct bed bed;

	bed_open(&bed);
	ask(&bed, bed.b, 0, 0, packets * MTU);
	assert_int_equal(send_all(&bed, packets), packets);
	sent = packets;
	for (unsigned i = 0; i < repeats; i++) {
		ask(&bed, bed.b, 0, 0, packets * MTU);
		sent += send_all(&bed, packets);
	}
	assert_int_equal(sent, 2 * packets + repeats * WINDOW);
	/* The bound also holds if each duplicate cuts off the previous response. */
	for (unsigned i = 0; i < repeats; i++) {
		ask(&bed, bed.b, 0, 0, packets * MTU);
		assert_true(send_some(&bed, WINDOW / 2) == WINDOW / 2);
	}
	assert_int_equal(send_all(&bed, WINDOW), WINDOW / 2);
	bed_close(&bed);
}

/* With duplicates of a READ in progress, the number of sent packets stays in proportion to the
 * number of new packets. */
static void test_repeated_amidst(void **state)
{
	const unsigned repeats = 40, step = 1000;
	unsigned sent = 0, newest = 0;
	struct bed bed;

	bed_open(&bed);
	ask(&bed, bed.b, 0, 0, GIB);
	for (unsigned i = 0; i < repeats; i++) {
		for (unsigned n = 0; n < step; n += 50) {
			unsigned got = send_some(&bed, 50);

			sent += got;
			for (unsigned k = 0; k < got; k++)
				if (bed.sent[k].psn - bed.o.psn[0] >= newest)
					newest = bed.sent[k].psn - bed.o.psn[0] + 1;
		}
		ask(&bed, bed.b, 0, 0, GIB);
	}
	assert_true(newest >= step);
	assert_true(sent <= 2 * newest + repeats * WINDOW);
	bed_close(&bed);
}

/* A response stops after the permitted packets. The peer then gets the rest by a further
 * request. */
static void test_goes_on(void **state)
{
	const uint32_t packets = 10 * WINDOW;
	struct bed bed;

	bed_open(&bed);
	ask(&bed, bed.b, 0, 0, packets * MTU);
	assert_int_equal(send_all(&bed, packets), packets);
	ask(&bed, bed.b, 0, 0, packets * MTU);
	assert_true(send_all(&bed, packets) <= packets);
	for (uint32_t next = 0; next < packets;) {
		unsigned n;

		ask(&bed, bed.b, next, (uint64_t)next * MTU, (packets - next) * MTU);
		n = send_some(&bed, ADV_TX_BATCH_PACKETS);
		assert_in_range(n, 1, 2 * WINDOW);
		for (unsigned i = 0; i < n; i++, next++) {
			bool last = next == packets - 1;

			assert_int_equal(bed.sent[i].psn, adv_psn_add(bed.o.psn[0], next));
			assert_int_equal(bed.sent[i].payload_len, MTU);
			assert_int_equal(bed.sent[i].opcode, last ? ADV_OP_READ_RESPONSE_LAST
							     : i == 0
								     ? ADV_OP_READ_RESPONSE_FIRST
								     : ADV_OP_READ_RESPONSE_MIDDLE);
		}
		assert_int_equal(send_all(&bed, 0), 0);
	}
	/* New requests are answered as before. */
	ask(&bed, bed.b, packets, 0, 3000);
	assert_int_equal(send_all(&bed, 3), 3);
	bed_close(&bed);
}

/* A part of a response may be requested again, in whole packets. Only that part is sent, and a
 * response in progress is not cut short. No bytes beyond the original request are sent. */
static void test_part(void **state)
{
	const uint32_t packets = 10;
	struct bed bed;

	bed_open(&bed);
	ask(&bed, bed.b, 0, 0, packets * MTU - 1);
	assert_int_equal(send_some(&bed, 5), 5);
	ask(&bed, bed.b, 2, 2 * MTU, MTU);
	assert_int_equal(send_all(&bed, packets), packets - 5);
	ask(&bed, bed.b, 2, 2 * MTU, MTU);
	assert_int_equal(send_some(&bed, packets), 1);
	assert_int_equal(bed.sent[0].psn, adv_psn_add(bed.o.psn[0], 2));
	assert_int_equal(bed.sent[0].opcode, ADV_OP_READ_RESPONSE_ONLY);
	assert_int_equal(bed.sent[0].payload_len, MTU);
	assert_int_equal(send_all(&bed, 0), 0);
	ask(&bed, bed.b, 3, 3 * MTU, 2 * MTU);
	assert_int_equal(send_all(&bed, packets), 2);
	ask(&bed, bed.b, 8, 8 * MTU, 2 * MTU - 1);
	assert_int_equal(send_some(&bed, packets), 2);
	assert_int_equal(bed.sent[1].payload_len, MTU - 1);
	ask(&bed, bed.b, 8, 8 * MTU, 2 * MTU);
	ask(&bed, bed.b, 8, 8 * MTU, 3 * MTU);
	ask(&bed, bed.b, 2, 2 * MTU, MTU - 1);
	ask(&bed, bed.b, 2, 2 * MTU, 0);
	ask(&bed, bed.b, 2, 3 * MTU, MTU);
	assert_int_equal(send_all(&bed, 0), 0);
	bed_close(&bed);
}

static void lose_some(struct net *net, struct wire *w)
{
	w->copies = adv_rng_below(net->arg, 8) != 0;
}

/* A requester whose READs are much longer than the responder's window receives everything, with any
 * loss. */
static void test_small_responder(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct adv_engine_config c = {.seed = {1}, .window = 128};
	struct net *net = net_open_config(2, &c);
	struct region *ra = region_open(&net->node[0], 400000, ALL_ACCESS);
	struct region *rb = region_open(&net->node[1], 400000, ALL_ACCESS);
	struct adv_rng dice;
	struct end *a, *b;

	net->node[1].e->window = 1;
	adv_rng_seed(&dice, 5);
	net->arg = &dice;
	net->hook = lose_some;
	region_fill(rb, 3);
	pair_open(net, &o, &a, &b);
	for (uint64_t i = 0; i < 4; i++)
		end_op(a, IBV_WR_RDMA_READ, i, ra, i * 100000, 100000, rb, i * 100000);
	net_until(net, a, 4, 0, 100 * SEC);
	for (unsigned i = 0; i < 4; i++)
		expect_send(a, i, i, IBV_WC_SUCCESS);
	expect_pattern(ra, 0, 400000, 3, 0);
	net->hook = NULL;
	net_run(net, SEC);
	net_close(net);
}

/* ---- deregistered memory ---- */

static void lose_region(struct bed *bed)
{
	assert_int_equal(adv_mr_deregister(bed->mr), 0);
}

static void lose_access(struct bed *bed)
{
	assert_int_equal(adv_mr_reregister(bed->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0,
					   ALL_ACCESS & ~IBV_ACCESS_REMOTE_READ),
			 0);
}

static void lose_domain(struct bed *bed)
{
	assert_int_equal(adv_mr_reregister(bed->mr, IBV_REREG_MR_CHANGE_PD,
					   adv_pd_create(bed->net->node[1].e), NULL, 0, 0, 0),
			 0);
}

static void lose_end(struct bed *bed)
{
	assert_int_equal(adv_mr_reregister(bed->mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
					   bed->memory, 4 * MTU, 0, 0),
			 0);
}

static void (*const losses[])(struct bed *bed) = {lose_region, lose_access, lose_domain, lose_end};

/* If the region is deregistered during a response, no further byte is read, and the peer gets a
 * NAK. */
static void test_taken_away(void **state)
{
	for (size_t i = 0; i < ADV_ARRAY_SIZE(losses); i++) {
		struct bed bed;

		bed_open(&bed);
		ask(&bed, bed.b, 0, 0, GIB);
		assert_int_equal(send_some(&bed, 10), 10);
		losses[i](&bed);
		assert_int_equal(send_some(&bed, ADV_TX_BATCH_PACKETS), 1);
		assert_int_equal(bed.sent[0].opcode, ADV_OP_ACKNOWLEDGE);
		assert_int_equal(bed.sent[0].syndrome, ADV_AETH_NAK | ADV_NAK_REMOTE_ACCESS_ERROR);
		assert_int_equal(bed.sent[0].psn, adv_psn_add(bed.o.psn[0], 10));
		assert_int_equal(send_all(&bed, 0), 0);
		assert_int_equal(end_state(bed.b), IBV_QPS_ERR);
		bed_close(&bed);
	}
}

/* If the region is deregistered before a duplicate request, the memory is not read, and the
 * connection continues. */
static void test_taken_away_after(void **state)
{
	for (size_t i = 0; i < ADV_ARRAY_SIZE(losses); i++) {
		struct bed bed;

		bed_open(&bed);
		ask(&bed, bed.b, 0, 5 * MTU, 5 * MTU);
		assert_int_equal(send_all(&bed, 5), 5);
		losses[i](&bed);
		ask(&bed, bed.b, 0, 5 * MTU, 5 * MTU);
		assert_int_equal(send_all(&bed, 0), 0);
		assert_int_equal(end_state(bed.b), IBV_QPS_RTS);
		bed_close(&bed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests_among_answers),
		cmocka_unit_test(test_shares),
		cmocka_unit_test(test_restart),
		cmocka_unit_test(test_repeated_requests),
		cmocka_unit_test(test_repeated_amidst),
		cmocka_unit_test(test_goes_on),
		cmocka_unit_test(test_part),
		cmocka_unit_test(test_small_responder),
		cmocka_unit_test(test_taken_away),
		cmocka_unit_test(test_taken_away_after),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
