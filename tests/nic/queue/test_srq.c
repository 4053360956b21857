/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdlib.h>

#include "../engine/harness.h"
#include "nic/memory/domain.h"
#include "nic/queue/srq.h"

static struct adv_srq *srq_open(struct net *net, uint32_t max_wr, uint32_t max_sge)
{
	struct ibv_srq_attr attr = {.max_wr = max_wr, .max_sge = max_sge};
	struct adv_srq *srq = adv_srq_create(net->node[1].e, net->node[1].pd, &attr, net);

	assert_non_null(srq);
	assert_true(attr.max_wr >= max_wr && attr.max_sge >= max_sge);
	return srq;
}

static int post(struct adv_srq *srq, uint64_t id)
{
	struct ibv_recv_wr wr = {.wr_id = id}, *bad = NULL;
	int err = adv_srq_post(srq, &wr, &bad);

	assert_ptr_equal(bad, err ? &wr : NULL);
	return err;
}

static void test_create(void **state)
{
	struct net *net = net_open(2, 1);
	struct ibv_srq_attr attr = {.max_wr = 0, .max_sge = 1};
	struct adv_srq *srq;

	errno = 0;
	assert_null(adv_srq_create(net->node[1].e, net->node[1].pd, &attr, NULL));
	assert_int_equal(errno, EINVAL);
	attr.max_wr = ADV_MAX_SRQ_WR + 1;
	assert_null(adv_srq_create(net->node[1].e, net->node[1].pd, &attr, NULL));
	attr.max_wr = 1;
	attr.max_sge = ADV_MAX_SGE + 1;
	assert_null(adv_srq_create(net->node[1].e, net->node[1].pd, &attr, NULL));
	srq = srq_open(net, 100, 3);
	assert_ptr_equal(adv_srq_user(srq), net);
	assert_int_equal(adv_pd_destroy(net->node[1].pd), EBUSY);
	adv_srq_query(srq, &attr);
	assert_true(attr.max_wr >= 100 && attr.max_sge >= 3);
	assert_int_equal(attr.srq_limit, 0);
	assert_int_equal(adv_srq_destroy(srq), 0);
	assert_int_equal(net->node[1].pd->users, 0);
	net_close(net);
}

static void test_posting(void **state)
{
	struct net *net = net_open(2, 1);
	struct adv_srq *srq = srq_open(net, 4, 2);
	struct ibv_sge sge[3] = {{.length = UINT32_MAX}, {.length = 1}};
	struct ibv_recv_wr third = {.wr_id = 3, .sg_list = sge, .num_sge = 3};
	struct ibv_recv_wr second = {.wr_id = 2, .next = &third};
	struct ibv_recv_wr first = {.wr_id = 1, .next = &second};
	struct ibv_recv_wr *bad = NULL;
	struct adv_recv_wqe *taken;

	assert_int_equal(adv_srq_post(srq, &first, &bad), EINVAL);
	assert_ptr_equal(bad, &third);
	third.num_sge = 2; /* 2^32 bytes */
	assert_int_equal(adv_srq_post(srq, &third, &bad), EINVAL);
	third.num_sge = -1;
	assert_int_equal(adv_srq_post(srq, &third, &bad), EINVAL);
	third.num_sge = 1;
	assert_int_equal(adv_srq_post(srq, &third, &bad), 0);
	assert_int_equal(post(srq, 4), 0);
	assert_int_equal(post(srq, 5), ENOMEM);
	/* Requests are dequeued in posting order. A slot is free again when its request is
	 * released, not when it is dequeued. */
	taken = adv_srq_take(srq);
	assert_int_equal(taken->wr_id, 1);
	assert_int_equal(post(srq, 5), ENOMEM);
	adv_srq_release(srq, taken);
	assert_int_equal(post(srq, 5), 0);
	for (uint64_t i = 2; i <= 5; i++) {
		taken = adv_srq_take(srq);
		assert_int_equal(taken->wr_id, i);
		if (i == 3)
			assert_true(taken->length == UINT32_MAX);
		adv_srq_release(srq, taken);
	}
	assert_null(adv_srq_take(srq));
	net_close(net);
}

