/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Asynchronous events of QPs, CQs and SRQs need no memory, and each arrives once. */
#include "base/array.h"
#include "harness.h"
#include "no_memory.h"
#include "nic/queue/cq.h"
#include "nic/queue/srq.h"

static const enum ibv_event_type qp_types[] = {
	IBV_EVENT_COMM_EST,   IBV_EVENT_SQ_DRAINED,	     IBV_EVENT_QP_FATAL,
	IBV_EVENT_QP_REQ_ERR, IBV_EVENT_QP_ACCESS_ERR,	     IBV_EVENT_PATH_MIG_ERR,
	IBV_EVENT_PATH_MIG,   IBV_EVENT_QP_LAST_WQE_REACHED,
};
static const enum ibv_event_type cq_types[] = {IBV_EVENT_CQ_ERR};
static const enum ibv_event_type srq_types[] = {IBV_EVENT_SRQ_LIMIT_REACHED, IBV_EVENT_SRQ_ERR};

/* Two QPs with their CQs, and an SRQ, in one engine. */
struct bed {
	struct net *net;
	struct adv_engine *e;
	struct end *end[2];
	struct adv_srq *srq;
};

static void bed_open(struct bed *bed)
{
	struct options o = options_default(IBV_QPT_RC);
	struct ibv_srq_attr attr = {.max_wr = 4, .max_sge = 1};

	bed->net = net_open(1, 1);
	bed->e = bed->net->node[0].e;
	bed->end[0] = end_open(&bed->net->node[0], &o, NULL);
	bed->end[1] = end_open(&bed->net->node[0], &o, NULL);
	bed->srq = adv_srq_create(bed->net->node[0].e, bed->net->node[0].pd, &attr, NULL);
	assert_non_null(bed->srq);
}

static void raise_event(struct bed *bed, struct adv_affiliated *a, enum ibv_event_type type,
			enum adv_vendor_err why)
{
	adv_affiliated_raise(bed->e, a, type, why);
}

static void raise_all(struct bed *bed, struct adv_affiliated *a, const enum ibv_event_type *types,
		      unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		raise_event(bed, a, types[i], (enum adv_vendor_err)(i + 1));
}

static void expect_event(struct bed *bed, const void *object, enum ibv_event_type type,
			 enum adv_vendor_err why)
{
	struct adv_event ev;

	assert_true(adv_engine_has_event(bed->e));
	assert_true(adv_engine_event(bed->e, &ev));
	assert_int_equal(ev.kind, ADV_EVENT_ASYNC);
	assert_int_equal(ev.async, type);
	assert_int_equal(ev.why, why);
	assert_ptr_equal(ev.qp ? (void *)ev.qp : ev.cq ? (void *)ev.cq : (void *)ev.srq, object);
	assert_int_equal(!!ev.qp + !!ev.cq + !!ev.srq, 1);
}

static void expect_none(struct bed *bed)
{
	struct adv_event ev;

	assert_false(adv_engine_has_event(bed->e));
	assert_false(adv_engine_event(bed->e, &ev));
}

/* All kinds of events of all objects are raised twice while every allocation would fail. Each
 * arrives once. */
static void test_no_memory(void **state)
{
	struct bed bed;

	bed_open(&bed);
	no_memory_at = 1;
	for (int twice = 0; twice < 2; twice++) {
		struct adv_qp *qp = bed.end[0]->qp;

		raise_all(&bed, &qp->events, qp_types, ADV_ARRAY_SIZE(qp_types));
		raise_all(&bed, &bed.end[0]->scq->events, cq_types, ADV_ARRAY_SIZE(cq_types));
		raise_all(&bed, &bed.srq->events, srq_types, ADV_ARRAY_SIZE(srq_types));
	}
	/* The objects take turns. The events of one object are in order. */
	expect_event(&bed, bed.end[0]->qp, qp_types[0], 1);
	expect_event(&bed, bed.end[0]->scq, cq_types[0], 1);
	expect_event(&bed, bed.srq, srq_types[0], 1);
	expect_event(&bed, bed.end[0]->qp, qp_types[1], 2);
	expect_event(&bed, bed.srq, srq_types[1], 2);
	for (unsigned i = 2; i < ADV_ARRAY_SIZE(qp_types); i++)
		expect_event(&bed, bed.end[0]->qp, qp_types[i], (enum adv_vendor_err)(i + 1));
	expect_none(&bed);
	assert_int_equal(no_memory_at, 1); /* no allocation was tried */
	no_memory_at = 0;
	assert_int_equal(adv_engine_counters(bed.e)->out_of_memory, 0);
	net_abandon(bed.net);
}

