/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests that packets for the previous QP of a number, and keys of earlier regions, have no
 * effect. */
#include "../engine/harness.h"

#define NUMBERS 0x100 /* QP numbers of each node */

static struct adv_rx_meta meta;
static uint8_t kept[PACKET_MAX];
static uint32_t kept_len;

/* Records the newest packet of node 0. */
static void keep_newest(struct net *net, struct wire *w)
{
	if (w->from != 0)
		return;
	meta = w->meta;
	kept_len = w->len;
	memcpy(kept, w->data, w->len);
}

static void give_kept(struct node *node)
{
	const struct adv_rx_packet pkt = {.meta = &meta, .data = kept, .len = kept_len};

	adv_engine_rx(node->e, node->net->now, &pkt);
}

static struct adv_qp *make_qp(struct node *node, const struct end *like)
{
	struct adv_qp_config c = {.type = like->qp->type,
				  .pd = node->pd,
				  .send_cq = like->scq,
				  .recv_cq = like->rcq,
				  .cap = {.max_recv_wr = 4, .max_recv_sge = 1}};
	struct adv_qp *qp = adv_qp_create(node->e, &c);

	assert_non_null(qp);
	return qp;
}

/* A released QP number is reused as late as possible. Until then, late packets of the old
 * connection find no QP. */
static void test_number_rests(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct net *net = net_open(2, 1);
	struct node *n = &net->node[1];
	struct region *ra = region_open(&net->node[0], 64, ALL_ACCESS);
	struct region *rb = region_open(n, 64, ALL_ACCESS);
	struct end *a, *b, *other;
	uint64_t nobody;
	uint32_t qpn;
	unsigned uses = 0;

	region_fill(ra, 1);
	region_fill(rb, 2);
	pair_open(net, &o, &a, &b);
	other = end_open(n, &o, NULL);
	net->hook = keep_newest;
	end_op(a, IBV_WR_RDMA_WRITE, 1, ra, 0, 64, rb, 0);
	net_until(net, a, 1, 0, SEC);
	qpn = adv_qp_num(b->qp);
	end_close(b);
	region_fill(rb, 2);
	nobody = adv_engine_counters(n->e)->rx_no_qp;
	for (;; uses++) {
		struct adv_qp *qp = make_qp(n, other);
		bool again = adv_qp_num(qp) == qpn;

		give_kept(n);
		assert_int_equal(adv_engine_counters(n->e)->rx_no_qp, ++nobody);
		adv_qp_destroy(qp);
		if (again)
			break;
	}
	/* All numbers were used before, except the number of `other` and this number. */
	assert_int_equal(uses, NUMBERS - 2);
	expect_pattern(rb, 0, 64, 2, 0);
	net_abandon(net);
}

/* If a number is used by another connection, the peer's address and the PSN distinguish the two. */
static void test_number_again(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct net *net = net_open(3, 1);
	struct region *ra = region_open(&net->node[0], 64, ALL_ACCESS);
	struct region *rb = region_open(&net->node[1], 64, ALL_ACCESS);
	struct end *a, *b, *c;
	uint64_t strange, duplicate;

	region_fill(ra, 1);
	pair_open(net, &o, &a, &b);
	net->hook = keep_newest;
	end_op(a, IBV_WR_RDMA_WRITE, 1, ra, 0, 64, rb, 0);
	net_until(net, a, 1, 0, SEC);
	net->hook = NULL;
	region_fill(rb, 2);
	/* RESET keeps the QP number: the packets of the old connection still reach the QP. First
	 * the QP is connected to another node. */
	c = end_open(&net->node[2], &o, NULL);
	assert_int_equal(end_to_state(b, IBV_QPS_RESET), 0);
	ends_connect(c, b, &o);
	strange = adv_engine_counters(net->node[1].e)->rx_bad_address;
	give_kept(&net->node[1]);
	assert_int_equal(adv_engine_counters(net->node[1].e)->rx_bad_address, strange + 1);
	/* Then the QP is connected to the same node. The PSNs of the old connection are before the
	 * new first PSN. */
	assert_int_equal(end_to_state(b, IBV_QPS_RESET), 0);
	assert_int_equal(end_to_state(a, IBV_QPS_RESET), 0);
	o.psn[0] += 1000;
	ends_connect(a, b, &o);
	duplicate = adv_engine_counters(net->node[1].e)->duplicate_request;
	give_kept(&net->node[1]);
	assert_int_equal(adv_engine_counters(net->node[1].e)->duplicate_request, duplicate + 1);
	expect_pattern(rb, 0, 64, 2, 0);
	assert_int_equal(end_state(b), IBV_QPS_RTS);
	end_op(a, IBV_WR_RDMA_WRITE, 2, ra, 0, 64, rb, 0);
	net_until(net, a, 2, 0, SEC);
	expect_pattern(rb, 0, 64, 1, 0);
	net_abandon(net);
}

