/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests creation and destruction in the right and the wrong order, and memory regions. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness.h"

static void busy_objects_refuse_to_go(void **state)
{
	struct pair p;

	pair_open(&p, &(struct options){.srq = true});
	assert_int_equal(ibv_dealloc_pd(p.b.pd), EBUSY);
	assert_int_equal(ibv_destroy_cq(p.b.send_cq), EBUSY);
	assert_int_equal(ibv_destroy_cq(p.b.recv_cq), EBUSY);
	assert_int_equal(ibv_destroy_srq(p.b.srq), EBUSY);
	assert_int_equal(ibv_destroy_comp_channel(p.b.channel), EBUSY);

	/* The connection still works. */
	assert_int_equal(post_recv(&p.b, 1, 0, 64), 0);
	assert_int_equal(post_send(&p.a, 2, 0, 64, IBV_SEND_SIGNALED), 0);
	expect_wc(p.a.send_cq, 2, IBV_WC_SUCCESS);
	expect_wc(p.b.recv_cq, 1, IBV_WC_SUCCESS);

	assert_int_equal(ibv_destroy_qp(p.b.qp), 0);
	p.b.qp = NULL;
	assert_int_equal(ibv_dealloc_pd(p.b.pd), EBUSY);
	pair_close(&p);
}

static void pd_waits_for_mr_and_ah(void **state)
{
	struct side s;
	struct ibv_ah_attr av;
	struct ibv_pd *pd;
	struct ibv_ah *ah;
	struct ibv_mr *mr;

	side_open(&s, &(struct options){0});
	pd = ibv_alloc_pd(s.ctx);
	assert_non_null(pd);
	mr = ibv_reg_mr(pd, s.buf, 4096, 0);
	assert_non_null(mr);
	assert_int_equal(ibv_dealloc_pd(pd), EBUSY);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	av = av_to(&s, &s);
	ah = ibv_create_ah(pd, &av);
	assert_non_null(ah);
	assert_ptr_equal(ah->pd, pd);
	assert_int_equal(ibv_dealloc_pd(pd), EBUSY);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	side_close(&s);
}

static void address_handles_need_an_address(void **state)
{
	struct side s;
	struct ibv_ah_attr good, bad;

	side_open(&s, &(struct options){0});
	good = av_to(&s, &s);
	bad = good;
	bad.is_global = 0;
	assert_null(ibv_create_ah(s.pd, &bad));
	assert_int_equal(errno, EINVAL);
	bad = good;
	bad.grh.sgid_index = 250;
	assert_null(ibv_create_ah(s.pd, &bad));
	bad = good;
	bad.port_num = 2;
	assert_null(ibv_create_ah(s.pd, &bad));
	side_close(&s);
}

static void mr_needs_memory_of_the_right_kind(void **state)
{
	struct side s;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *map;
	struct ibv_mr *mr;

	side_open(&s, &(struct options){0});
	map = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(map != MAP_FAILED);

	/* The range has an unmapped page in the middle. */
	assert_int_equal(munmap(map + page, page), 0);
	errno = 0;
	assert_null(ibv_reg_mr(s.pd, map, 4 * page, IBV_ACCESS_LOCAL_WRITE));
	assert_int_equal(errno, EFAULT);
	mr = ibv_reg_mr(s.pd, map, 4 * page, IBV_ACCESS_ON_DEMAND);
	assert_non_null(mr);
	assert_int_equal(ibv_dereg_mr(mr), 0);

	/* Read-only memory can be the source of a SEND, but not the target of a receive. */
	assert_int_equal(mprotect(map + 2 * page, page, PROT_READ), 0);
	errno = 0;
	assert_null(ibv_reg_mr(s.pd, map + 2 * page, page, IBV_ACCESS_LOCAL_WRITE));
	assert_int_equal(errno, EFAULT);
	mr = ibv_reg_mr(s.pd, map + 2 * page, page, IBV_ACCESS_REMOTE_READ);
	assert_non_null(mr);
	assert_int_equal(ibv_dereg_mr(mr), 0);

	assert_null(ibv_reg_mr(s.pd, NULL, page, IBV_ACCESS_LOCAL_WRITE));
	assert_int_equal(errno, EFAULT);
	assert_null(ibv_reg_mr(s.pd, s.buf, 0, IBV_ACCESS_LOCAL_WRITE));
	assert_int_equal(errno, EINVAL);
	assert_null(ibv_reg_mr(s.pd, s.buf + 16, SIZE_MAX - 8, IBV_ACCESS_LOCAL_WRITE));
	assert_int_equal(errno, EINVAL);
	/* Another thread may have memory in the gap by now. */
	munmap(map, page);
	munmap(map + 2 * page, 2 * page);
	side_close(&s);
}