/* A pending event keeps its first cause. After it is dequeued, an event of its kind can be raised
 * again. */
static void test_once(void **state)
{
	struct adv_affiliated *a;
	struct bed bed;

	bed_open(&bed);
	a = &bed.end[0]->qp->events;
	raise_event(&bed, a, IBV_EVENT_QP_FATAL, ADV_ERR_CQ_OVERRUN);
	raise_event(&bed, a, IBV_EVENT_QP_FATAL, ADV_ERR_INJECTED);
	expect_event(&bed, bed.end[0]->qp, IBV_EVENT_QP_FATAL, ADV_ERR_CQ_OVERRUN);
	expect_none(&bed);
	raise_event(&bed, a, IBV_EVENT_QP_FATAL, ADV_ERR_INJECTED);
	raise_event(&bed, &bed.end[1]->qp->events, IBV_EVENT_QP_FATAL, ADV_ERR_NONE);
	expect_event(&bed, bed.end[0]->qp, IBV_EVENT_QP_FATAL, ADV_ERR_INJECTED);
	expect_event(&bed, bed.end[1]->qp, IBV_EVENT_QP_FATAL, ADV_ERR_NONE);
	expect_none(&bed);
	net_abandon(bed.net);
}

/* Events of a destroyed object do not arrive; events of other objects do. */
static void test_destroyed(void **state)
{
	struct bed bed;

	bed_open(&bed);
	raise_all(&bed, &bed.srq->events, srq_types, ADV_ARRAY_SIZE(srq_types));
	raise_event(&bed, &bed.end[0]->qp->events, IBV_EVENT_COMM_EST, ADV_ERR_NONE);
	raise_all(&bed, &bed.end[1]->qp->events, qp_types, ADV_ARRAY_SIZE(qp_types));
	raise_event(&bed, &bed.end[1]->rcq->events, IBV_EVENT_CQ_ERR, ADV_ERR_CQ_OVERRUN);
	assert_int_equal(adv_srq_destroy(bed.srq), 0);
	end_close(bed.end[1]);
	expect_event(&bed, bed.end[0]->qp, IBV_EVENT_COMM_EST, ADV_ERR_NONE);
	expect_none(&bed);
	net_abandon(bed.net);
}

/* Delivers the packet to node 1 while its allocations fail. */
static void deliver_without_memory(struct net *net, struct wire *w)
{
	const struct adv_rx_packet pkt = {.meta = &w->meta, .data = w->data, .len = w->len};

	net->hook = NULL;
	w->copies = 0;
	no_memory_at = 1;
	adv_engine_rx(net->node[1].e, net->now, &pkt);
	assert_int_equal(no_memory_at, 1);
	no_memory_at = 0;
}

/* An error of a connection is reported even if there is no memory. */
static void test_error_without_memory(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct net *net = net_open(2, 1);
	struct region *ra = region_open(&net->node[0], 64, ALL_ACCESS);
	struct region *rb = region_open(&net->node[1], 64, IBV_ACCESS_LOCAL_WRITE);
	struct end *a, *b;

	pair_open(net, &o, &a, &b);
	end_op(a, IBV_WR_RDMA_WRITE, 1, ra, 0, 64, rb, 0);
	net->hook = deliver_without_memory;
	net_until(net, a, 1, 0, SEC);
	expect_send(a, 0, 1, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(net_count_events(&net->node[1], IBV_EVENT_QP_ACCESS_ERR), 1);
	net_close(net);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_once),
		cmocka_unit_test(test_destroyed),
		cmocka_unit_test(test_error_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
