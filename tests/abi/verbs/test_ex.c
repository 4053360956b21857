/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests extended completion queues, and ibv_wr_*() on extended queue pairs. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "harness.h"

/* ---- struct ibv_cq_ex ---- */

#define WC_FLAGS                                                                                   \
	(IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |                             \
	 IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)

/* Replaces the receive CQ of side b by an extended one. */
static struct ibv_cq_ex *pair_with_cq_ex(struct pair *p, uint32_t flags)
{
	const struct options o = {.unconnected = true};
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 64,
		.channel = NULL,
		.wc_flags = WC_FLAGS,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		.flags = flags,
	};
	struct ibv_cq_ex *cq;

	pair_open(p, &o);
	attr.channel = p->b.channel;
	attr.cq_context = &p->b;
	cq = ibv_create_cq_ex(p->b.ctx, &attr);
	assert_non_null(cq);
	assert_int_equal(ibv_destroy_qp(p->b.qp), 0);
	assert_int_equal(ibv_destroy_cq(p->b.recv_cq), 0);
	p->b.recv_cq = ibv_cq_ex_to_cq(cq);
	p->b.init.recv_cq = p->b.recv_cq;
	p->b.qp = ibv_create_qp(p->b.pd, &p->b.init);
	assert_non_null(p->b.qp);
	assert_int_equal(to_init(&p->a, &o), 0);
	assert_int_equal(to_init(&p->b, &o), 0);
	assert_int_equal(to_rtr(&p->a, &p->b, &o), 0);
	assert_int_equal(to_rtr(&p->b, &p->a, &o), 0);
	assert_int_equal(to_rts(&p->a, &o), 0);
	assert_int_equal(to_rts(&p->b, &o), 0);
	return cq;
}

static int start_poll(struct ibv_cq_ex *cq)
{
	struct ibv_poll_cq_attr attr = {0};
	double end = now_seconds() + PATIENCE;
	int ret;

	do {
		ret = ibv_start_poll(cq, &attr);
	} while (ret == ENOENT && now_seconds() < end);
	return ret;
}

