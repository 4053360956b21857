/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tests a context whose queue pairs are in several shards of the device, because several threads
 * create CQs. run-isolated gets ADVERB_SHARDS=4: each of the first four threads gets a shard.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

#define QPN_SHIFT 11 /* a slot has 2,048 numbers */
#define MESSAGE	  3000
#define CQE	  64

static const struct options defaults;

/* The device of all tests. Its CQs are those of the main thread, in the first shard. */
static struct side dev;

static int open_dev(void **state)
{
	side_open(&dev, &defaults);
	return 0;
}

static int close_dev(void **state)
{
	side_close(&dev);
	return 0;
}

static void *create_cq(void *channel)
{
	return ibv_create_cq(dev.ctx, CQE, NULL, channel, 0);
}

static void *create_srq(void *unused)
{
	struct ibv_srq_init_attr attr = {.attr = {.max_wr = 16, .max_sge = 1}};

	return ibv_create_srq(dev.pd, &attr);
}

/* Returns what a new thread creates. */
static void *from_thread(void *(*create)(void *), void *arg)
{
	pthread_t thread;
	void *made = NULL;

	assert_int_equal(pthread_create(&thread, NULL, create, arg), 0);
	assert_int_equal(pthread_join(thread, &made), 0);
	assert_non_null(made);
	return made;
}

/* Returns a CQ in a shard of its own. */
static struct ibv_cq *far_cq(void)
{
	return from_thread(create_cq, dev.channel);
}

static unsigned shard_of(const struct side *s)
{
	return s->qp->qp_num >> QPN_SHIFT;
}

/* Makes a QP of the device with these CQs. */
static struct side end_with(struct ibv_cq *send_cq, struct ibv_cq *recv_cq, struct ibv_srq *srq,
			    enum ibv_qp_type type)
{
	struct side s = dev;
	struct ibv_qp_init_attr init = {
		.send_cq = send_cq,
		.recv_cq = recv_cq,
		.srq = srq,
		.cap = {16, 16, 1, 1, 64},
		.qp_type = type,
	};

	s.send_cq = send_cq;
	s.recv_cq = recv_cq;
	s.srq = srq;
	s.qp = ibv_create_qp(dev.pd, &init);
	assert_non_null(s.qp);
	return s;
}

static void connect_ends(struct side *a, struct side *b)
{
	assert_int_equal(to_init(a, &defaults), 0);
	if (b != a)
		assert_int_equal(to_init(b, &defaults), 0);
	assert_int_equal(to_rtr(a, b, &defaults), 0);
	if (b != a)
		assert_int_equal(to_rtr(b, a, &defaults), 0);
	assert_int_equal(to_rts(a, &defaults), 0);
	if (b != a)
		assert_int_equal(to_rts(b, &defaults), 0);
}

/* Sends a message from a to b. */
static void exchange(struct side *a, struct side *b, uint64_t id)
{
	struct ibv_sge sge = sge_of(b, MESSAGE, MESSAGE);
	struct ibv_recv_wr wr = {.wr_id = id, .sg_list = &sge, .num_sge = 1}, *bad;

	memset(dev.buf, (int)id, MESSAGE);
	if (b->srq)
		assert_int_equal(ibv_post_srq_recv(b->srq, &wr, &bad), 0);
	else
		assert_int_equal(ibv_post_recv(b->qp, &wr, &bad), 0);
	assert_int_equal(post_send(a, id, 0, MESSAGE, IBV_SEND_SIGNALED), 0);
	expect_wc(b->recv_cq, id, IBV_WC_SUCCESS);
	expect_wc(a->send_cq, id, IBV_WC_SUCCESS);
	assert_memory_equal(dev.buf, dev.buf + MESSAGE, MESSAGE);
}

static void destroy(struct side *a)
{
	assert_int_equal(ibv_destroy_qp(a->qp), 0);
}

/* ---- where objects are ---- */

/* The CQs of one thread are in one shard. Another thread gets another shard. */
static void threads_have_shards(void **state)
{
	struct ibv_cq *near = create_cq(NULL), *far = far_cq();
	struct side a = end_with(near, near, NULL, IBV_QPT_RC);
	struct side b = end_with(far, far, NULL, IBV_QPT_RC);

	assert_int_equal(shard_of(&a), shard_of(&dev));
	assert_int_not_equal(shard_of(&b), shard_of(&dev));
	connect_ends(&a, &b);
	for (unsigned i = 1; i < 20; i++) {
		exchange(&a, &b, i);
		exchange(&b, &a, 100 + i);
	}
	destroy(&a);
	destroy(&b);
	assert_int_equal(ibv_destroy_cq(near), 0);
	assert_int_equal(ibv_destroy_cq(far), 0);
}

