/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests memory windows of both types, and SEND with invalidate. */
#include "harness.h"

#define REMOTE (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

/* Registers side b's buffer so that windows can be bound. */
static struct ibv_mr *bindable(struct side *s)
{
	struct ibv_mr *mr = ibv_reg_mr(s->pd, s->buf, BUF_SIZE, ALL_ACCESS | IBV_ACCESS_MW_BIND);

	assert_non_null(mr);
	return mr;
}

static struct ibv_mw_bind_info info(struct ibv_mr *mr, size_t offset, size_t length)
{
	return (struct ibv_mw_bind_info){.mr = mr,
					 .addr = (uintptr_t)mr->addr + offset,
					 .length = length,
					 .mw_access_flags = REMOTE};
}

static void device_says_so(void **state)
{
	struct ibv_context *ctx = open_device();
	struct ibv_device_attr attr;

	assert_int_equal(ibv_query_device(ctx, &attr), 0);
	assert_true(attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW);
	assert_true(attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B);
	assert_true(attr.max_mw > 0);
	assert_int_equal(ibv_close_device(ctx), 0);
}

static void type_1(void **state)
{
	struct ibv_mw_bind bind = {.wr_id = 1, .send_flags = IBV_SEND_SIGNALED};
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	struct ibv_wc wc;
	uint32_t before;
	struct pair p;

	pair_open(&p, &(struct options){0});
	mr = bindable(&p.b);
	errno = 0;
	assert_null(ibv_alloc_mw(p.b.pd, (enum ibv_mw_type)0));
	assert_int_equal(errno, EINVAL);
	mw = ibv_alloc_mw(p.b.pd, IBV_MW_TYPE_1);
	assert_non_null(mw);
	assert_int_equal(mw->type, IBV_MW_TYPE_1);
	before = mw->rkey;
	bind.bind_info = info(mr, 4096, 1000);
	assert_int_equal(ibv_bind_mw(p.b.qp, mw, &bind), 0);
	assert_int_not_equal(mw->rkey, before);
	wc = expect_wc(p.b.send_cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_BIND_MW);
	assert_int_equal(ibv_dereg_mr(mr), EBUSY);
	memset(p.a.buf, 7, 1000);
	assert_int_equal(post_rdma(&p.a, &p.b, IBV_WR_RDMA_WRITE, 2, 0, 1000, 4096, mw->rkey), 0);
	expect_wc(p.a.send_cq, 2, IBV_WC_SUCCESS);
	assert_memory_equal(p.b.buf + 4096, p.a.buf, 1000);
	assert_int_equal(post_rdma(&p.a, &p.b, IBV_WR_RDMA_WRITE, 3, 0, 1000, 4097, mw->rkey), 0);
	expect_wc(p.a.send_cq, 3, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	pair_close(&p);
}

static void type_2_by_ibv_wr(void **state)
{
	const uint64_t ops = IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV |
			     IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_SEND;
	struct ibv_mw_bind_info what;
	struct ibv_qp_ex *qp;
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	struct ibv_wc wc;
	uint32_t rkey;
	struct pair p;

	pair_open(&p, &(struct options){.send_ops = ops});
	mr = bindable(&p.b);
	mw = ibv_alloc_mw(p.b.pd, IBV_MW_TYPE_2);
	assert_non_null(mw);
	rkey = ibv_inc_rkey(mw->rkey);
	what = info(mr, 4096, 1000);
	qp = ibv_qp_to_qp_ex(p.b.qp);
	ibv_wr_start(qp);
	qp->wr_id = 1;
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_bind_mw(qp, mw, rkey, &what);
	qp->wr_id = 2;
	ibv_wr_local_inv(qp, rkey);
	qp->wr_id = 3;
	rkey = ibv_inc_rkey(rkey);
	ibv_wr_bind_mw(qp, mw, rkey, &what);
	assert_int_equal(ibv_wr_complete(qp), 0);
	wc = expect_wc(p.b.send_cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_BIND_MW);
	wc = expect_wc(p.b.send_cq, 2, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_LOCAL_INV);
	expect_wc(p.b.send_cq, 3, IBV_WC_SUCCESS);
	memset(p.b.buf + 4096, 9, 1000);
	/* The peer invalidates the window after its READ. */
	assert_int_equal(post_recv(&p.b, 10, 0, 64), 0);
	qp = ibv_qp_to_qp_ex(p.a.qp);
	ibv_wr_start(qp);
	qp->wr_id = 4;
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send_inv(qp, rkey);
	ibv_wr_set_sge(qp, p.a.mr->lkey, (uintptr_t)p.a.buf, 64);
	assert_int_equal(ibv_wr_complete(qp), 0);
	expect_wc(p.a.send_cq, 4, IBV_WC_SUCCESS);
	wc = expect_wc(p.b.recv_cq, 10, IBV_WC_SUCCESS);
	assert_int_equal(wc.wc_flags, IBV_WC_WITH_INV);
	assert_int_equal(wc.invalidated_rkey, rkey);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	pair_close(&p);
}

/* Tests binding by ibv_post_send(), and its errors. */
static void type_2_by_post_send(void **state)
{
	struct ibv_send_wr wr = {
		.wr_id = 1, .opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED};
	struct ibv_mw_bind bind = {.wr_id = 1};
	struct ibv_send_wr *bad;
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	struct pair p;

	pair_open(&p, &(struct options){0});
	mr = bindable(&p.b);
	mw = ibv_alloc_mw(p.b.pd, IBV_MW_TYPE_2);
	assert_int_equal(ibv_bind_mw(p.b.qp, mw, &bind), EINVAL);
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = mw->rkey ^ 0x100;
	wr.bind_mw.bind_info = info(mr, 0, 100);
	assert_int_equal(ibv_post_send(p.b.qp, &wr, &bad), EINVAL);
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	assert_int_equal(ibv_post_send(p.b.qp, &wr, &bad), 0);
	expect_wc(p.b.send_cq, 1, IBV_WC_SUCCESS);
	memset(p.b.buf, 5, 100);
	assert_int_equal(post_rdma(&p.a, &p.b, IBV_WR_RDMA_READ, 2, 0, 100, 0, wr.bind_mw.rkey), 0);
	expect_wc(p.a.send_cq, 2, IBV_WC_SUCCESS);
	assert_memory_equal(p.a.buf, p.b.buf, 100);
	/* The window is already bound. */
	wr.bind_mw.rkey = ibv_inc_rkey(wr.bind_mw.rkey);
	assert_int_equal(ibv_post_send(p.b.qp, &wr, &bad), 0);
	expect_wc(p.b.send_cq, 1, IBV_WC_MW_BIND_ERR);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	pair_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(device_says_so),
		cmocka_unit_test(type_1),
		cmocka_unit_test(type_2_by_ibv_wr),
		cmocka_unit_test(type_2_by_post_send),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