static void test_limit(void **state)
{
	struct net *net = net_open(2, 1);
	struct adv_srq *srq = srq_open(net, 8, 1);
	struct ibv_srq_attr attr = {.srq_limit = 9};
	struct adv_event ev;

	assert_int_equal(adv_srq_modify(srq, &attr, IBV_SRQ_LIMIT), EINVAL);
	assert_int_equal(adv_srq_modify(srq, &attr, IBV_SRQ_MAX_WR), EINVAL);
	assert_int_equal(adv_srq_modify(srq, &attr, 1 << 7), EINVAL);
	assert_int_equal(adv_srq_modify(srq, &attr, 0), 0);
	for (uint64_t i = 0; i < 6; i++)
		post(srq, i);
	attr.srq_limit = 4;
	assert_int_equal(adv_srq_modify(srq, &attr, IBV_SRQ_LIMIT), 0);
	adv_srq_query(srq, &attr);
	assert_int_equal(attr.srq_limit, 4);
	adv_srq_release(srq, adv_srq_take(srq));
	adv_srq_release(srq, adv_srq_take(srq));
	assert_false(adv_engine_event(net->node[1].e, &ev)); /* four requests are left */
	adv_srq_release(srq, adv_srq_take(srq));
	assert_true(adv_engine_event(net->node[1].e, &ev));
	assert_int_equal(ev.async, IBV_EVENT_SRQ_LIMIT_REACHED);
	assert_ptr_equal(ev.srq, srq);
	adv_srq_query(srq, &attr);
	assert_int_equal(attr.srq_limit, 0);
	adv_srq_release(srq, adv_srq_take(srq));
	assert_false(adv_engine_event(net->node[1].e, &ev));
	net_close(net);
}

static int resize(struct adv_srq *srq, uint32_t max_wr)
{
	struct ibv_srq_attr attr = {.max_wr = max_wr};

	return adv_srq_modify(srq, &attr, IBV_SRQ_MAX_WR);
}

static void test_resize(void **state)
{
	struct net *net = net_open(2, 1);
	struct adv_srq *srq = srq_open(net, 4, 2);
	struct ibv_srq_attr attr = {.srq_limit = 3};
	uint64_t next = 0, expected = 0;

	/* The ring has wrapped, and two requests are in use. */
	for (; next < 6; next++) {
		assert_int_equal(post(srq, next), 0);
		if (next < 2)
			adv_srq_release(srq, adv_srq_take(srq));
	}
	expected = 2;
	assert_int_equal(resize(srq, 3), EINVAL);
	assert_int_equal(resize(srq, ADV_MAX_SRQ_WR + 1), EINVAL);
	assert_int_equal(resize(srq, 0), EINVAL);
	assert_int_equal(resize(srq, 4), 0);
	assert_int_equal(post(srq, 6), ENOMEM);
	assert_int_equal(resize(srq, 9), 0);
	adv_srq_query(srq, &attr);
	assert_int_equal(attr.max_wr, 16);
	assert_int_equal(attr.max_sge, 2);
	for (; next < 6 + 12; next++)
		assert_int_equal(post(srq, next), 0);
	assert_int_equal(post(srq, next), ENOMEM);
	for (; expected < next; expected++) {
		struct adv_recv_wqe *taken = adv_srq_take(srq);

		assert_int_equal(taken->wr_id, expected);
		adv_srq_release(srq, taken);
	}
	assert_null(adv_srq_take(srq));
	/* A smaller size keeps the room. The size must not be below the limit. */
	attr.srq_limit = 5;
	assert_int_equal(adv_srq_modify(srq, &attr, IBV_SRQ_LIMIT), 0);
	assert_int_equal(resize(srq, 4), EINVAL);
	assert_int_equal(resize(srq, 5), 0);
	attr = (struct ibv_srq_attr){.max_wr = 64, .srq_limit = 40};
	assert_int_equal(adv_srq_modify(srq, &attr, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT), 0);
	adv_srq_query(srq, &attr);
	assert_int_equal(attr.max_wr, 64);
	assert_int_equal(attr.srq_limit, 40);
	net_close(net);
}

