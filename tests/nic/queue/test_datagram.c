/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <arpa/inet.h>
#include <stdlib.h>

#include "base/array.h"
#include "../engine/harness.h"

#define QKEY 0x11111111

struct bed {
	struct net *net;
	struct end *a;
	struct end *b;
	struct region *ra;
	struct region *rb;
	struct adv_ah ah;
	struct wire last;
};

static void note(struct net *net, struct wire *w)
{
	struct bed *bed = net->arg;

	bed->last = *w;
}

static struct end *ud_open(struct node *node)
{
	struct options o = options_default(IBV_QPT_UD);
	struct end *end = end_open(node, &o, NULL);

	assert_int_equal(end_to_init(end, &o), 0);
	assert_int_equal(end_to_rtr(end, &o, NULL, 0), 0);
	assert_int_equal(end_to_rts(end, &o, 0xfffffe), 0);
	return end;
}

static void bed_open(struct bed *bed, bool ipv4)
{
	struct ibv_ah_attr attr = {.is_global = 1, .port_num = 1};

	memset(bed, 0, sizeof(*bed));
	bed->net = net_open(2, 1);
	bed->net->hook = note;
	bed->net->arg = bed;
	bed->a = ud_open(&bed->net->node[0]);
	bed->b = ud_open(&bed->net->node[1]);
	bed->ra = region_open(&bed->net->node[0], 8192, 0);
	bed->rb = region_open(&bed->net->node[1], 8192, IBV_ACCESS_LOCAL_WRITE);
	region_fill(bed->ra, 1);
	attr.grh.sgid_index = ipv4;
	attr.grh.hop_limit = 33;
	attr.grh.traffic_class = 0x60;
	memcpy(attr.grh.dgid.raw, bed->net->node[1].gid[ipv4].raw, 16);
	assert_int_equal(adv_qp_path_from_attr(bed->net->node[0].e, &attr, 0, 0, &bed->ah.path), 0);
	bed->ah.pd = bed->net->node[0].pd;
}

static void bed_close(struct bed *bed)
{
	net_run(bed->net, SEC);
	net_close(bed->net);
}

static struct wr *ud_wr(struct bed *bed, struct wr *wr, int opcode, uint64_t id, uint32_t len)
{
	wr_make(wr, opcode, id, 0);
	if (len)
		wr_sge(wr, bed->ra, 0, len);
	wr->w.imm_data = htonl(99);
	wr->w.wr.ud.ah = &bed->ah.ibv;
	wr->w.wr.ud.remote_qpn = adv_qp_num(bed->b->qp);
	wr->w.wr.ud.remote_qkey = QKEY;
	return wr;
}

static void send_ud(struct bed *bed, int opcode, uint64_t id, uint32_t len)
{
	struct wr wr;

	assert_int_equal(end_send(bed->a, ud_wr(bed, &wr, opcode, id, len)), 0);
}

/* Checks the 40 bytes before the message (annex A17.4.5.1) as ibv_init_ah_from_wc() reads them. */
static void expect_grh(const struct bed *bed, bool ipv4)
{
	const struct node *node = bed->net->node;
	const uint8_t *grh = bed->rb->buf;
	uint32_t sum = 0;

	if (!ipv4) {
		assert_int_equal(grh[0] >> 4, 6);
		assert_int_equal(grh[7], 33);
		assert_memory_equal(grh + 8, node[0].gid[0].raw, 16);
		assert_memory_equal(grh + 24, node[1].gid[0].raw, 16);
		return;
	}
	assert_int_equal(grh[20], 0x45);
	assert_memory_equal(grh + 32, node[0].gid[1].raw + 12, 4);
	assert_memory_equal(grh + 36, node[1].gid[1].raw + 12, 4);
	for (int i = 20; i < 40; i += 2)
		sum += (uint32_t)(grh[i] << 8 | grh[i + 1]);
	assert_int_equal((sum & 0xffff) + (sum >> 16), 0xffff);
}

