/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* P_Keys of queue pairs (IBTA 10.9): which packets a queue pair sends and receives. */
#include "base/array.h"
#include "harness.h"

/* The P_Key tables of both nodes. */
static const uint16_t table[] = {0x8001, 0x0001, 0x8002, 0x0002};
enum { FULL_1, LIMITED_1, FULL_2, LIMITED_2 };

struct bed {
	struct net *net;
	struct end *a;
	struct end *b;
	struct region *ra;
	struct region *rb;
	uint16_t seen[2]; /* P_Key of each node's newest packet */
	unsigned sent[2]; /* packets by node */
};

static void note(struct net *net, struct wire *w)
{
	struct bed *bed = net->arg;

	bed->seen[w->from] = w->h.bth.pkey;
	bed->sent[w->from]++;
}

static void open_bed(struct bed *bed)
{
	struct adv_pkey_table pkeys = {.count = ADV_ARRAY_SIZE(table)};

	memset(bed, 0, sizeof(*bed));
	memcpy(pkeys.pkey, table, sizeof(table));
	bed->net = net_open(2, 1);
	bed->net->hook = note;
	bed->net->arg = bed;
	bed->net->partitions = true;
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(adv_engine_set_pkeys(bed->net->node[i].e, &pkeys), 0);
	bed->ra = region_open(&bed->net->node[0], 8192, 0);
	bed->rb = region_open(&bed->net->node[1], 8192, ALL_ACCESS);
}

/* Connects a QP of each node. Each has the P_Key of its index. */
static void connect_with(struct bed *bed, enum ibv_qp_type type, unsigned a, unsigned b)
{
	struct options o = options_default(type);
	struct options with[2] = {o, o};

	with[0].pkey_index = (uint16_t)a;
	with[1].pkey_index = (uint16_t)b;
	bed->a = end_open(&bed->net->node[0], &o, NULL);
	bed->b = end_open(&bed->net->node[1], &o, NULL);
	assert_int_equal(end_to_init(bed->a, &with[0]), 0);
	assert_int_equal(end_to_init(bed->b, &with[1]), 0);
	assert_int_equal(end_to_rtr(bed->a, &o, bed->b, o.psn[1]), 0);
	assert_int_equal(end_to_rtr(bed->b, &o, bed->a, o.psn[0]), 0);
	assert_int_equal(end_to_rts(bed->a, &o, o.psn[0]), 0);
	assert_int_equal(end_to_rts(bed->b, &o, o.psn[1]), 0);
}

static const struct adv_engine_counters *counters(const struct bed *bed, unsigned node)
{
	return adv_engine_counters(bed->net->node[node].e);
}

static void expect_bad(const struct bed *bed, uint64_t a, uint64_t b)
{
	assert_int_equal(counters(bed, 0)->rx_bad_pkey, a);
	assert_int_equal(counters(bed, 1)->rx_bad_pkey, b);
}

static const struct {
	unsigned a, b;
	bool match;
} pairs[] = {
	{FULL_1, FULL_1, true},	       {FULL_1, LIMITED_1, true},     {LIMITED_1, FULL_1, true},
	{LIMITED_1, LIMITED_1, false}, {FULL_1, FULL_2, false},	      {LIMITED_1, FULL_2, false},
	{FULL_1, LIMITED_2, false},    {LIMITED_2, LIMITED_2, false},
};

/* A reliable request of a QP that may not reach the peer's is dropped at each repetition, and the
 * peer's QP stays as it is. Requests and responses have the P_Key of the QP that sends them. */
static void test_reliable(void **state)
{
	for (unsigned i = 0; i < ADV_ARRAY_SIZE(pairs); i++) {
		struct bed bed;

		open_bed(&bed);
		connect_with(&bed, IBV_QPT_RC, pairs[i].a, pairs[i].b);
		region_fill(bed.ra, 1);
		end_op(bed.a, IBV_WR_RDMA_WRITE, 1, bed.ra, 0, 3000, bed.rb, 0);
		net_until(bed.net, bed.a, 1, 0, SEC);
		expect_send(bed.a, 0, 1, pairs[i].match ? IBV_WC_SUCCESS : IBV_WC_RETRY_EXC_ERR);
		assert_int_equal(bed.seen[0], table[pairs[i].a]);
		if (pairs[i].match)
			assert_int_equal(bed.seen[1], table[pairs[i].b]);
		else
			assert_int_equal(bed.sent[1], 0);
		expect_bad(&bed, 0, pairs[i].match ? 0 : bed.sent[0]);
		assert_int_equal(end_state(bed.b), IBV_QPS_RTS);
		assert_int_equal(bed.rb->buf[0], pairs[i].match ? region_byte(0, 1) : 0);
		net_close(bed.net);
	}
}