/* An RC connection whose second end uses an SRQ of one request. */
struct bed {
	struct net *net;
	struct adv_srq *srq;
	struct options o;
	struct region *to;
	struct end *a, *b;
};

static void bed_open(struct bed *bed)
{
	bed->net = net_open(2, 1);
	bed->srq = srq_open(bed->net, 1, 1);
	bed->o = options_default(IBV_QPT_RC);
	bed->o.srq = bed->srq;
	bed->to = region_open(&bed->net->node[1], 8192, IBV_ACCESS_LOCAL_WRITE);
	pair_open(bed->net, &bed->o, &bed->a, &bed->b);
}

static void inject(struct bed *bed, uint8_t opcode, uint32_t ahead, uint32_t len)
{
	struct adv_headers h = {.bth = {.opcode = opcode, .pkey = 0xffff}};

	h.bth.dest_qpn = adv_qp_num(bed->b->qp);
	h.bth.psn = adv_psn_add(bed->o.psn[0], ahead);
	net_inject_packet(bed->net, 0, 1, &h, len);
}

/* After a resize, a message in progress continues into its receive request. */
static void test_resize_in_mid_message(void **state)
{
	struct bed bed;

	bed_open(&bed);
	end_recv(bed.b, 7, bed.to, 0, 8192);
	inject(&bed, ADV_OP_SEND_FIRST, 0, 1024);
	assert_int_equal(resize(bed.srq, 8), 0);
	end_recv(bed.b, 8, bed.to, 0, 8192);
	inject(&bed, ADV_OP_SEND_LAST, 1, 8);
	net_run(bed.net, MS);
	assert_int_equal(bed.b->recv_count, 1);
	expect_recv(bed.b, 0, 7, IBV_WC_SUCCESS);
	assert_int_equal(bed.b->recvs[0].wc.byte_len, 1032);
	assert_int_equal(bed.srq->free_count, bed.srq->max_wr - 1);
	net_abandon(bed.net);
}

/* If two RC QPs use one SRQ, the limit event is raised, and RNR NAKs are sent while the SRQ is
 * empty. */
static void test_two_qps(void **state)
{
	struct net *net = net_open(2, 1);
	struct adv_srq *srq = srq_open(net, 16, 1);
	struct ibv_srq_attr attr = {.srq_limit = 2};
	struct options o = options_default(IBV_QPT_RC);
	struct region *from = region_open(&net->node[0], 4096, 0);
	struct region *to = region_open(&net->node[1], 4096, IBV_ACCESS_LOCAL_WRITE);
	struct end *a1, *b1, *a2, *b2;

	region_fill(from, 1);
	o.srq = srq;
	o.rnr_retry = 1;
	pair_open(net, &o, &a1, &b1);
	pair_open(net, &o, &a2, &b2);
	assert_int_equal(adv_srq_destroy(srq), EBUSY);
	assert_int_equal(adv_srq_modify(srq, &attr, IBV_SRQ_LIMIT), 0);
	for (unsigned i = 0; i < 4; i++)
		end_recv(b1, 100 + i, to, i * 1024, 1024);
	end_op(a1, IBV_WR_SEND, 1, from, 0, 100, NULL, 0);
	net_until(net, b1, 0, 1, SEC);
	end_op(a2, IBV_WR_SEND, 2, from, 100, 200, NULL, 0);
	net_until(net, b2, 0, 1, SEC);
	assert_int_equal(net_count_events(&net->node[1], IBV_EVENT_SRQ_LIMIT_REACHED), 0);
	end_op(a2, IBV_WR_SEND, 3, from, 300, 10, NULL, 0);
	net_until(net, b2, 0, 2, SEC);
	assert_int_equal(net_count_events(&net->node[1], IBV_EVENT_SRQ_LIMIT_REACHED), 1);
	end_op(a1, IBV_WR_SEND, 4, from, 310, 10, NULL, 0);
	net_until(net, b1, 0, 2, SEC);
	expect_recv(b1, 0, 100, IBV_WC_SUCCESS);
	expect_recv(b2, 0, 101, IBV_WC_SUCCESS);
	expect_recv(b2, 1, 102, IBV_WC_SUCCESS);
	expect_recv(b1, 1, 103, IBV_WC_SUCCESS);
	expect_pattern(to, 0, 100, 1, 0);
	expect_pattern(to, 1024, 200, 1, 100);
	expect_pattern(to, 2048, 10, 1, 300);
	net_run(net, MS);
	end_op(a1, IBV_WR_SEND, 5, from, 0, 1, NULL, 0);
	net_run(net, SEC);
	expect_send(a1, 2, 5, IBV_WC_RNR_RETRY_EXC_ERR);
	net_close(net);
}