static void mr_flags(void **state)
{
	struct side s;
	struct ibv_mr *mr;

	side_open(&s, &(struct options){0});
	assert_null(ibv_reg_mr(s.pd, s.buf, 4096, IBV_ACCESS_REMOTE_WRITE));
	assert_int_equal(errno, EINVAL);
	assert_null(ibv_reg_mr(s.pd, s.buf, 4096, IBV_ACCESS_REMOTE_ATOMIC));
	assert_int_equal(errno, EINVAL);
	for (int bit = 10; bit < 20; bit++) {
		assert_null(ibv_reg_mr(s.pd, s.buf, 4096, 1 << bit));
		assert_int_equal(errno, EINVAL);
	}
	/* Registers with each access flag, also with the two FLUSH flags that some headers lack. */
	for (int bit = 0; bit < 10; bit++) {
		mr = ibv_reg_mr(s.pd, s.buf, 4096, 1 << bit | IBV_ACCESS_LOCAL_WRITE);
		assert_non_null(mr);
		assert_int_equal(ibv_dereg_mr(mr), 0);
	}
	for (int bit = 20; bit < 30; bit++) {
		mr = ibv_reg_mr_iova2(s.pd, s.buf, 4096, 0, 1u << bit);
		assert_non_null(mr);
		assert_int_equal(ibv_dereg_mr(mr), 0);
	}
	mr = ibv_reg_mr(s.pd, s.buf, 4096, IBV_ACCESS_RELAXED_ORDERING | IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(mr);
	assert_ptr_equal(mr->addr, s.buf);
	assert_int_equal(mr->length, 4096);
	assert_ptr_equal(mr->pd, s.pd);
	assert_ptr_equal(mr->context, s.ctx);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	side_close(&s);
}

static void iova_and_zero_based(void **state)
{
	struct ibv_mr *mr;
	struct pair p;

	pair_open(&p, &(struct options){0});
	memcpy(p.a.buf, "by iova", 8);
	mr = ibv_reg_mr_iova(p.b.pd, p.b.buf + 4096, 4096, 0x1234000,
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	assert_non_null(mr);
	assert_int_equal(access_remote(&p, IBV_WR_RDMA_WRITE, 0x1234000 + 100, mr->rkey, 8),
			 IBV_WC_SUCCESS);
	assert_string_equal((char *)p.b.buf + 4096 + 100, "by iova");
	assert_int_equal(ibv_dereg_mr(mr), 0);

	memcpy(p.a.buf, "by zero", 8);
	mr = ibv_reg_mr(p.b.pd, p.b.buf + 8192, 4096,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_ZERO_BASED);
	assert_non_null(mr);
	assert_int_equal(access_remote(&p, IBV_WR_RDMA_WRITE, 200, mr->rkey, 8), IBV_WC_SUCCESS);
	assert_string_equal((char *)p.b.buf + 8192 + 200, "by zero");
	assert_int_equal(access_remote(&p, IBV_WR_RDMA_WRITE, 4090, mr->rkey, 8),
			 IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	pair_close(&p);
}

static void rereg_moves_the_region(void **state)
{
	uint32_t old_rkey;
	struct ibv_mr *mr;
	struct pair p;
	int flags = IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_ACCESS;

	pair_open(&p, &(struct options){0});
	mr = ibv_reg_mr(p.b.pd, p.b.buf, 4096, IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(mr);
	old_rkey = mr->rkey;
	assert_int_equal(ibv_rereg_mr(mr, 1 << 7, NULL, NULL, 0, 0), IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(ibv_rereg_mr(mr, flags, NULL, NULL, 0, 0), IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(ibv_rereg_mr(mr, flags, NULL, p.b.buf + 8192, 4096,
				      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE),
			 0);
	assert_ptr_equal(mr->addr, p.b.buf + 8192);
	memcpy(p.a.buf, "moved..", 8);
	assert_int_equal(
		access_remote(&p, IBV_WR_RDMA_WRITE, (uintptr_t)p.b.buf + 8192, mr->rkey, 8),
		IBV_WC_SUCCESS);
	assert_string_equal((char *)p.b.buf + 8192, "moved..");
	assert_true(old_rkey != mr->rkey);
	assert_int_equal(access_remote(&p, IBV_WR_RDMA_WRITE, (uintptr_t)p.b.buf, old_rkey, 8),
			 IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	pair_close(&p);
}

static void dereg_under_outstanding_work_is_an_error(void **state)
{
	struct ibv_sge sge;
	struct ibv_recv_wr wr = {.wr_id = 3, .sg_list = &sge, .num_sge = 1}, *bad;
	struct ibv_mr *mr;
	struct pair p;

	pair_open(&p, &(struct options){0});
	mr = ibv_reg_mr(p.b.pd, p.b.buf, 4096, IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(mr);
	sge = (struct ibv_sge){(uintptr_t)p.b.buf, 4096, mr->lkey};
	assert_int_equal(ibv_post_recv(p.b.qp, &wr, &bad), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(post_send(&p.a, 4, 0, 100, IBV_SEND_SIGNALED), 0);
	expect_wc(p.b.recv_cq, 3, IBV_WC_LOC_PROT_ERR);
	expect_wc(p.a.send_cq, 4, IBV_WC_REM_OP_ERR);
	pair_close(&p);
}

static void unsupported_kinds_of_objects(void **state)
{
	struct ibv_qp_init_attr init;
	struct ibv_srq_init_attr_ex srq = {
		.attr = {.max_wr = 1, .max_sge = 1},
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
		.srq_type = IBV_SRQT_TM,
	};
	struct side s, t;

	side_open(&s, &(struct options){0});
	side_open(&t, &(struct options){0});
	init = s.init;
	init.qp_type = IBV_QPT_RAW_PACKET;
	assert_null(ibv_create_qp(s.pd, &init));
	assert_int_equal(errno, EOPNOTSUPP);
	init = s.init;
	init.send_cq = NULL;
	assert_null(ibv_create_qp(s.pd, &init));
	assert_int_equal(errno, EINVAL);
	/* Objects of two contexts cannot be combined. */
	init = s.init;
	init.recv_cq = t.recv_cq;
	assert_null(ibv_create_qp(s.pd, &init));
	assert_int_equal(errno, EINVAL);
	assert_null(ibv_create_cq(s.ctx, 1, NULL, t.channel, 0));
	assert_int_equal(errno, EINVAL);
	srq.pd = s.pd;
	assert_null(ibv_create_srq_ex(s.ctx, &srq));
	assert_int_equal(errno, EOPNOTSUPP);
	side_close(&t);
	side_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(busy_objects_refuse_to_go),
		cmocka_unit_test(pd_waits_for_mr_and_ah),
		cmocka_unit_test(address_handles_need_an_address),
		cmocka_unit_test(mr_needs_memory_of_the_right_kind),
		cmocka_unit_test(mr_flags),
		cmocka_unit_test(iova_and_zero_based),
		cmocka_unit_test(rereg_moves_the_region),
		cmocka_unit_test(dereg_under_outstanding_work_is_an_error),
		cmocka_unit_test(unsupported_kinds_of_objects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
