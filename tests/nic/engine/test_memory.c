/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Each allocation fails in turn: the failure is reported, and nothing has changed. */
#include <stdlib.h>

#include "harness.h"
#include "no_memory.h"
#include "nic/memory/domain.h"
#include "nic/memory/tpt_engines.h"

/* Calls make() repeatedly: the first allocation fails, then the second, and so on, until make()
 * succeeds. Returns the number of failures. */
static unsigned failures_of(int (*make)(void *arg), void *arg)
{
	for (unsigned n = 1; n < 20; n++) {
		int err;

		no_memory_at = n;
		err = make(arg);
		if (!err) {
			assert_true(no_memory_at > 0); /* all allocations were tried */
			no_memory_at = 0;
			return n - 1;
		}
		assert_int_equal(no_memory_at, 0);
		assert_int_equal(err, ENOMEM);
	}
	fail_msg("fails for another reason than memory");
	return 0;
}

static int make_engine(void *arg)
{
	struct adv_engine_config c = {
		.seed = {1}, .qpn_first = 1, .qpn_count = 100, .local_credit = true};
	struct adv_engine **e = arg;

	errno = ENOMEM;
	*e = adv_engine_create(&c);
	return *e ? 0 : errno;
}

static int set_gids(void *arg)
{
	struct adv_engine_gid gid = {.mtu = 1024};

	return adv_engine_set_gids(arg, &gid, 1);
}

static int make_pd(void *arg)
{
	return adv_pd_create(arg) ? 0 : errno;
}

static int make_cq(void *arg)
{
	return adv_cq_create(arg, 10, NULL) ? 0 : errno;
}

static int make_mr(void *arg)
{
	return adv_mr_register(arg, arg, 1, 0, 0) ? 0 : errno;
}

static int make_srq(void *arg)
{
	struct ibv_srq_attr attr = {.max_wr = 10, .max_sge = 1};

	return adv_srq_create(adv_tpt_first_engine(((struct adv_pd *)arg)->tpt), arg, &attr, NULL)
		       ? 0
		       : errno;
}

static int make_xrcd(void *arg)
{
	return adv_xrcd_create(arg) ? 0 : errno;
}

static int make_xrc_srq(void *arg)
{
	const struct adv_qp_config *c = arg;
	struct ibv_srq_attr attr = {.max_wr = 10, .max_sge = 1};

	return adv_srq_create_xrc(c->pd, c->xrcd, c->send_cq, &attr, NULL) ? 0 : errno;
}

static int make_qp(void *arg)
{
	struct adv_qp_config *c = arg;

	return adv_qp_create(adv_tpt_first_engine(c->pd->tpt), c) ? 0 : errno;
}

static int resize_cq(void *arg)
{
	return adv_cq_resize(arg, 100);
}

static void test_objects(void **state)
{
	struct adv_qp_config c = {.type = IBV_QPT_RC};
	struct adv_engine *e;

	/* Allocations: the engine, its QP numbers, and the heap of timers, which is doubled for the
	 * timers of all credits. */
	assert_int_equal(failures_of(make_engine, &e), 2 + 4);
	assert_int_equal(failures_of(set_gids, e), 1);
	assert_int_equal(failures_of(make_pd, e), 1);
	c.pd = adv_pd_create(e);
	assert_int_equal(failures_of(make_cq, e), 2);
	c.send_cq = c.recv_cq = adv_cq_create(e, 1, NULL);
	assert_int_equal(failures_of(resize_cq, c.send_cq), 1);
	assert_int_equal(failures_of(make_mr, c.pd), 2);
	assert_int_equal(failures_of(make_srq, c.pd), 4);
	assert_int_equal(failures_of(make_xrcd, e), 1);
	c.xrcd = adv_xrcd_create(e);
	/* The first XRC SRQ also allocates the room for the numbers of all SRQs. */
	assert_int_equal(failures_of(make_xrc_srq, &c), 5);
	assert_int_equal(failures_of(make_xrc_srq, &c), 4);
	assert_int_equal(c.xrcd->users, 2);
	assert_true(failures_of(make_qp, &c) >= 1);
	/* Some of these QPs make the room for timers grow. */
	for (int i = 0; i < 40; i++)
		failures_of(make_qp, &c);
	assert_int_equal(c.pd->users, 45);
	adv_engine_destroy(e);
}

struct step {
	struct end *end;
	struct end *peer;
	struct options o;
};

