/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests every opcode in every size class over every path MTU, odd scatter lists, and the wrap of
 * PSNs. */
#include <stdlib.h>

#include "base/array.h"
#include "harness.h"

#define SPACE (6 * 4096)
#define IMM   0x12345678
#define LOCAL 11
#define FAR   77
#define BIG   (8u << 20)
#define GRH   40

struct bed {
	struct net *net;
	struct end *a;
	struct end *b;
	struct region *ra; /* memory of node 0, filled with LOCAL */
	struct region *rb; /* memory of node 1, filled with FAR */
	uint64_t ids;
};

static void bed_open(struct bed *bed, const struct options *o, uint64_t space)
{
	memset(bed, 0, sizeof(*bed));
	bed->net = net_open(2, 5);
	bed->ra = region_open(&bed->net->node[0], space, ALL_ACCESS);
	bed->rb = region_open(&bed->net->node[1], space, ALL_ACCESS);
	pair_open(bed->net, o, &bed->a, &bed->b);
}

static void bed_close(struct bed *bed)
{
	net_run(bed->net, SEC);
	end_close(bed->a);
	end_close(bed->b);
	net_close(bed->net);
}

/* Splits len bytes into `num` SGEs of odd lengths. */
static void odd_sges(struct ibv_sge *sge, int num, const struct region *r, uint32_t len)
{
	uint64_t at = r->iova;
	uint32_t left = len;

	for (int i = 0; i < num; i++) {
		uint32_t n =
			i == num - 1 ? left : (uint32_t)(i * 37 + 1) % (len / (uint32_t)num + 1);

		sge[i] = (struct ibv_sge){.addr = at, .length = n, .lkey = r->key};
		at += n;
		left -= n;
	}
}

static void post_shape(struct bed *bed, int opcode, uint32_t len, int num)
{
	struct wr wr;

	wr_make(&wr, opcode, ++bed->ids, 0);
	wr.w.imm_data = IMM;
	odd_sges(wr.sge, num, bed->ra, len);
	wr.w.num_sge = num;
	if (opcode != IBV_WR_SEND && opcode != IBV_WR_SEND_WITH_IMM)
		wr_remote(&wr, bed->rb, 0);
	assert_int_equal(end_send(bed->a, &wr), 0);
}

