/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Runs an exchange of all opcodes, in turn with each of its packets lost, duplicated, delayed or
 * damaged. */
#include <stdlib.h>

#include "harness.h"

#define MTU   256
#define SLOT  2048
#define OPS   14
#define TURNS 3

enum mishap { LOSE, LOSE_PAIR, DOUBLE, DOUBLE_LATE, LATE, VERY_LATE };

struct plan {
	enum mishap mishap;
	uint64_t k; /* number of the affected packet */
};

struct exchange {
	struct net *net;
	struct end *a;
	struct end *b;
	struct region *ra;
	struct region *rb;
	struct plan plan;
};

static void mishap(struct net *net, struct wire *w)
{
	const struct plan *p = net->arg;

	if (w->number != p->k && !(p->mishap == LOSE_PAIR && w->number == p->k + 1))
		return;
	switch (p->mishap) {
	case LOSE:
	case LOSE_PAIR:
		w->copies = 0;
		break;
	case DOUBLE:
		w->copies = 2;
		break;
	case DOUBLE_LATE:
		w->copies = 2;
		w->delay = 50 * US;
		break;
	case LATE:
		w->delay = 1500;
		break;
	case VERY_LATE:
		w->delay = 9 * MS;
		break;
	}
}

/* Request i of the exchange uses slot i at both ends; the lengths are of several packets and of
 * none. */
static const struct {
	int opcode;
	uint32_t len;
} ops[OPS] = {
	{IBV_WR_SEND, 5 * MTU + 1},
	{IBV_WR_RDMA_WRITE, 3 * MTU},
	{IBV_WR_RDMA_READ, 6 * MTU - 1},
	{IBV_WR_ATOMIC_FETCH_AND_ADD, 8},
	{IBV_WR_SEND, 0},
	{IBV_WR_RDMA_WRITE_WITH_IMM, 2 * MTU + 9},
	{IBV_WR_ATOMIC_CMP_AND_SWP, 8},
	{IBV_WR_RDMA_READ, 0},
	{ADV_WR_ATOMIC_WRITE, 0},
	{ADV_WR_FLUSH, 0},
	{IBV_WR_SEND_WITH_IMM, MTU},
	{IBV_WR_RDMA_READ, MTU + 1},
	{IBV_WR_RDMA_READ, 1},
	{IBV_WR_RDMA_WRITE, 1},
};