static void check_times(struct ibv_cq_ex *cq, uint64_t raw_before, uint64_t wall_before)
{
	struct ibv_values_ex values = {.comp_mask = IBV_VALUES_MASK_RAW_CLOCK};
	struct timespec ts;

	assert_int_equal(ibv_query_rt_values_ex(cq->context, &values), 0);
	assert_in_range(ibv_wc_read_completion_ts(cq), raw_before, values.raw_clock.tv_nsec);
	clock_gettime(CLOCK_REALTIME, &ts);
	assert_in_range(ibv_wc_read_completion_wallclock_ns(cq), wall_before - 1000000,
			(uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec + 1000000);
}

static void getters_tell_the_completion(void **state)
{
	struct ibv_values_ex values = {.comp_mask = IBV_VALUES_MASK_RAW_CLOCK};
	struct ibv_poll_cq_attr attr = {0};
	struct timespec wall;
	struct ibv_cq_ex *cq;
	struct pair p;

	cq = pair_with_cq_ex(&p, 0);
	assert_int_equal(ibv_start_poll(cq, &attr), ENOENT);
	attr.comp_mask = 1;
	assert_int_equal(ibv_start_poll(cq, &attr), EINVAL);
	assert_int_equal(ibv_query_rt_values_ex(p.b.ctx, &values), 0);
	clock_gettime(CLOCK_REALTIME, &wall);
	for (uint64_t i = 0; i < 3; i++) {
		assert_int_equal(post_recv(&p.b, 10 + i, 0, 64), 0);
		assert_int_equal(post_send(&p.a, i, 0, 20 + (uint32_t)i, IBV_SEND_SIGNALED), 0);
		expect_wc(p.a.send_cq, i, IBV_WC_SUCCESS);
	}
	assert_int_equal(start_poll(cq), 0);
	for (uint64_t i = 0; i < 3; i++) {
		assert_int_equal(cq->wr_id, 10 + i);
		assert_int_equal(cq->status, IBV_WC_SUCCESS);
		assert_int_equal(ibv_wc_read_opcode(cq), IBV_WC_RECV);
		assert_int_equal(ibv_wc_read_byte_len(cq), 20 + i);
		assert_int_equal(ibv_wc_read_qp_num(cq), p.b.qp->qp_num);
		assert_int_equal(ibv_wc_read_wc_flags(cq), 0);
		assert_int_equal(ibv_wc_read_vendor_err(cq), 0);
		assert_int_equal(ibv_wc_read_slid(cq), 0);
		check_times(cq, (uint64_t)values.raw_clock.tv_nsec,
			    (uint64_t)wall.tv_sec * 1000000000u + (uint64_t)wall.tv_nsec);
		if (i < 2)
			assert_int_equal(ibv_next_poll(cq), 0);
	}
	assert_int_equal(ibv_next_poll(cq), ENOENT);
	ibv_end_poll(cq);
	pair_close(&p);
}

/* Tests that both ways of polling use the same queue, and that an early end loses no completion. */
static void both_ways_of_polling(void **state)
{
	struct ibv_cq_ex *cq;
	struct pair p;

	cq = pair_with_cq_ex(&p, IBV_CREATE_CQ_ATTR_SINGLE_THREADED);
	for (uint64_t i = 0; i < 4; i++) {
		assert_int_equal(post_recv(&p.b, i, 0, 64), 0);
		assert_int_equal(post_send(&p.a, i, 0, 8, IBV_SEND_SIGNALED), 0);
		expect_wc(p.a.send_cq, i, IBV_WC_SUCCESS);
	}
	assert_int_equal(start_poll(cq), 0);
	assert_int_equal(cq->wr_id, 0);
	/* Another poll dequeues the next completion while the extended poll still has its current
	 * one. */
	expect_wc(ibv_cq_ex_to_cq(cq), 1, IBV_WC_SUCCESS);
	assert_int_equal(cq->wr_id, 0);
	ibv_end_poll(cq);
	expect_wc(ibv_cq_ex_to_cq(cq), 2, IBV_WC_SUCCESS);
	assert_int_equal(start_poll(cq), 0);
	assert_int_equal(cq->wr_id, 3);
	assert_int_equal(ibv_next_poll(cq), ENOENT);
	ibv_end_poll(cq);
	pair_close(&p);
}

static void a_failed_completion(void **state)
{
	struct ibv_cq_ex *cq;
	struct pair p;

	cq = pair_with_cq_ex(&p, 0);
	assert_int_equal(post_recv(&p.b, 5, 0, 8), 0);
	assert_int_equal(to_state(&p.b, IBV_QPS_ERR), 0);
	assert_int_equal(start_poll(cq), 0);
	assert_int_equal(cq->wr_id, 5);
	assert_int_equal(cq->status, IBV_WC_WR_FLUSH_ERR);
	assert_true(ibv_wc_read_vendor_err(cq) != 0);
	ibv_end_poll(cq);
	pair_close(&p);
}

static void what_cq_ex_refuses(void **state)
{
	const struct ibv_cq_init_attr_ex bad[] = {
		{.cqe = 1, .wc_flags = IBV_WC_EX_WITH_CVLAN},
		{.cqe = 1, .wc_flags = IBV_WC_EX_WITH_FLOW_TAG},
		{.cqe = 1, .wc_flags = IBV_WC_EX_WITH_TM_INFO},
		{.cqe = 1, .wc_flags = 1ull << 40},
		{.cqe = 1,
		 .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		 .flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN},
	};
	struct ibv_context *ctx = open_device();

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct ibv_cq_init_attr_ex attr = bad[i];

		errno = 0;
		assert_null(ibv_create_cq_ex(ctx, &attr));
		assert_int_equal(errno, EOPNOTSUPP);
	}
	assert_int_equal(ibv_close_device(ctx), 0);
}