static bool takes_recv(int opcode)
{
	return opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM ||
	       opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static void expect_message(const struct bed *bed, int opcode, uint32_t len)
{
	unsigned n = bed->b->recv_count - 1;
	const struct ibv_wc *wc = &bed->b->recvs[n].wc;
	bool imm = opcode != IBV_WR_SEND;

	expect_recv(bed->b, n, bed->ids, IBV_WC_SUCCESS);
	assert_int_equal(wc->opcode, opcode == IBV_WR_RDMA_WRITE_WITH_IMM
					     ? IBV_WC_RECV_RDMA_WITH_IMM
					     : IBV_WC_RECV);
	assert_int_equal(wc->byte_len, len);
	assert_int_equal(wc->wc_flags & IBV_WC_WITH_IMM, imm ? IBV_WC_WITH_IMM : 0);
	if (imm)
		assert_int_equal(wc->imm_data, IMM);
	assert_int_equal(wc->src_qp, adv_qp_num(bed->a->qp));
}

static enum ibv_wc_opcode wc_opcode_of(int opcode)
{
	switch (opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return IBV_WC_RDMA_WRITE;
	case IBV_WR_RDMA_READ:
		return IBV_WC_RDMA_READ;
	default:
		return IBV_WC_SEND;
	}
}

/* Performs one request of len bytes with `num` SGEs at both ends, and checks all memory. */
static void transfer(struct bed *bed, int opcode, uint32_t len, int num)
{
	bool read = opcode == IBV_WR_RDMA_READ;
	struct region *to = read ? bed->ra : bed->rb;
	struct ibv_sge sge[32];
	unsigned n = bed->a->send_count;

	region_fill(bed->ra, LOCAL);
	region_fill(bed->rb, FAR);
	if (takes_recv(opcode)) {
		odd_sges(sge, num, bed->rb, len);
		assert_int_equal(end_recv_sges(bed->b, bed->ids + 1, sge, num), 0);
	}
	post_shape(bed, opcode, len, num);
	net_until(bed->net, bed->a, n + 1, 0, SEC);
	net_run(bed->net, 100 * US);
	expect_send(bed->a, n, bed->ids, IBV_WC_SUCCESS);
	assert_int_equal(bed->a->sends[n].wc.opcode, wc_opcode_of(opcode));
	if (takes_recv(opcode))
		expect_message(bed, opcode, len);
	expect_pattern(to, 0, len, read ? FAR : LOCAL, 0);
	expect_pattern(to, len, to->len - len, read ? LOCAL : FAR, len);
}

static void each_size(struct bed *bed, int opcode, uint32_t mtu)
{
	const uint32_t sizes[] = {0,   1,	3,	 4,	      mtu - 1,
				  mtu, mtu + 1, 2 * mtu, 3 * mtu - 1, 5 * mtu + 7};

	for (size_t i = 0; i < ADV_ARRAY_SIZE(sizes); i++) {
		transfer(bed, opcode, sizes[i], sizes[i] ? 1 : 0);
		transfer(bed, opcode, sizes[i], 3);
	}
	transfer(bed, opcode, 4 * mtu + 5, 32);
	transfer(bed, opcode, 33, 32);
}

static void each_mtu(enum ibv_qp_type type, const int *opcodes, int count, bool ipv4)
{
	for (int code = IBV_MTU_256; code <= IBV_MTU_4096; code++) {
		struct options o = options_default(type);
		struct bed bed;

		o.mtu = (enum ibv_mtu)code;
		o.ipv4 = ipv4;
		bed_open(&bed, &o, SPACE);
		for (int i = 0; i < count; i++)
			each_size(&bed, opcodes[i], adv_mtu_bytes(code));
		bed_close(&bed);
	}
}

static void test_rc(void **state)
{
	static const int opcodes[] = {IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE,
				      IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ};

	each_mtu(IBV_QPT_RC, opcodes, 5, false);
}

static void test_uc(void **state)
{
	static const int opcodes[] = {IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE,
				      IBV_WR_RDMA_WRITE_WITH_IMM};

	each_mtu(IBV_QPT_UC, opcodes, 4, true);
}

static uint64_t load(const struct region *r, uint64_t offset)
{
	uint64_t v;

	memcpy(&v, r->buf + offset, sizeof(v));
	return v;
}

static void store(struct region *r, uint64_t offset, uint64_t v)
{
	memcpy(r->buf + offset, &v, sizeof(v));
}

static void atomic(struct bed *bed, int opcode, uint64_t add, uint64_t swap, uint64_t offset)
{
	unsigned n = bed->a->send_count;
	struct wr wr;

	wr_make(&wr, opcode, ++bed->ids, 0);
	/* The result goes to SGEs of 3, 0 and 5 bytes. */
	wr_sge(&wr, bed->ra, 1, 3);
	wr_sge(&wr, bed->ra, 4, 0);
	wr_sge(&wr, bed->ra, 4, 5);
	wr_remote(&wr, bed->rb, offset);
	wr.w.wr.atomic.compare_add = add;
	wr.w.wr.atomic.swap = swap;
	assert_int_equal(end_send(bed->a, &wr), 0);
	net_until(bed->net, bed->a, n + 1, 0, SEC);
	expect_send(bed->a, n, bed->ids, IBV_WC_SUCCESS);
	assert_int_equal(bed->a->sends[n].wc.opcode,
			 opcode == IBV_WR_ATOMIC_CMP_AND_SWP ? IBV_WC_COMP_SWAP : IBV_WC_FETCH_ADD);
}

static void test_atomics(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	const uint64_t start = 0xfedcba9876543210;
	struct bed bed;

	bed_open(&bed, &o, 64);
	store(bed.rb, 8, start);
	atomic(&bed, IBV_WR_ATOMIC_FETCH_AND_ADD, 0x0123456789abcdf0, 0, 8);
	assert_true(load(bed.ra, 1) == start);
	assert_true(load(bed.rb, 8) == 0); /* wraps */
	atomic(&bed, IBV_WR_ATOMIC_CMP_AND_SWP, 1, 99, 8);
	assert_true(load(bed.ra, 1) == 0 && load(bed.rb, 8) == 0);
	atomic(&bed, IBV_WR_ATOMIC_CMP_AND_SWP, 0, 99, 8);
	assert_true(load(bed.ra, 1) == 0 && load(bed.rb, 8) == 99);
	atomic(&bed, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 0, 8);
	assert_true(load(bed.ra, 1) == 99 && load(bed.rb, 8) == 100);
	assert_true(load(bed.rb, 0) == 0 && load(bed.rb, 16) == 0);
	assert_int_equal(adv_engine_counters(bed.net->node[1].e)->rx_atomic_requests, 4);
	bed_close(&bed);
}

static void test_flush_and_atomic_write(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct bed bed;
	struct wr wr;

	bed_open(&bed, &o, 64);
	wr_make(&wr, ADV_WR_ATOMIC_WRITE, 1, 0);
	wr_remote(&wr, bed.rb, 16);
	wr.w.wr.atomic.compare_add = 0x1122334455667788;
	assert_int_equal(end_send(bed.a, &wr), 0);
	wr_make(&wr, ADV_WR_FLUSH, 2, 0);
	wr_remote(&wr, bed.rb, 16);
	wr.w.wr.atomic.compare_add = 8;
	wr.w.wr.atomic.swap = 1;
	assert_int_equal(end_send(bed.a, &wr), 0);
	/* The whole region. */
	wr_make(&wr, ADV_WR_FLUSH, 3, 0);
	wr_remote(&wr, bed.rb, 0);
	wr.w.wr.atomic.swap = 2 | 1ull << 32;
	assert_int_equal(end_send(bed.a, &wr), 0);
	net_until(bed.net, bed.a, 3, 0, SEC);
	for (unsigned i = 0; i < 3; i++)
		expect_send(bed.a, i, i + 1, IBV_WC_SUCCESS);
	assert_int_equal(bed.a->sends[0].wc.opcode, IBV_WC_ATOMIC_WRITE);
	assert_int_equal(bed.a->sends[1].wc.opcode, ADV_WC_FLUSH);
	assert_true(load(bed.rb, 16) == 0x1122334455667788);
	assert_true(load(bed.rb, 8) == 0 && load(bed.rb, 24) == 0);
	bed_close(&bed);
}

static void test_large(void **state)
{
	static const int opcodes[] = {IBV_WR_RDMA_WRITE, IBV_WR_SEND, IBV_WR_RDMA_READ};
	struct options o = options_default(IBV_QPT_RC);
	struct bed bed;

	o.mtu = IBV_MTU_4096;
	bed_open(&bed, &o, BIG + 4096);
	for (int i = 0; i < 3; i++)
		transfer(&bed, opcodes[i], BIG + 1, 7);
	assert_int_equal(adv_engine_counters(bed.net->node[0].e)->local_ack_timeout_err, 0);
	bed_close(&bed);
}

/* PSNs wrap in both directions: both start just before the largest PSN. */
static void test_psn_wrap(void **state)
{
	static const uint32_t starts[] = {0xfffffe, 0xffffff, 0, 0xfffff0, 0x7ffffe};

	for (int i = 0; i < 5; i++) {
		struct options o = options_default(IBV_QPT_RC);
		struct bed bed;

		o.mtu = IBV_MTU_256;
		o.psn[0] = starts[i];
		o.psn[1] = starts[4 - i];
		bed_open(&bed, &o, SPACE);
		transfer(&bed, IBV_WR_SEND, 256 * 5 + 3, 2);
		transfer(&bed, IBV_WR_RDMA_READ, 256 * 21 + 3, 2);
		transfer(&bed, IBV_WR_RDMA_WRITE, 256 * 5 + 3, 2);
		transfer(&bed, IBV_WR_SEND, 0, 0);
		transfer(&bed, IBV_WR_RDMA_READ, 0, 0);
		bed_close(&bed);
	}
}

/* Sends more messages than the queue holds, in both directions at once, with small windows. */
static void test_both_ways(void **state)
{
	struct adv_engine_config c = {.seed = {1}, .window = 4, .total_window = 6};
	struct options o = options_default(IBV_QPT_RC);
	struct net *net = net_open_config(2, &c);
	struct region *r[2];
	struct end *ends[2];

	pair_open(net, &o, &ends[0], &ends[1]);
	for (int i = 0; i < 2; i++) {
		r[i] = region_open(&net->node[i], 64 * 4000, ALL_ACCESS);
		region_fill(r[i], (uint8_t)i);
	}
	for (unsigned k = 0; k < 64; k++) {
		for (int i = 0; i < 2; i++) {
			end_recv(ends[i], k, r[i], k * 4000 + 2000, 2000);
			end_op(ends[!i], k % 3 ? IBV_WR_SEND : IBV_WR_SEND_WITH_IMM, k, r[!i],
			       k * 4000, 2000, NULL, 0);
		}
	}
	net_run(net, SEC);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(ends[i]->recv_count, 64);
		assert_int_equal(ends[i]->send_count, 64);
		for (unsigned k = 0; k < 64; k++) {
			expect_send(ends[i], k, k, IBV_WC_SUCCESS);
			expect_recv(ends[i], k, k, IBV_WC_SUCCESS);
			expect_pattern(r[i], k * 4000 + 2000, 2000, !i, k * 4000);
		}
	}
	net_close(net);
}