static bool takes_recv(int opcode)
{
	return opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM ||
	       opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static void store(struct region *r, uint64_t offset, uint64_t v)
{
	memcpy(r->buf + offset, &v, sizeof(v));
}

static uint64_t load(const struct region *r, uint64_t offset)
{
	uint64_t v;

	memcpy(&v, r->buf + offset, sizeof(v));
	return v;
}

static void post_all(struct exchange *x)
{
	for (unsigned i = 0; i < OPS; i++)
		if (takes_recv(ops[i].opcode))
			end_recv(x->b, 100 + i, x->rb, i * SLOT, SLOT);
	for (unsigned i = 0; i < OPS; i++) {
		struct wr wr;

		wr_make(&wr, ops[i].opcode, i, 0);
		if (ops[i].len)
			wr_sge(&wr, x->ra, i * SLOT, ops[i].len);
		if (ops[i].opcode != IBV_WR_SEND && ops[i].opcode != IBV_WR_SEND_WITH_IMM)
			wr_remote(&wr, x->rb, i * SLOT);
		if (ops[i].opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
			wr.w.wr.atomic.compare_add = 5;
		if (ops[i].opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
			wr.w.wr.atomic.compare_add = 1000;
			wr.w.wr.atomic.swap = 2000;
		}
		if (ops[i].opcode == ADV_WR_ATOMIC_WRITE)
			wr.w.wr.atomic.compare_add = 4242;
		if (ops[i].opcode == ADV_WR_FLUSH)
			wr.w.wr.atomic.swap = 1;
		assert_int_equal(end_send(x->a, &wr), 0);
	}
}

static void expect_slot(const struct exchange *x, unsigned i)
{
	switch (ops[i].opcode) {
	case IBV_WR_RDMA_READ:
		expect_pattern(x->ra, i * SLOT, ops[i].len, 2, i * SLOT);
		break;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		assert_true(load(x->ra, i * SLOT) == 1000);
		assert_true(load(x->rb, i * SLOT) == 1005);
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		assert_true(load(x->ra, i * SLOT) == 1000);
		assert_true(load(x->rb, i * SLOT) == 2000);
		break;
	case ADV_WR_ATOMIC_WRITE:
		assert_true(load(x->rb, i * SLOT) == 4242);
		break;
	default:
		expect_pattern(x->rb, i * SLOT, ops[i].len, 1, i * SLOT);
		expect_pattern(x->rb, i * SLOT + ops[i].len, SLOT - ops[i].len, 2,
			       i * SLOT + ops[i].len);
	}
}

static void expect_all(const struct exchange *x)
{
	unsigned recvs = 0;

	assert_int_equal(x->a->send_count, OPS);
	for (unsigned i = 0; i < OPS; i++) {
		expect_send(x->a, i, i, IBV_WC_SUCCESS);
		expect_slot(x, i);
		if (!takes_recv(ops[i].opcode))
			continue;
		expect_recv(x->b, recvs, 100 + i, IBV_WC_SUCCESS);
		assert_int_equal(x->b->recvs[recvs].wc.byte_len, ops[i].len);
		recvs++;
	}
	assert_int_equal(x->b->recv_count, recvs);
	assert_int_equal(adv_engine_counters(x->net->node[1].e)->rx_atomic_requests, 2);
}

/* How the engines recover from a loss. */
enum kind { GO_BACK_N, GO_BACK_0, SELECTIVE };

/* Runs the exchange with a fault of packet k. Returns the number of sent packets. */
static uint64_t run(enum mishap m, uint64_t k, uint32_t first_psn, enum kind kind)
{
	struct adv_engine_config config = {.seed = {1, 2, 3, 4},
					   .go_back_0 = kind == GO_BACK_0,
					   .selective = kind == SELECTIVE};
	struct options o = options_default(IBV_QPT_RC);
	struct exchange x = {.plan = {m, k}};
	uint64_t sent;

	x.net = net_open_config(2, &config);
	x.net->hook = mishap;
	x.net->arg = &x.plan;
	o.mtu = IBV_MTU_256;
	o.psn[0] = first_psn;
	o.max_rd_atomic = o.max_dest_rd_atomic = 3;
	x.ra = region_open(&x.net->node[0], OPS * SLOT, ALL_ACCESS);
	x.rb = region_open(&x.net->node[1], OPS * SLOT, ALL_ACCESS);
	region_fill(x.ra, 1);
	region_fill(x.rb, 2);
	store(x.rb, 3 * SLOT, 1000);
	store(x.rb, 6 * SLOT, 1000);
	pair_open(x.net, &o, &x.a, &x.b);
	post_all(&x);
	net_run(x.net, SEC);
	expect_all(&x);
	sent = x.net->sent;
	end_close(x.a);
	end_close(x.b);
	net_close(x.net);
	return sent;
}

static void each_in_turn(enum mishap m)
{
	for (enum kind kind = GO_BACK_N; kind <= SELECTIVE; kind++) {
		uint64_t count = run(LOSE, UINT64_MAX - 1, 0, kind);

		assert_true(count > 30);
		for (uint64_t k = 0; k < count; k++) {
			run(m, k, 0xfffff0, kind);
			run(m, k, 17, kind);
		}
	}
}

static void test_each_packet_lost(void **state)
{
	each_in_turn(LOSE);
}

static void test_each_two_packets_lost(void **state)
{
	each_in_turn(LOSE_PAIR);
}

static void test_each_packet_doubled(void **state)
{
	each_in_turn(DOUBLE);
}

static void test_each_packet_doubled_late(void **state)
{
	each_in_turn(DOUBLE_LATE);
}

static void test_each_packet_overtaken(void **state)
{
	each_in_turn(LATE);
}

static void test_each_packet_very_late(void **state)
{
	each_in_turn(VERY_LATE);
}

/* UC does not deliver a message that lost a packet, but delivers the messages before and after
 * it. */
static void test_uc_message_with_a_lost_packet(void **state)
{
	for (uint64_t k = 0; k < 9; k++) {
		struct options o = options_default(IBV_QPT_UC);
		struct net *net = net_open(2, 1);
		struct region *ra = region_open(&net->node[0], 4096, ALL_ACCESS);
		struct region *rb = region_open(&net->node[1], 4096, ALL_ACCESS);
		struct plan plan = {LOSE, k};
		struct end *a, *b;

		region_fill(ra, 1);
		net->hook = mishap;
		net->arg = &plan;
		o.mtu = IBV_MTU_256;
		pair_open(net, &o, &a, &b);
		for (unsigned i = 0; i < TURNS; i++) {
			end_recv(b, i, rb, i * 1024, 1024);
			end_op(a, IBV_WR_SEND, i, ra, i * 768, 700, NULL, 0);
		}
		net_run(net, SEC);
		assert_int_equal(a->send_count, TURNS);
		assert_int_equal(b->recv_count, TURNS - 1);
		for (unsigned i = 0, n = 0; i < TURNS; i++) {
			if (i == k / 3)
				continue;
			expect_recv(b, n, n, IBV_WC_SUCCESS);
			expect_pattern(rb, n * 1024, 700, 1, i * 768);
			n++;
		}
		net_close(net);
	}
}

/* Drops packets of a burst that a buffer on the path has no room for. */
struct burst {
	uint64_t began;
	unsigned packets;
};

static void cut_short(struct net *net, struct wire *w)
{
	struct burst *b = net->arg;

	if (w->from != 0)
		return;
	if (b->packets == 0 || w->sent > b->began + 100 * US) {
		b->began = w->sent;
		b->packets = 0;
	}
	if (++b->packets > 3)
		w->copies = 0;
}

/* If only the first three packets of each transmission arrive, each timeout still transfers a part
 * of the message, so it never fails. */
static void test_only_the_beginning_comes_through(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct net *net = net_open(2, 1);
	struct region *ra = region_open(&net->node[0], 16384, ALL_ACCESS);
	struct region *rb = region_open(&net->node[1], 16384, ALL_ACCESS);
	struct burst burst = {.packets = 0};
	struct end *a, *b;

	region_fill(ra, 1);
	net->hook = cut_short;
	net->arg = &burst;
	o.mtu = IBV_MTU_256;
	pair_open(net, &o, &a, &b);
	end_op(a, IBV_WR_RDMA_WRITE, 7, ra, 0, 40 * 256, rb, 0);
	net_until(net, a, 1, 0, 100 * SEC);
	net_run(net, SEC);
	expect_send(a, 0, 7, IBV_WC_SUCCESS);
	expect_pattern(rb, 0, 40 * 256, 1, 0);
	net_close(net);
}

/* A lost FIRST or MIDDLE packet of a UC WRITE damages its message, but not the next message. */
static void test_uc_write_with_a_lost_packet(void **state)
{
	for (uint64_t k = 0; k < 6; k++) {
		struct options o = options_default(IBV_QPT_UC);
		struct net *net = net_open(2, 1);
		struct region *ra = region_open(&net->node[0], 4096, ALL_ACCESS);
		struct region *rb = region_open(&net->node[1], 4096, ALL_ACCESS);
		struct plan plan = {LOSE, k};
		struct end *a, *b;

		region_fill(ra, 1);
		net->hook = mishap;
		net->arg = &plan;
		o.mtu = IBV_MTU_256;
		pair_open(net, &o, &a, &b);
		end_recv(b, 0, NULL, 0, 0);
		end_recv(b, 1, NULL, 0, 0);
		end_op(a, IBV_WR_RDMA_WRITE_WITH_IMM, 0, ra, 0, 700, rb, 0);
		end_op(a, IBV_WR_RDMA_WRITE_WITH_IMM, 1, ra, 1000, 700, rb, 1000);
		net_run(net, SEC);
		assert_int_equal(b->recv_count, 1);
		expect_recv(b, 0, 0, IBV_WC_SUCCESS);
		expect_pattern(rb, k < 3 ? 1000 : 0, 700, 1, k < 3 ? 1000 : 0);
		net_close(net);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_packet_lost),
		cmocka_unit_test(test_each_two_packets_lost),
		cmocka_unit_test(test_each_packet_doubled),
		cmocka_unit_test(test_each_packet_doubled_late),
		cmocka_unit_test(test_each_packet_overtaken),
		cmocka_unit_test(test_each_packet_very_late),
		cmocka_unit_test(test_only_the_beginning_comes_through),
		cmocka_unit_test(test_uc_message_with_a_lost_packet),
		cmocka_unit_test(test_uc_write_with_a_lost_packet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