/* A failed QP does not flush its SRQ. An event reports that the QP uses no more receive requests
 * (IBTA 11.6.3.4). */
static void test_last_wqe_reached(void **state)
{
	struct net *net = net_open(2, 1);
	struct adv_srq *srq = srq_open(net, 16, 1);
	struct options o = options_default(IBV_QPT_RC);
	struct ibv_recv_wr wr = {0}, *bad;
	struct end *a, *b;

	o.srq = srq;
	pair_open(net, &o, &a, &b);
	assert_int_equal(adv_qp_post_recv(b->qp, net->now, &wr, &bad), EINVAL);
	end_recv(b, 1, NULL, 0, 0);
	assert_int_equal(end_to_state(b, IBV_QPS_ERR), 0);
	net_run(net, MS);
	assert_int_equal(net_count_events(&net->node[1], IBV_EVENT_QP_LAST_WQE_REACHED), 1);
	assert_int_equal(b->recv_count, 0);
	assert_int_equal(end_to_state(b, IBV_QPS_ERR), 0);
	net_run(net, MS);
	assert_int_equal(net_count_events(&net->node[1], IBV_EVENT_QP_LAST_WQE_REACHED), 1);
	assert_int_equal(end_to_state(b, IBV_QPS_RESET), 0);
	assert_int_equal(end_to_init(b, &o), 0);
	assert_int_equal(end_to_state(b, IBV_QPS_ERR), 0);
	net_run(net, MS);
	assert_int_equal(net_count_events(&net->node[1], IBV_EVENT_QP_LAST_WQE_REACHED), 2);
	end_close(b);
	assert_int_equal(adv_srq_destroy(srq), 0);
	net_close(net);
}

/* A QP that fails within a message completes its receive request, and returns the slot to the
 * SRQ. */
static void test_error_in_mid_message(void **state)
{
	struct bed bed;

	bed_open(&bed);
	for (int reset = 0; reset < 2; reset++) {
		end_recv(bed.b, 7, bed.to, 0, 8192);
		inject(&bed, ADV_OP_SEND_FIRST, 0, 1024);
		assert_int_equal(end_to_state(bed.b, reset ? IBV_QPS_RESET : IBV_QPS_ERR), 0);
		net_run(bed.net, MS);
		assert_int_equal(bed.b->recv_count, 1);
		expect_recv(bed.b, 0, 7, IBV_WC_WR_FLUSH_ERR);
		assert_int_equal(bed.srq->free_count, bed.srq->max_wr);
		if (reset)
			break;
		assert_int_equal(end_to_state(bed.b, IBV_QPS_RESET), 0);
		assert_int_equal(end_to_init(bed.b, &bed.o), 0);
		assert_int_equal(end_to_rtr(bed.b, &bed.o, bed.a, bed.o.psn[0]), 0);
	}
	net_close(bed.net);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_create),
		cmocka_unit_test(test_posting),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_resize),
		cmocka_unit_test(test_resize_in_mid_message),
		cmocka_unit_test(test_two_qps),
		cmocka_unit_test(test_last_wqe_reached),
		cmocka_unit_test(test_error_in_mid_message),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