static void resizing_keeps_completions(void **state)
{
	struct pair p;

	pair_open(&p, &(struct options){0});
	for (uint64_t i = 0; i < 20; i++) {
		assert_int_equal(post_recv(&p.b, i, 0, 8), 0);
		assert_int_equal(post_send(&p.a, i, 0, 8, IBV_SEND_SIGNALED), 0);
		expect_wc(p.a.send_cq, i, IBV_WC_SUCCESS);
	}
	assert_int_equal(ibv_resize_cq(p.b.recv_cq, 5), EINVAL);
	assert_int_equal(ibv_resize_cq(p.b.recv_cq, 1000), 0);
	assert_true(p.b.recv_cq->cqe >= 1000);
	for (uint64_t i = 0; i < 20; i++)
		expect_wc(p.b.recv_cq, i, IBV_WC_SUCCESS);
	assert_int_equal(ibv_resize_cq(p.b.recv_cq, 0), EINVAL);
	pair_close(&p);
}

/* ---- struct ibv_qp_ex ---- */

#define RC_OPS                                                                                     \
	(IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_WRITE |          \
	 IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ |                           \
	 IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)

static struct ibv_qp_ex *start_requests(struct side *s, uint64_t wr_id)
{
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(s->qp);

	assert_non_null(qp);
	ibv_wr_start(qp);
	qp->wr_id = wr_id;
	qp->wr_flags = IBV_SEND_SIGNALED;
	return qp;
}