static int to_rtr(void *arg)
{
	struct step *s = arg;

	return end_to_rtr(s->end, &s->o, s->peer, 0);
}

static int to_rts(void *arg)
{
	struct step *s = arg;

	return end_to_rts(s->end, &s->o, 0);
}

static int change_in_sqd(void *arg)
{
	struct step *s = arg;
	struct ibv_qp_attr a = {.max_rd_atomic = 9, .max_dest_rd_atomic = 9};

	return adv_qp_modify(s->end->qp, 0, &a,
			     IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC);
}

static int post_recv(void *arg)
{
	struct step *s = arg;

	return end_recv_sges(s->end, 1, NULL, 0);
}

static int post_send(void *arg)
{
	struct step *s = arg;
	struct wr wr;

	return end_send(s->end, wr_make(&wr, IBV_WR_SEND, 1, 0));
}

static int post_read(void *arg)
{
	struct step *s = arg;
	struct wr wr;

	return end_send(s->end, wr_make(&wr, IBV_WR_RDMA_READ, 2, 0));
}

static void test_transitions(void **state)
{
	struct net *net = net_open(2, 1);
	struct step s = {.o = options_default(IBV_QPT_RC)};
	struct ibv_qp_attr before, after;
	struct ibv_qp_init_attr init;

	s.end = end_open(&net->node[0], &s.o, NULL);
	s.peer = end_open(&net->node[1], &s.o, NULL);
	assert_int_equal(end_to_init(s.end, &s.o), 0);
	/* An idle QP allocates nothing. */
	assert_int_equal(failures_of(to_rtr, &s), 0);
	assert_int_equal(failures_of(to_rts, &s), 0);
	assert_int_equal(end_to_state(s.end, IBV_QPS_SQD), 0);
	assert_int_equal(failures_of(change_in_sqd, &s), 0);
	assert_int_equal(failures_of(post_send, &s), 1);
	assert_int_equal(failures_of(post_read, &s), 1);
	assert_int_equal(failures_of(post_read, &s), 0);
	assert_int_equal(failures_of(post_recv, &s), 1);
	adv_qp_query(s.end->qp, &before, &init);
	no_memory_at = 1;
	assert_int_equal(change_in_sqd(&s), ENOMEM);
	adv_qp_query(s.end->qp, &after, &init);
	assert_memory_equal(&before, &after, sizeof(before));
	assert_int_equal(failures_of(change_in_sqd, &s), 1);
	net_abandon(net);
}

/* Passes the first packet directly to node 1 while its allocations fail. */
static void starve(struct net *net, struct wire *w)
{
	const struct adv_rx_packet pkt = {.meta = &w->meta, .data = w->data, .len = w->len};

	net->hook = NULL;
	w->copies = 0;
	no_memory_at = 1;
	adv_engine_rx(net->node[1].e, net->now, &pkt);
	assert_int_equal(no_memory_at, 0);
}

/* A responder allocates room at the first READ. If that fails, the packet is treated as lost. */
static void test_read_without_memory(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct net *net = net_open(2, 1);
	struct region *ra = region_open(&net->node[0], 64, ALL_ACCESS);
	struct region *rb = region_open(&net->node[1], 64, ALL_ACCESS);
	struct end *a, *b;

	region_fill(rb, 3);
	pair_open(net, &o, &a, &b);
	end_op(a, IBV_WR_RDMA_READ, 1, ra, 0, 64, rb, 0);
	net->hook = starve;
	net_until(net, a, 1, 0, 10 * SEC);
	expect_send(a, 0, 1, IBV_WC_SUCCESS);
	expect_pattern(ra, 0, 64, 3, 0);
	assert_true(adv_engine_counters(net->node[0].e)->local_ack_timeout_err >= 1);
	assert_int_equal(adv_engine_counters(net->node[1].e)->out_of_memory, 1);
	net_run(net, SEC);
	net_close(net);
}

static int attach(void *arg)
{
	static const struct adv_gid group = {{0xff, 0x0e}};

	return adv_qp_attach_mcast(arg, &group);
}

static void test_group(void **state)
{
	struct net *net = net_open(1, 1);
	struct options o = options_default(IBV_QPT_UD);
	struct end *end = end_open(&net->node[0], &o, NULL);

	assert_int_equal(failures_of(attach, end->qp), 1);
	net_close(net);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_objects),
		cmocka_unit_test(test_transitions),
		cmocka_unit_test(test_read_without_memory),
		cmocka_unit_test(test_group),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