/* The READ responses of one request are more packets than a turn and than a batch. */
static void test_wide_window(void **state)
{
	struct adv_engine_config c = {.seed = {1}, .window = 256};
	struct options o = options_default(IBV_QPT_RC);
	struct net *net = net_open_config(2, &c);
	struct region *ra = region_open(&net->node[0], 1 << 20, ALL_ACCESS);
	struct region *rb = region_open(&net->node[1], 1 << 20, ALL_ACCESS);
	struct end *a, *b;

	region_fill(rb, 4);
	pair_open(net, &o, &a, &b);
	end_op(a, IBV_WR_RDMA_READ, 1, ra, 0, 1 << 20, rb, 0);
	end_op(b, IBV_WR_RDMA_WRITE, 2, rb, 0, 1 << 19, ra, 0);
	net_run(net, SEC);
	expect_send(a, 0, 1, IBV_WC_SUCCESS);
	expect_send(b, 0, 2, IBV_WC_SUCCESS);
	expect_pattern(ra, 0, 1 << 20, 4, 0);
	net_close(net);
}

/* A QP can be connected to itself. */
static void test_loopback(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct net *net = net_open(1, 1);
	struct region *r = region_open(&net->node[0], 8192, ALL_ACCESS);
	struct end *end = end_open(&net->node[0], &o, NULL);

	region_fill(r, 1);
	assert_int_equal(end_to_init(end, &o), 0);
	assert_int_equal(end_to_rtr(end, &o, end, 9), 0);
	assert_int_equal(end_to_rts(end, &o, 9), 0);
	end_recv(end, 1, r, 4096, 4096);
	end_op(end, IBV_WR_SEND, 2, r, 0, 3000, NULL, 0);
	end_op(end, IBV_WR_RDMA_READ, 3, r, 7500, 100, r, 500);
	net_run(net, SEC);
	expect_recv(end, 0, 1, IBV_WC_SUCCESS);
	expect_send(end, 0, 2, IBV_WC_SUCCESS);
	expect_send(end, 1, 3, IBV_WC_SUCCESS);
	expect_pattern(r, 4096, 3000, 1, 0);
	expect_pattern(r, 7500, 100, 1, 500);
	end_close(end);
	net_close(net);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rc),	    cmocka_unit_test(test_uc),
		cmocka_unit_test(test_atomics),	    cmocka_unit_test(test_flush_and_atomic_write),
		cmocka_unit_test(test_large),	    cmocka_unit_test(test_psn_wrap),
		cmocka_unit_test(test_both_ways),   cmocka_unit_test(test_loopback),
		cmocka_unit_test(test_wide_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