/* A QP of another shard can be connected to itself. */
static void connects_to_itself(void **state)
{
	struct ibv_cq *far = far_cq();
	struct side a = end_with(far, far, NULL, IBV_QPT_RC);

	connect_ends(&a, &a);
	memset(dev.buf, 7, MESSAGE);
	assert_int_equal(post_rdma(&a, &a, IBV_WR_RDMA_WRITE, 1, 0, MESSAGE, MESSAGE, dev.mr->rkey),
			 0);
	expect_wc(far, 1, IBV_WC_SUCCESS);
	assert_memory_equal(dev.buf, dev.buf + MESSAGE, MESSAGE);
	destroy(&a);
	assert_int_equal(ibv_destroy_cq(far), 0);
}

/* ---- CQs of two shards ---- */

/* The send CQ and the receive CQ of a QP are in two shards; a third QP uses both as its own. */
static void cqs_of_two_shards(void **state)
{
	struct ibv_cq *x = far_cq(), *y = far_cq();
	struct side a = end_with(x, y, NULL, IBV_QPT_RC);
	struct side b = end_with(y, x, NULL, IBV_QPT_RC);
	struct ibv_modify_cq_attr moderate = {.attr_mask = IBV_CQ_ATTR_MODERATE};

	assert_int_not_equal(shard_of(&a), shard_of(&b));
	connect_ends(&a, &b);
	for (unsigned i = 1; i < 20; i++) {
		exchange(&a, &b, i);
		exchange(&b, &a, 100 + i);
	}
	assert_int_equal(ibv_resize_cq(x, 4 * CQE), 0);
	assert_true(x->cqe >= 4 * CQE);
	assert_int_equal(ibv_modify_cq(x, &moderate), 0);
	exchange(&a, &b, 50);
	assert_int_equal(ibv_destroy_cq(x), EBUSY);
	destroy(&a);
	assert_int_equal(ibv_destroy_cq(x), EBUSY);
	assert_int_equal(ibv_destroy_cq(y), EBUSY);
	destroy(&b);
	assert_int_equal(ibv_destroy_cq(x), 0);
	assert_int_equal(ibv_destroy_cq(y), 0);
}

/* One event for each request for events, whichever part of the CQ has the completion. */
static void events_of_parts(void **state)
{
	struct ibv_cq *x = far_cq(), *y = far_cq(), *got;
	struct side a = end_with(x, y, NULL, IBV_QPT_RC);
	struct side b = end_with(y, x, NULL, IBV_QPT_RC);
	void *context;

	connect_ends(&a, &b);
	for (unsigned i = 1; i < 10; i++) {
		assert_int_equal(ibv_req_notify_cq(x, 0), 0);
		/* Completions of both parts of x: a sends, and b receives. */
		assert_int_equal(post_recv(&b, i, MESSAGE, MESSAGE), 0);
		assert_int_equal(post_send(&a, i, 0, MESSAGE, IBV_SEND_SIGNALED), 0);
		assert_int_equal(ibv_get_cq_event(dev.channel, &got, &context), 0);
		assert_ptr_equal(got, x);
		ibv_ack_cq_events(x, 1);
		expect_wc(x, i, IBV_WC_SUCCESS);
		expect_wc(x, i, IBV_WC_SUCCESS);
		assert_false(readable(dev.channel->fd, 0));
	}
	destroy(&a);
	destroy(&b);
	assert_int_equal(ibv_destroy_cq(x), 0);
	assert_int_equal(ibv_destroy_cq(y), 0);
}

/* A part that is created later is armed if the CQ is. */
static void armed_before_its_part(void **state)
{
	struct ibv_cq *x = far_cq(), *y = far_cq(), *got;
	struct side a, b;
	void *context;

	assert_int_equal(ibv_req_notify_cq(y, 0), 0);
	a = end_with(x, y, NULL, IBV_QPT_RC);
	b = end_with(x, x, NULL, IBV_QPT_RC);
	connect_ends(&a, &b);
	exchange(&b, &a, 1);
	assert_int_equal(ibv_get_cq_event(dev.channel, &got, &context), 0);
	assert_ptr_equal(got, y);
	ibv_ack_cq_events(y, 1);
	destroy(&a);
	destroy(&b);
	assert_int_equal(ibv_destroy_cq(x), 0);
	assert_int_equal(ibv_destroy_cq(y), 0);
}