static void test_sizes(void **state)
{
	static const uint32_t sizes[] = {0, 1, 3, 4, 100, 1023, 1024, 1025, 4095, 4096};

	for (int ipv4 = 0; ipv4 < 2; ipv4++) {
		struct bed bed;

		bed_open(&bed, ipv4);
		for (unsigned i = 0; i < 20; i++) {
			int opcode = i % 2 ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND;
			uint32_t len = sizes[i / 2];
			const struct ibv_wc *wc = &bed.b->recvs[i].wc;

			memset(bed.rb->buf, 0xcc, 8192);
			end_recv(bed.b, i, bed.rb, 0, 40 + len);
			send_ud(&bed, opcode, i, len);
			net_run(bed.net, MS);
			expect_send(bed.a, i, i, IBV_WC_SUCCESS);
			expect_recv(bed.b, i, i, IBV_WC_SUCCESS);
			assert_int_equal(wc->byte_len, 40 + len);
			assert_true(wc->wc_flags & IBV_WC_GRH);
			assert_int_equal(!!(wc->wc_flags & IBV_WC_WITH_IMM), i % 2);
			if (i % 2)
				assert_int_equal(wc->imm_data, htonl(99));
			assert_int_equal(wc->src_qp, adv_qp_num(bed.a->qp));
			assert_int_equal(wc->sl & 7, ipv4 ? 2 : 1);
			expect_grh(&bed, ipv4);
			expect_pattern(bed.rb, 40, len, 1, 0);
			assert_int_equal(bed.rb->buf[40 + len], 0xcc);
			assert_int_equal(bed.last.h.bth.psn, adv_psn_add(0xfffffe, i));
		}
		bed_close(&bed);
	}
}

/* UD completes when the packet is sent, even if it is lost. */
static void test_lost_and_unready(void **state)
{
	struct bed bed;

	bed_open(&bed, false);
	send_ud(&bed, IBV_WR_SEND, 1, 10);
	net_run(bed.net, MS);
	expect_send(bed.a, 0, 1, IBV_WC_SUCCESS);
	assert_int_equal(adv_engine_counters(bed.net->node[1].e)->out_of_buffer, 1);
	assert_int_equal(bed.b->recv_count, 0);
	assert_int_equal(end_state(bed.b), IBV_QPS_RTS);
	bed_close(&bed);
}

static void too_long(struct bed *bed, struct wr *wr)
{
	wr->sge[0].length = 4097;
}

static void bad_lkey(struct bed *bed, struct wr *wr)
{
	wr->sge[0].lkey ^= 1;
}

static void foreign_ah(struct bed *bed, struct wr *wr)
{
	bed->ah.pd = adv_pd_create(bed->net->node[0].e);
}

static void far_too_long(struct bed *bed, struct wr *wr)
{
	wr->sge[0].length = wr->sge[1].length = 0x7fffffff;
	wr->sge[2].length = 2;
	wr->w.num_sge = 3;
}

/* After a local error a UD QP enters SQE: posted requests are flushed and receiving continues. The
 * transition to RTS ends SQE. */
static void test_local_errors(void **state)
{
	static const struct {
		void (*arrange)(struct bed *bed, struct wr *wr);
		enum ibv_wc_status status;
		enum adv_vendor_err why;
	} cases[] = {
		{too_long, IBV_WC_LOC_LEN_ERR, ADV_ERR_DATAGRAM_TOO_LONG},
		{far_too_long, IBV_WC_LOC_LEN_ERR, ADV_ERR_MESSAGE_TOO_LONG},
		{bad_lkey, IBV_WC_LOC_PROT_ERR, ADV_ERR_LKEY},
		{foreign_ah, IBV_WC_LOC_QP_OP_ERR, ADV_ERR_AH_PD},
	};

	for (size_t i = 0; i < ADV_ARRAY_SIZE(cases); i++) {
		struct bed bed;
		struct wr wr;

		bed_open(&bed, false);
		ud_wr(&bed, &wr, IBV_WR_SEND, 1, 100);
		cases[i].arrange(&bed, &wr);
		assert_int_equal(end_send(bed.a, &wr), 0);
		send_ud(&bed, IBV_WR_SEND, 2, 100);
		net_run(bed.net, MS);
		assert_int_equal(bed.net->sent, 0);
		expect_send(bed.a, 0, 1, cases[i].status);
		assert_int_equal(bed.a->sends[0].wc.vendor_err, cases[i].why);
		expect_send(bed.a, 1, 2, IBV_WC_WR_FLUSH_ERR);
		assert_int_equal(end_state(bed.a), IBV_QPS_SQE);
		send_ud(&bed, IBV_WR_SEND, 3, 100);
		net_run(bed.net, MS);
		expect_send(bed.a, 2, 3, IBV_WC_WR_FLUSH_ERR);
		assert_int_equal(end_to_state(bed.a, IBV_QPS_RTS), 0);
		bed.ah.pd = bed.net->node[0].pd;
		end_recv(bed.b, 4, bed.rb, 0, 200);
		send_ud(&bed, IBV_WR_SEND, 4, 100);
		net_run(bed.net, MS);
		expect_send(bed.a, 3, 4, IBV_WC_SUCCESS);
		expect_recv(bed.b, 0, 4, IBV_WC_SUCCESS);
		bed_close(&bed);
	}
}