static void a_batch_of_all_operations(void **state)
{
	uint64_t *word;
	struct ibv_qp_ex *qp;
	struct ibv_wc wc;
	struct pair p;
	uint64_t remote;
	char text[] = "inline";

	pair_open(&p, &(struct options){.send_ops = RC_OPS});
	remote = (uintptr_t)p.b.buf;
	word = (uint64_t *)(void *)(p.b.buf + 4096);
	*word = 40;
	memset(p.a.buf, 0x61, 64);
	memset(p.b.buf + 8192, 0x62, 64);
	for (uint64_t i = 0; i < 3; i++)
		assert_int_equal(post_recv(&p.b, 100 + i, 16384 + 64 * i, 64), 0);

	qp = start_requests(&p.a, 0);
	ibv_wr_send(qp);
	ibv_wr_set_sge(qp, p.a.mr->lkey, (uintptr_t)p.a.buf, 10);
	qp->wr_id = 1;
	ibv_wr_send_imm(qp, 0x99);
	ibv_wr_set_inline_data(qp, text, sizeof(text));
	qp->wr_id = 2;
	ibv_wr_rdma_write(qp, p.b.mr->rkey, remote);
	ibv_wr_set_sge(qp, p.a.mr->lkey, (uintptr_t)p.a.buf, 64);
	qp->wr_id = 3;
	ibv_wr_rdma_read(qp, p.b.mr->rkey, remote + 8192);
	ibv_wr_set_sge(qp, p.a.mr->lkey, (uintptr_t)p.a.buf + 8192, 64);
	qp->wr_id = 4;
	ibv_wr_atomic_fetch_add(qp, p.b.mr->rkey, remote + 4096, 2);
	ibv_wr_set_sge(qp, p.a.mr->lkey, (uintptr_t)p.a.buf + 512, 8);
	qp->wr_id = 5;
	ibv_wr_atomic_cmp_swp(qp, p.b.mr->rkey, remote + 4096, 42, 7);
	ibv_wr_set_sge(qp, p.a.mr->lkey, (uintptr_t)p.a.buf + 520, 8);
	qp->wr_id = 6;
	ibv_wr_rdma_write_imm(qp, p.b.mr->rkey, remote + 1024, 0x88);
	ibv_wr_set_sge(qp, p.a.mr->lkey, (uintptr_t)p.a.buf, 4);
	memset(text, 'x', sizeof(text));
	expect_none(p.a.send_cq); /* no request is posted before wr_complete */
	assert_int_equal(ibv_wr_complete(qp), 0);

	for (uint64_t i = 0; i < 7; i++)
		expect_wc(p.a.send_cq, i, IBV_WC_SUCCESS);
	assert_int_equal(expect_wc(p.b.recv_cq, 100, IBV_WC_SUCCESS).byte_len, 10);
	wc = expect_wc(p.b.recv_cq, 101, IBV_WC_SUCCESS);
	assert_int_equal(wc.imm_data, 0x99);
	assert_string_equal((char *)p.b.buf + 16384 + 64, "inline");
	wc = expect_wc(p.b.recv_cq, 102, IBV_WC_SUCCESS);
	assert_int_equal(wc.imm_data, 0x88);
	assert_int_equal(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	assert_memory_equal(p.b.buf, p.a.buf, 64);
	assert_memory_equal(p.a.buf + 8192, p.b.buf + 8192, 64);
	assert_int_equal(*(uint64_t *)(void *)(p.a.buf + 512), 40);
	assert_int_equal(*(uint64_t *)(void *)(p.a.buf + 520), 42);
	assert_int_equal(*word, 7);
	pair_close(&p);
}

static void abort_and_errors_post_nothing(void **state)
{
	struct ibv_sge sge[100] = {0};
	struct ibv_qp_ex *qp;
	struct pair p;
	char big[65536];

	pair_open(&p, &(struct options){.send_ops = RC_OPS});
	assert_int_equal(post_recv(&p.b, 1, 0, 64), 0);
	qp = start_requests(&p.a, 1);
	ibv_wr_send(qp);
	ibv_wr_set_sge(qp, p.a.mr->lkey, (uintptr_t)p.a.buf, 8);
	ibv_wr_abort(qp);

	qp = start_requests(&p.a, 2);
	ibv_wr_send(qp);
	ibv_wr_set_sge(qp, p.a.mr->lkey, (uintptr_t)p.a.buf, 8);
	ibv_wr_send(qp);
	ibv_wr_set_sge_list(qp, 100, sge);
	assert_int_equal(ibv_wr_complete(qp), EINVAL);

	qp = start_requests(&p.a, 3);
	ibv_wr_send(qp);
	ibv_wr_set_inline_data(qp, big, sizeof(big));
	assert_int_equal(ibv_wr_complete(qp), EINVAL);

	qp = start_requests(&p.a, 4);
	assert_int_equal(ibv_wr_complete(qp), 0);
	expect_none(p.a.send_cq);
	expect_none(p.b.recv_cq);

	qp = start_requests(&p.a, 5);
	ibv_wr_send(qp);
	ibv_wr_set_sge(qp, p.a.mr->lkey, (uintptr_t)p.a.buf, 8);
	assert_int_equal(ibv_wr_complete(qp), 0);
	expect_wc(p.a.send_cq, 5, IBV_WC_SUCCESS);
	expect_wc(p.b.recv_cq, 1, IBV_WC_SUCCESS);
	pair_close(&p);
}

/* Tests a batch whose lists grow: pointers into them must stay valid. */
static void long_batches(void **state)
{
	const uint32_t n = 500;
	struct ibv_data_buf parts[2];
	struct ibv_qp_ex *qp;
	struct pair p;

	pair_open(&p, &(struct options){.send_ops = RC_OPS, .cap = {512, 512, 2, 2, 64}});
	qp = start_requests(&p.a, 0);
	for (uint32_t i = 0; i < n; i++) {
		struct ibv_sge sge[2] = {sge_of(&p.a, 8 * i, 4), sge_of(&p.a, 8 * i + 4, 4)};

		memcpy(p.a.buf + 8 * i, &i, 4);
		memcpy(p.a.buf + 8 * i + 4, &n, 4);
		parts[0] = (struct ibv_data_buf){&i, sizeof(i)};
		parts[1] = (struct ibv_data_buf){(void *)(uintptr_t)&n, sizeof(n)};
		qp->wr_id = i;
		qp->wr_flags = i == n - 1 ? IBV_SEND_SIGNALED : 0;
		ibv_wr_rdma_write(qp, p.b.mr->rkey, (uintptr_t)p.b.buf + 8 * i);
		if (i % 2)
			ibv_wr_set_inline_data_list(qp, 2, parts);
		else
			ibv_wr_set_sge_list(qp, 2, sge);
	}
	assert_int_equal(ibv_wr_complete(qp), 0);
	expect_wc(p.a.send_cq, n - 1, IBV_WC_SUCCESS);
	assert_memory_equal(p.b.buf, p.a.buf, 8 * n);
	pair_close(&p);
}

static void both_ways_of_posting(void **state)
{
	struct ibv_qp_ex *qp;
	struct pair p;

	pair_open(&p, &(struct options){.send_ops = IBV_QP_EX_WITH_SEND});
	assert_null(ibv_qp_to_qp_ex(p.b.qp)->wr_rdma_write);
	assert_int_equal(post_recv(&p.b, 1, 0, 8), 0);
	assert_int_equal(post_recv(&p.b, 2, 0, 8), 0);
	assert_int_equal(post_send(&p.a, 3, 0, 8, IBV_SEND_SIGNALED), 0);
	qp = start_requests(&p.a, 4);
	ibv_wr_send(qp);
	ibv_wr_set_sge(qp, p.a.mr->lkey, (uintptr_t)p.a.buf, 8);
	assert_int_equal(ibv_wr_complete(qp), 0);
	expect_wc(p.a.send_cq, 3, IBV_WC_SUCCESS);
	expect_wc(p.a.send_cq, 4, IBV_WC_SUCCESS);
	expect_wc(p.b.recv_cq, 1, IBV_WC_SUCCESS);
	expect_wc(p.b.recv_cq, 2, IBV_WC_SUCCESS);
	pair_close(&p);
}

static void operations_that_a_transport_lacks(void **state)
{
	const struct {
		enum ibv_qp_type type;
		uint64_t ops;
	} bad[] = {
		{IBV_QPT_UD, IBV_QP_EX_WITH_RDMA_WRITE}, {IBV_QPT_UC, IBV_QP_EX_WITH_RDMA_READ},
		{IBV_QPT_UD, IBV_QP_EX_WITH_BIND_MW},	 {IBV_QPT_UC, IBV_QP_EX_WITH_SEND_WITH_INV},
		{IBV_QPT_RC, IBV_QP_EX_WITH_TSO},	 {IBV_QPT_RC, 1ull << 50},
	};
	struct ibv_qp_init_attr_ex attr = {0};
	struct side s;

	side_open(&s, &(struct options){0});
	assert_null(ibv_qp_to_qp_ex(s.qp));
	attr.send_cq = attr.recv_cq = s.send_cq;
	attr.cap = s.init.cap;
	attr.pd = s.pd;
	attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		attr.qp_type = bad[i].type;
		attr.send_ops_flags = bad[i].ops;
		errno = 0;
		assert_null(ibv_create_qp_ex(s.ctx, &attr));
		assert_int_equal(errno, EOPNOTSUPP);
	}
	side_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(getters_tell_the_completion),
		cmocka_unit_test(both_ways_of_polling),
		cmocka_unit_test(a_failed_completion),
		cmocka_unit_test(what_cq_ex_refuses),
		cmocka_unit_test(resizing_keeps_completions),
		cmocka_unit_test(a_batch_of_all_operations),
		cmocka_unit_test(abort_and_errors_post_nothing),
		cmocka_unit_test(long_batches),
		cmocka_unit_test(both_ways_of_posting),
		cmocka_unit_test(operations_that_a_transport_lacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