static void to_rts(struct end *end, const struct options *o)
{
	assert_int_equal(end_to_init(end, o), 0);
	assert_int_equal(end_to_rtr(end, o, NULL, 0), 0);
	assert_int_equal(end_to_rts(end, o, 0), 0);
}

/* A UD QP with the number of an earlier QP, but another Q_Key, receives no datagram for that QP. */
static void test_datagram_for_the_last(void **state)
{
	struct options o = options_default(IBV_QPT_UD);
	struct net *net = net_open(2, 1);
	struct region *rb = region_open(&net->node[1], 256, ALL_ACCESS);
	struct end *b = end_open(&net->node[1], &o, NULL);
	struct adv_headers h = {0};
	uint64_t bad;

	to_rts(b, &o);
	h.bth.opcode = ADV_SERVICE_UD | ADV_OP_SEND_ONLY;
	h.bth.pkey = ADV_PKEY_DEFAULT;
	h.bth.dest_qpn = adv_qp_num(b->qp);
	h.deth.qkey = o.qkey;
	h.deth.src_qpn = 7;
	assert_int_equal(end_to_state(b, IBV_QPS_RESET), 0);
	o.qkey++;
	to_rts(b, &o);
	end_recv(b, 1, rb, 0, 256);
	bad = adv_engine_counters(net->node[1].e)->rx_bad_qkey;
	net_inject_packet(net, 0, 1, &h, 16);
	net_run(net, SEC);
	assert_int_equal(adv_engine_counters(net->node[1].e)->rx_bad_qkey, bad + 1);
	assert_int_equal(b->recv_count, 0);
	net_abandon(net);
}

/* The key of a deregistered region is not the key of any of many later regions at the same
 * address. */
static void test_keys(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct net *net = net_open(2, 1);
	struct region *ra = region_open(&net->node[0], 64, ALL_ACCESS);
	struct region *rb = region_open(&net->node[1], 64, ALL_ACCESS);
	struct adv_pd *pd = net->node[1].pd;
	struct region gone = *rb;
	struct end *a, *b;

	region_fill(ra, 1);
	pair_open(net, &o, &a, &b);
	region_deregister(rb);
	for (unsigned i = 0; i < 10000; i++) {
		struct adv_mr *mr = adv_mr_register(pd, gone.buf, 64, gone.iova, ALL_ACCESS);

		assert_non_null(mr);
		assert_int_not_equal(adv_mr_rkey(mr), gone.key);
		if (i < 9999)
			adv_mr_deregister(mr);
	}
	end_op(a, IBV_WR_RDMA_WRITE, 1, ra, 0, 64, &gone, 0);
	net_until(net, a, 1, 0, SEC);
	expect_send(a, 0, 1, IBV_WC_REM_ACCESS_ERR);
	net_abandon(net);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_number_rests),
		cmocka_unit_test(test_number_again),
		cmocka_unit_test(test_datagram_for_the_last),
		cmocka_unit_test(test_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