static void test_receive_too_small(void **state)
{
	struct bed bed;

	bed_open(&bed, false);
	end_recv(bed.b, 1, bed.rb, 0, 40 + 9);
	end_recv(bed.b, 2, bed.rb, 0, 200);
	send_ud(&bed, IBV_WR_SEND, 1, 10);
	net_run(bed.net, MS);
	expect_send(bed.a, 0, 1, IBV_WC_SUCCESS);
	expect_recv(bed.b, 0, 1, IBV_WC_LOC_LEN_ERR);
	expect_recv(bed.b, 1, 2, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(end_state(bed.b), IBV_QPS_ERR);
	for (int i = 0; i < 100; i++)
		assert_int_equal(bed.rb->buf[i], 0);
	bed_close(&bed);
}

static void test_receive_bad_key(void **state)
{
	struct bed bed;

	bed_open(&bed, false);
	end_recv(bed.b, 1, bed.rb, 0, 200);
	region_deregister(bed.rb);
	send_ud(&bed, IBV_WR_SEND, 1, 10);
	net_run(bed.net, MS);
	expect_recv(bed.b, 0, 1, IBV_WC_LOC_PROT_ERR);
	bed_close(&bed);
}

static void test_qkeys(void **state)
{
	const struct adv_engine_counters *c;
	struct ibv_qp_attr a = {.qkey = 0x22222222};
	struct bed bed;
	struct wr wr;

	bed_open(&bed, false);
	c = adv_engine_counters(bed.net->node[1].e);
	end_recv(bed.b, 1, bed.rb, 0, 200);
	ud_wr(&bed, &wr, IBV_WR_SEND, 1, 10);
	wr.w.wr.ud.remote_qkey = QKEY + 1;
	assert_int_equal(end_send(bed.a, &wr), 0);
	net_run(bed.net, MS);
	assert_int_equal(c->rx_bad_qkey, 1);
	assert_int_equal(bed.b->recv_count, 0);
	/* If the high bit is set, the sender's own Q_Key is sent (IBTA 10.2.5). */
	ud_wr(&bed, &wr, IBV_WR_SEND, 2, 10);
	wr.w.wr.ud.remote_qkey = 0x80000000;
	assert_int_equal(end_send(bed.a, &wr), 0);
	net_run(bed.net, MS);
	expect_recv(bed.b, 0, 1, IBV_WC_SUCCESS);
	/* A new Q_Key in RTS takes effect at once. */
	assert_int_equal(adv_qp_modify(bed.b->qp, bed.net->now, &a, IBV_QP_QKEY), 0);
	end_recv(bed.b, 3, bed.rb, 0, 200);
	send_ud(&bed, IBV_WR_SEND, 3, 10);
	net_run(bed.net, MS);
	assert_int_equal(c->rx_bad_qkey, 2);
	bed_close(&bed);
}

/* A message is limited by the MTU of the AH's interface, even if the port's largest MTU is
 * greater. */
static void test_mtu_of_the_interface(void **state)
{
	struct adv_engine_gid gids[2] = {{.mtu = 0}};
	struct bed bed;

	bed_open(&bed, false);
	for (int i = 0; i < 2; i++) {
		gids[i].gid = bed.net->node[0].gid[i];
		gids[i].mtu = i ? 4096 : 1024;
	}
	assert_int_equal(adv_engine_set_gids(bed.net->node[0].e, gids, 2), 0);
	end_recv(bed.b, 1, bed.rb, 0, 8192);
	send_ud(&bed, IBV_WR_SEND, 1, 1024);
	send_ud(&bed, IBV_WR_SEND, 2, 1025);
	net_run(bed.net, MS);
	expect_send(bed.a, 0, 1, IBV_WC_SUCCESS);
	expect_send(bed.a, 1, 2, IBV_WC_LOC_LEN_ERR);
	bed_close(&bed);
}

/* A packet that is longer than the port's MTU violates the protocol and uses no receive request. */
static void test_longer_than_the_port(void **state)
{
	struct adv_engine_gid gids[1] = {{.mtu = 0}};
	struct adv_headers h = {
		.bth = {.opcode = ADV_SERVICE_UD | ADV_OP_SEND_ONLY, .pkey = 0xffff},
		.deth = {.qkey = QKEY}};
	struct bed bed;

	bed_open(&bed, false);
	gids[0].gid = bed.net->node[1].gid[0];
	gids[0].mtu = 1024;
	assert_int_equal(adv_engine_set_gids(bed.net->node[1].e, gids, 1), 0);
	end_close(bed.b);
	bed.b = ud_open(&bed.net->node[1]);
	end_recv(bed.b, 1, bed.rb, 0, 8192);
	h.bth.dest_qpn = adv_qp_num(bed.b->qp);
	net_inject_packet(bed.net, 0, 1, &h, 1028);
	assert_int_equal(adv_engine_counters(bed.net->node[1].e)->rx_malformed, 1);
	net_inject_packet(bed.net, 0, 1, &h, 1024);
	net_run(bed.net, MS);
	assert_int_equal(bed.b->recv_count, 1);
	assert_int_equal(bed.b->recvs[0].wc.byte_len, 1024 + 40);
	bed_close(&bed);
}

/* UD is sent at the configured rate and in order. */
static void test_paced(void **state)
{
	struct adv_engine_config c = {.seed = {1}, .unreliable_mbps = 1000};
	struct options o = options_default(IBV_QPT_UC);
	struct net *net = net_open_config(2, &c);
	struct region *ra = region_open(&net->node[0], 1 << 20, 0);
	struct region *rb = region_open(&net->node[1], 1 << 20, ALL_ACCESS);
	struct end *a, *b;

	region_fill(ra, 1);
	pair_open(net, &o, &a, &b);
	end_op(a, IBV_WR_RDMA_WRITE, 1, ra, 0, 1 << 20, rb, 0);
	net_until(net, a, 1, 0, SEC);
	/* 2^20 bytes, and 64 bytes of headers for each packet: 8.9 ms, minus a burst of 1 ms. */
	assert_in_range(a->sends[0].time - SEC, 7500 * US, 9500 * US);
	net_run(net, MS);
	expect_pattern(rb, 0, 1 << 20, 1, 0);
	net_close(net);
}

static struct adv_ah *post_on_own_handle(struct bed *bed, unsigned times)
{
	struct adv_ah *ah = malloc(sizeof(*ah));
	struct wr wr;

	*ah = bed->ah;
	for (unsigned i = 0; i < times; i++) {
		ud_wr(bed, &wr, IBV_WR_SEND, i + 1, 100);
		wr.w.wr.ud.ah = &ah->ibv;
		assert_int_equal(end_send(bed->a, &wr), 0);
	}
	assert_int_equal(ah->outstanding, times);
	return ah;
}

/* Messages still arrive if their address handle is destroyed right after posting. The address
 * sanitizer finds leaks and uses after free. */
static void test_handle_destroyed_early(void **state)
{
	struct bed bed;

	bed_open(&bed, false);
	end_recv(bed.b, 1, bed.rb, 0, 200);
	end_recv(bed.b, 2, bed.rb, 200, 200);
	adv_ah_destroy(post_on_own_handle(&bed, 2));
	net_run(bed.net, MS);
	assert_int_equal(bed.b->recv_count, 2);
	expect_pattern(bed.rb, 240, 100, 1, 0);
	adv_ah_destroy(post_on_own_handle(&bed, 1));
	assert_int_equal(end_to_state(bed.a, IBV_QPS_RESET), 0);
	adv_ah_destroy(post_on_own_handle(&bed, 0));
	bed_close(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_lost_and_unready),
		cmocka_unit_test(test_local_errors),
		cmocka_unit_test(test_receive_too_small),
		cmocka_unit_test(test_receive_bad_key),
		cmocka_unit_test(test_qkeys),
		cmocka_unit_test(test_mtu_of_the_interface),
		cmocka_unit_test(test_longer_than_the_port),
		cmocka_unit_test(test_paced),
		cmocka_unit_test(test_handle_destroyed_early),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