static void *create_cq_ex(void *unused)
{
	struct ibv_cq_init_attr_ex attr = {.cqe = CQE, .wc_flags = IBV_WC_STANDARD_FLAGS};

	return ibv_create_cq_ex(dev.ctx, &attr);
}

/* An extended poll takes the completions of all parts. */
static void extended_poll_of_parts(void **state)
{
	struct ibv_cq_ex *ex = from_thread(create_cq_ex, NULL);
	struct ibv_cq *x = ibv_cq_ex_to_cq(ex), *y = far_cq();
	struct side a = end_with(x, y, NULL, IBV_QPT_RC);
	struct side b = end_with(y, x, NULL, IBV_QPT_RC);
	struct ibv_poll_cq_attr attr = {0};
	unsigned seen = 0;
	double end = now_seconds() + PATIENCE;

	connect_ends(&a, &b);
	for (unsigned i = 0; i < 8; i++) {
		assert_int_equal(post_recv(&b, i, MESSAGE, MESSAGE), 0);
		assert_int_equal(post_send(&a, 8 + i, 0, MESSAGE, IBV_SEND_SIGNALED), 0);
	}
	while (seen != 0xffff && now_seconds() < end) {
		int ret = ibv_start_poll(ex, &attr);

		if (ret == ENOENT)
			continue;
		for (; ret == 0; ret = ibv_next_poll(ex)) {
			assert_int_equal(ex->status, IBV_WC_SUCCESS);
			assert_false(seen >> ex->wr_id & 1);
			seen |= 1u << ex->wr_id;
		}
		assert_int_equal(ret, ENOENT);
		ibv_end_poll(ex);
	}
	assert_int_equal(seen, 0xffff);
	destroy(&a);
	destroy(&b);
	assert_int_equal(ibv_destroy_cq(x), 0);
	assert_int_equal(ibv_destroy_cq(y), 0);
}

/* ---- SRQs, XRC, datagrams ---- */

/* QPs with CQs of two shards share an SRQ of a third. */
static void srq_of_another_shard(void **state)
{
	struct ibv_cq *x = far_cq(), *y = far_cq();
	struct ibv_srq *srq = create_srq(NULL);
	struct side a = end_with(x, x, NULL, IBV_QPT_RC), c = end_with(y, y, NULL, IBV_QPT_RC);
	struct side b = end_with(x, x, srq, IBV_QPT_RC), d = end_with(y, y, srq, IBV_QPT_RC);

	assert_int_equal(shard_of(&b), shard_of(&dev));
	assert_int_equal(shard_of(&d), shard_of(&dev));
	connect_ends(&a, &b);
	connect_ends(&c, &d);
	for (unsigned i = 1; i < 20; i++) {
		/* b's receive completes in x, where a's send completes, too. */
		exchange(&a, &b, i);
		exchange(&c, &d, 100 + i);
	}
	destroy(&a);
	destroy(&b);
	destroy(&c);
	destroy(&d);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	srq = from_thread(create_srq, NULL);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_int_equal(ibv_destroy_cq(x), 0);
	assert_int_equal(ibv_destroy_cq(y), 0);
}

static void post_datagram(struct side *from, struct side *to, struct ibv_ah *ah, uint64_t id)
{
	struct ibv_sge sge = sge_of(from, 0, 64);
	struct ibv_send_wr wr = {.wr_id = id,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_SEND,
				 .send_flags = IBV_SEND_SIGNALED},
			   *bad;

	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = to->qp->qp_num;
	wr.wr.ud.remote_qkey = QKEY;
	assert_int_equal(ibv_post_send(from->qp, &wr, &bad), 0);
}