static void test_unreliable(void **state)
{
	for (unsigned i = 0; i < ADV_ARRAY_SIZE(pairs); i++) {
		struct bed bed;

		open_bed(&bed);
		connect_with(&bed, IBV_QPT_UC, pairs[i].a, pairs[i].b);
		end_recv(bed.b, 7, bed.rb, 0, 64);
		end_op(bed.a, IBV_WR_SEND, 1, bed.ra, 0, 64, NULL, 0);
		net_until(bed.net, bed.a, 1, 0, SEC);
		net_run(bed.net, MS);
		expect_send(bed.a, 0, 1, IBV_WC_SUCCESS);
		assert_int_equal(bed.b->recv_count, pairs[i].match);
		expect_bad(&bed, 0, pairs[i].match ? 0 : 1);
		net_close(bed.net);
	}
}

static void send_datagram(struct bed *bed, struct end *from, struct adv_ah *ah)
{
	struct wr wr;

	wr_make(&wr, IBV_WR_SEND, 1, 0);
	wr_sge(&wr, bed->ra, 0, 64);
	wr.w.wr.ud.ah = &ah->ibv;
	wr.w.wr.ud.remote_qpn = adv_qp_num(bed->b->qp);
	wr.w.wr.ud.remote_qkey = options_default(IBV_QPT_UD).qkey;
	assert_int_equal(end_send(from, &wr), 0);
	net_run(bed->net, MS);
}

/* A datagram has the P_Key of the QP that sends it, not one of its destination or of the port. */
static void test_datagrams(void **state)
{
	struct ibv_ah_attr attr = {.is_global = 1, .port_num = 1};

	for (unsigned i = 0; i < ADV_ARRAY_SIZE(pairs); i++) {
		struct adv_ah ah = {0};
		struct bed bed;

		open_bed(&bed);
		connect_with(&bed, IBV_QPT_UD, pairs[i].a, pairs[i].b);
		memcpy(attr.grh.dgid.raw, bed.net->node[1].gid[0].raw, 16);
		assert_int_equal(adv_qp_path_from_attr(bed.net->node[0].e, &attr, 0, 0, &ah.path),
				 0);
		ah.pd = bed.net->node[0].pd;
		end_recv(bed.b, 7, bed.rb, 0, 128);
		send_datagram(&bed, bed.a, &ah);
		assert_int_equal(bed.seen[0], table[pairs[i].a]);
		assert_int_equal(bed.b->recv_count, pairs[i].match);
		expect_bad(&bed, 0, pairs[i].match ? 0 : 1);
		net_close(bed.net);
	}
}

static int init_with(struct end *end, uint16_t index)
{
	struct options o = options_default(IBV_QPT_RC);

	o.pkey_index = index;
	return end_to_init(end, &o);
}

/* The index is checked against the table. It may change in INIT, and after a reset. A call that
 * fails leaves the P_Key as it is. */
static void test_changes(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct bed bed;

	open_bed(&bed);
	connect_with(&bed, IBV_QPT_RC, FULL_1, LIMITED_1);
	assert_int_equal(end_to_state(bed.a, IBV_QPS_RESET), 0);
	assert_int_equal(init_with(bed.a, ADV_ARRAY_SIZE(table)), EINVAL);
	assert_int_equal(init_with(bed.a, FULL_2), 0);
	assert_int_equal(init_with(bed.a, FULL_1), 0);
	assert_int_equal(init_with(bed.a, 0xffff), EINVAL);
	assert_int_equal(bed.a->qp->attr.pkey_index, FULL_1);
	assert_int_equal(end_to_rtr(bed.a, &o, bed.b, o.psn[1]), 0);
	assert_int_equal(end_to_rts(bed.a, &o, o.psn[0]), 0);
	end_op(bed.a, IBV_WR_RDMA_WRITE, 1, bed.ra, 0, 8, bed.rb, 0);
	net_until(bed.net, bed.a, 1, 0, SEC);
	expect_send(bed.a, 0, 1, IBV_WC_SUCCESS);
	assert_int_equal(bed.seen[0], table[FULL_1]);
	net_close(bed.net);
}

static void test_tables(void **state)
{
	struct adv_pkey_table pkeys = {.count = 0};
	struct bed bed;

	open_bed(&bed);
	assert_int_equal(adv_engine_set_pkeys(bed.net->node[0].e, &pkeys), EINVAL);
	pkeys.count = ADV_PKEYS_MAX + 1;
	assert_int_equal(adv_engine_set_pkeys(bed.net->node[0].e, &pkeys), EINVAL);
	connect_with(&bed, IBV_QPT_RC, LIMITED_2, FULL_2);
	/* An existing QP keeps its P_Key. */
	adv_pkey_table_default(&pkeys);
	assert_int_equal(adv_engine_set_pkeys(bed.net->node[0].e, &pkeys), 0);
	end_op(bed.a, IBV_WR_RDMA_WRITE, 1, bed.ra, 0, 8, bed.rb, 0);
	net_until(bed.net, bed.a, 1, 0, SEC);
	assert_int_equal(bed.seen[0], table[LIMITED_2]);
	expect_bad(&bed, 0, 0);
	net_close(bed.net);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reliable),  cmocka_unit_test(test_unreliable),
		cmocka_unit_test(test_datagrams), cmocka_unit_test(test_changes),
		cmocka_unit_test(test_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