/* UD QPs of two shards send with one address handle, which is destroyed right after the posts. */
static void datagrams_of_two_shards(void **state)
{
	struct ibv_cq *x = far_cq(), *y = far_cq();
	struct side a = end_with(x, x, NULL, IBV_QPT_UD), b = end_with(y, y, NULL, IBV_QPT_UD);
	struct ibv_ah_attr av = av_to(&a, &b);

	connect_ends(&a, &b);
	for (unsigned i = 1; i < 20; i++) {
		struct ibv_ah *ah = ibv_create_ah(dev.pd, &av);

		assert_non_null(ah);
		assert_int_equal(post_recv(&a, 10, MESSAGE, MESSAGE), 0);
		assert_int_equal(post_recv(&b, 11, 2 * MESSAGE, MESSAGE), 0);
		post_datagram(&a, &b, ah, 1);
		post_datagram(&b, &a, ah, 2);
		assert_int_equal(ibv_destroy_ah(ah), 0);
		/* The order of a send and a receive in one CQ is not defined. */
		for (unsigned k = 0; k < 2; k++) {
			struct ibv_wc wc;

			assert_true(wait_wc(x, &wc, PATIENCE) && wc.status == IBV_WC_SUCCESS);
			assert_true(wait_wc(y, &wc, PATIENCE) && wc.status == IBV_WC_SUCCESS);
		}
	}
	destroy(&a);
	destroy(&b);
	assert_int_equal(ibv_destroy_cq(x), 0);
	assert_int_equal(ibv_destroy_cq(y), 0);
}

/* An XRC SRQ, which is in the first shard, completes in a CQ of another. */
static void xrc_srq_with_far_cq(void **state)
{
	struct ibv_cq *x = far_cq();
	struct ibv_xrcd_init_attr domain = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = -1};
	struct ibv_xrcd *xrcd = ibv_open_xrcd(dev.ctx, &domain);
	struct ibv_srq_init_attr_ex attr = {
		.attr = {.max_wr = 16, .max_sge = 1},
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = dev.pd,
		.xrcd = xrcd,
		.cq = x,
	};
	struct ibv_srq *srq;

	assert_non_null(xrcd);
	srq = ibv_create_srq_ex(dev.ctx, &attr);
	assert_non_null(srq);
	assert_int_equal(ibv_destroy_cq(x), EBUSY);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_int_equal(ibv_close_xrcd(xrcd), 0);
	assert_int_equal(ibv_destroy_cq(x), 0);
}

/* ---- regions, asynchronous events, fork ---- */

#define ROUNDS 200

struct traffic {
	struct side a, b;
	atomic_bool stop;
	unsigned done;
	unsigned failed;
};

/* Writes to the region of the device until it is to stop. */
static void *write_often(void *arg)
{
	struct traffic *t = arg;
	struct ibv_wc wc;

	while (!atomic_load(&t->stop)) {
		if (post_rdma(&t->a, &t->b, IBV_WR_RDMA_WRITE, 1, 0, 64, MESSAGE, dev.mr->rkey) ||
		    !wait_wc(t->a.send_cq, &wc, PATIENCE) || wc.status != IBV_WC_SUCCESS) {
			t->failed++;
			break;
		}
		t->done++;
	}
	return NULL;
}

/* Regions come and go while the queue pairs of two shards use others. */
static void registers_during_traffic(void **state)
{
	struct traffic *t = calloc(2, sizeof(*t));
	pthread_t thread[2];
	struct ibv_cq *cq[2] = {far_cq(), far_cq()};

	for (unsigned i = 0; i < 2; i++) {
		t[i].a = end_with(cq[i], cq[i], NULL, IBV_QPT_RC);
		t[i].b = end_with(cq[i], cq[i], NULL, IBV_QPT_RC);
		connect_ends(&t[i].a, &t[i].b);
		assert_int_equal(pthread_create(&thread[i], NULL, write_often, &t[i]), 0);
	}
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct ibv_pd *pd = ibv_alloc_pd(dev.ctx);
		struct ibv_mr *mr = ibv_reg_mr(pd, dev.buf + BUF_SIZE / 2, 4096, ALL_ACCESS);
		struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);

		assert_true(pd && mr && mw);
		assert_int_equal(ibv_dealloc_mw(mw), 0);
		assert_int_equal(ibv_dereg_mr(mr), 0);
		assert_int_equal(ibv_dealloc_pd(pd), 0);
	}
	for (unsigned i = 0; i < 2; i++) {
		atomic_store(&t[i].stop, true);
		pthread_join(thread[i], NULL);
		assert_int_equal(t[i].failed, 0);
		destroy(&t[i].a);
		destroy(&t[i].b);
		assert_int_equal(ibv_destroy_cq(cq[i]), 0);
	}
	free(t);
}

/* After its deregistration, a region grants access to the queue pairs of no shard. */
static void deregistered_in_all_shards(void **state)
{
	struct ibv_cq *x = far_cq(), *y = far_cq();
	struct side a = end_with(x, x, NULL, IBV_QPT_RC), b = end_with(y, y, NULL, IBV_QPT_RC);
	struct ibv_mr *mr = ibv_reg_mr(dev.pd, dev.buf + BUF_SIZE / 2, 4096, ALL_ACCESS);
	uint32_t rkey = mr->rkey;

	connect_ends(&a, &b);
	assert_int_equal(post_rdma(&a, &b, IBV_WR_RDMA_WRITE, 1, 0, 64, BUF_SIZE / 2, rkey), 0);
	expect_wc(x, 1, IBV_WC_SUCCESS);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(post_rdma(&a, &b, IBV_WR_RDMA_WRITE, 2, 0, 64, BUF_SIZE / 2, rkey), 0);
	expect_wc(x, 2, IBV_WC_REM_ACCESS_ERR);
	destroy(&a);
	destroy(&b);
	assert_int_equal(ibv_destroy_cq(x), 0);
	assert_int_equal(ibv_destroy_cq(y), 0);
}

/* The context gets the asynchronous events of queue pairs of other shards. */
static void events_of_other_shards(void **state)
{
	struct ibv_cq *x = far_cq();
	struct side a = end_with(dev.send_cq, dev.send_cq, NULL, IBV_QPT_RC);
	struct side b = end_with(x, x, NULL, IBV_QPT_RC);
	struct ibv_async_event event;

	connect_ends(&a, &b);
	assert_int_equal(post_rdma(&a, &b, IBV_WR_RDMA_WRITE, 1, 0, 64, 0, dev.mr->rkey ^ 1), 0);
	expect_wc(dev.send_cq, 1, IBV_WC_REM_ACCESS_ERR);
	event = wait_async(dev.ctx);
	assert_int_equal(event.event_type, IBV_EVENT_QP_ACCESS_ERR);
	assert_ptr_equal(event.element.qp, b.qp);
	ibv_ack_async_event(&event);
	destroy(&a);
	destroy(&b);
	assert_int_equal(ibv_destroy_cq(x), 0);
}

/* In a child, the objects of all shards belong to the parent. */
static void fork_leaves_shards(void **state)
{
	struct ibv_cq *x = far_cq(), *y = far_cq();
	struct side a = end_with(x, y, NULL, IBV_QPT_RC), b = end_with(y, x, NULL, IBV_QPT_RC);
	struct ibv_wc wc;
	int status;
	pid_t child;

	connect_ends(&a, &b);
	child = fork();
	if (child == 0) {
		bool fine =
			ibv_poll_cq(x, 1, &wc) < 0 && ibv_req_notify_cq(x, 0) != 0 &&
			ibv_resize_cq(x, 8) != 0 && post_send(&a, 1, 0, 8, 0) != 0 &&
			!ibv_create_cq(dev.ctx, 1, NULL, NULL, 0) &&
			!ibv_create_qp(dev.pd, &(struct ibv_qp_init_attr){.send_cq = x,
									  .recv_cq = y,
									  .qp_type = IBV_QPT_RC}) &&
			ibv_destroy_qp(a.qp) == 0 && ibv_destroy_cq(x) == 0;

		_exit(fine ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	exchange(&a, &b, 1);
	destroy(&a);
	destroy(&b);
	assert_int_equal(ibv_destroy_cq(x), 0);
	assert_int_equal(ibv_destroy_cq(y), 0);
}

/* A context can be closed with objects in all its shards. */
static void closes_with_objects(void **state)
{
	static struct side left[2]; /* the leak checker finds the objects here */
	struct ibv_cq *x = far_cq(), *y = far_cq();

	left[0] = end_with(x, y, NULL, IBV_QPT_RC);
	left[1] = end_with(y, x, NULL, IBV_QPT_RC);
	connect_ends(&left[0], &left[1]);
	exchange(&left[0], &left[1], 1);
	assert_int_equal(ibv_close_device(dev.ctx), 0);
	free(dev.buf);
}

#define IN_DEV(test) cmocka_unit_test_setup_teardown(test, open_dev, close_dev)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_DEV(threads_have_shards),
		IN_DEV(connects_to_itself),
		IN_DEV(cqs_of_two_shards),
		IN_DEV(events_of_parts),
		IN_DEV(armed_before_its_part),
		IN_DEV(extended_poll_of_parts),
		IN_DEV(srq_of_another_shard),
		IN_DEV(datagrams_of_two_shards),
		IN_DEV(xrc_srq_with_far_cq),
		IN_DEV(registers_during_traffic),
		IN_DEV(deregistered_in_all_shards),
		IN_DEV(events_of_other_shards),
		IN_DEV(fork_leaves_shards),
		cmocka_unit_test_setup(closes_with_objects, open_dev),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
