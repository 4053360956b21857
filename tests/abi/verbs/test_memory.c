/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests on-demand paging, ibv_advise_mr(), device memory, and FLUSH. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness.h"

#define ODP_ACCESS (ALL_ACCESS | IBV_ACCESS_ON_DEMAND)
/* Missing in some headers. */
#define FLUSH_GLOBAL_ACCESS	(1 << 8)
#define FLUSH_PERSISTENT_ACCESS (1 << 9)
#define WITH_FLUSH		(1u << 11)
#define WC_FLUSH		8
#define FLUSH_RANGE		0
#define FLUSH_MR		1

static size_t page;

static uint8_t *map_pages(size_t pages)
{
	uint8_t *map = mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);

	assert_true(map != MAP_FAILED);
	return map;
}

/* Tests memory that is mapped after its registration, and unmapped later: the peer gets an error,
 * and no program dies. */
static void pages_come_and_go(void **state)
{
	uint8_t *map = map_pages(3);
	struct ibv_mr *mr;
	struct pair p;

	pair_open(&p, &(struct options){0});
	assert_int_equal(munmap(map, 3 * page), 0);
	mr = ibv_reg_mr(p.b.pd, map, 3 * page, ODP_ACCESS);
	assert_non_null(mr);
	assert_ptr_equal(mmap(map, 3 * page, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
			 map);
	memset(p.a.buf, 0x3c, 2 * page);
	assert_int_equal(access_remote(&p, IBV_WR_RDMA_WRITE, (uintptr_t)map + 100, mr->rkey,
				       (uint32_t)(2 * page)),
			 IBV_WC_SUCCESS);
	assert_memory_equal(map + 100, p.a.buf, 2 * page);
	assert_int_equal(munmap(map + page, page), 0);
	assert_int_equal(
		access_remote(&p, IBV_WR_RDMA_READ, (uintptr_t)map, mr->rkey, (uint32_t)(3 * page)),
		IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	munmap(map, 3 * page);
	pair_close(&p);
}

static void read_only_pages_are_not_written(void **state)
{
	uint8_t *map = map_pages(1);
	struct ibv_mr *mr;
	struct pair p;

	pair_open(&p, &(struct options){0});
	mr = ibv_reg_mr(p.b.pd, map, page, ODP_ACCESS);
	assert_non_null(mr);
	assert_int_equal(mprotect(map, page, PROT_READ), 0);
	assert_int_equal(access_remote(&p, IBV_WR_RDMA_READ, (uintptr_t)map, mr->rkey, 64),
			 IBV_WC_SUCCESS);
	assert_int_equal(access_remote(&p, IBV_WR_RDMA_WRITE, (uintptr_t)map, mr->rkey, 64),
			 IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	munmap(map, page);
	pair_close(&p);
}

/* Tests a region of the whole address space: mapped memory works at both ends, and unmapped memory
 * causes an error. */
static void implicit_region(void **state)
{
	uint8_t *map = map_pages(1);
	struct ibv_mr *mine, *theirs;
	struct ibv_sge sge;
	struct ibv_send_wr wr = {.wr_id = 1, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND},
			   *bad;
	struct pair p;

	pair_open(&p, &(struct options){.sq_sig_all = true});
	assert_null(ibv_reg_mr(p.a.pd, NULL, SIZE_MAX, IBV_ACCESS_LOCAL_WRITE));
	assert_null(ibv_reg_mr(p.a.pd, NULL, SIZE_MAX, ODP_ACCESS | IBV_ACCESS_HUGETLB));
	assert_int_equal(errno, EINVAL);
	mine = ibv_reg_mr(p.a.pd, NULL, SIZE_MAX, ODP_ACCESS);
	theirs = ibv_reg_mr(p.b.pd, NULL, SIZE_MAX, ODP_ACCESS);
	assert_non_null(mine);
	assert_non_null(theirs);
	assert_null(theirs->addr);
	assert_int_equal(post_recv(&p.b, 9, 0, 64), 0);
	memcpy(map, "from anywhere", 14);
	sge = (struct ibv_sge){.addr = (uintptr_t)map, .length = 14, .lkey = mine->lkey};
	assert_int_equal(ibv_post_send(p.a.qp, &wr, &bad), 0);
	expect_wc(p.a.send_cq, 1, IBV_WC_SUCCESS);
	expect_wc(p.b.recv_cq, 9, IBV_WC_SUCCESS);
	assert_string_equal((char *)p.b.buf, "from anywhere");
	memcpy(p.a.buf, "to anywhere", 12);
	assert_int_equal(access_remote(&p, IBV_WR_RDMA_WRITE, (uintptr_t)map, theirs->rkey, 12),
			 IBV_WC_SUCCESS);
	assert_string_equal((char *)map, "to anywhere");
	assert_int_equal(munmap(map, page), 0);
	assert_int_equal(ibv_post_send(p.a.qp, &wr, &bad), 0);
	assert_int_equal(expect_wc(p.a.send_cq, 1, IBV_WC_LOC_PROT_ERR).vendor_err, 47);
	assert_int_equal(ibv_dereg_mr(mine), 0);
	assert_int_equal(ibv_dereg_mr(theirs), 0);
	pair_close(&p);
}

static bool is_resident(void *addr)
{
	unsigned char vec;

	assert_int_equal(mincore(addr, page, &vec), 0);
	return vec & 1;
}

static void advice(void **state)
{
	uint8_t *map = map_pages(4);
	struct ibv_mr *odp, *plain, *read_only;
	struct ibv_sge sge;
	struct ibv_pd *other;
	struct side s;

	side_open(&s, &(struct options){0});
	odp = ibv_reg_mr(s.pd, map, 4 * page, ODP_ACCESS);
	plain = ibv_reg_mr(s.pd, s.buf, page, IBV_ACCESS_LOCAL_WRITE);
	read_only = ibv_reg_mr(s.pd, map, 4 * page, IBV_ACCESS_ON_DEMAND);
	other = ibv_alloc_pd(s.ctx);
	assert_true(odp && plain && read_only && other);
	assert_false(is_resident(map + page));
	sge = (struct ibv_sge){(uintptr_t)map + page, (uint32_t)page, odp->lkey};
#define ADVISE(what, flags) ibv_advise_mr(s.pd, IBV_ADVISE_MR_ADVICE_PREFETCH##what, flags, &sge, 1)
	assert_int_equal(ADVISE(_NO_FAULT, 0), 0);
	assert_false(is_resident(map + page));
	assert_int_equal(ADVISE(_WRITE, IBV_ADVISE_MR_FLAG_FLUSH), 0);
	assert_true(is_resident(map + page));
	assert_false(is_resident(map + 2 * page));
	assert_int_equal(ADVISE(_WRITE, 2), EINVAL);
	assert_int_equal(ibv_advise_mr(s.pd, 77, 0, &sge, 1), EOPNOTSUPP);
	assert_int_equal(ibv_advise_mr(other, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1), EPERM);
	sge.lkey = read_only->lkey;
	assert_int_equal(ADVISE(, 0), 0);
	assert_int_equal(ADVISE(_WRITE, 0), EPERM);
	sge.lkey = plain->lkey;
	assert_int_equal(ADVISE(, 0), EINVAL);
	sge.lkey ^= 0x5500;
	assert_int_equal(ADVISE(, 0), ENOENT);
	sge = (struct ibv_sge){(uintptr_t)map + 4 * page - 1, 2, odp->lkey};
	assert_int_equal(ADVISE(, 0), EFAULT);
	assert_int_equal(munmap(map + 3 * page, page), 0);
	sge.length = 1;
	errno = 0;
	assert_int_equal(ADVISE(, 0), EFAULT);
	assert_int_equal(errno, EFAULT);
	assert_int_equal(ibv_dereg_mr(odp), 0);
	assert_int_equal(ibv_dereg_mr(plain), 0);
	assert_int_equal(ibv_dereg_mr(read_only), 0);
	assert_int_equal(ibv_dealloc_pd(other), 0);
	munmap(map, 3 * page);
	side_close(&s);
}

static void device_memory_is_bounded(void **state)
{
	struct ibv_alloc_dm_attr attr = {.length = 4096};
	struct ibv_device_attr_ex ex;
	struct ibv_dm *all, *dm;
	struct ibv_context *ctx = open_device();

	assert_int_equal(ibv_query_device_ex(ctx, NULL, &ex), 0);
	assert_true(ex.max_dm_size > 0);
	attr.comp_mask = 1;
	assert_null(ibv_alloc_dm(ctx, &attr));
	attr.comp_mask = 0;
	attr.length = 0;
	assert_null(ibv_alloc_dm(ctx, &attr));
	attr.length = ex.max_dm_size + 1;
	assert_null(ibv_alloc_dm(ctx, &attr));
	assert_int_equal(errno, ENOMEM);
	attr.length = SIZE_MAX;
	assert_null(ibv_alloc_dm(ctx, &attr));
	attr.length = ex.max_dm_size;
	all = ibv_alloc_dm(ctx, &attr);
	assert_non_null(all);
	attr.length = 4;
	assert_null(ibv_alloc_dm(ctx, &attr));
	assert_int_equal(ibv_free_dm(all), 0);
	dm = ibv_alloc_dm(ctx, &attr);
	assert_non_null(dm);
	assert_int_equal(ibv_free_dm(dm), 0);
	assert_int_equal(ibv_close_device(ctx), 0);
}

static void device_memory_carries_data(void **state)
{
	const unsigned access = ALL_ACCESS | IBV_ACCESS_ZERO_BASED;
	struct ibv_alloc_dm_attr attr = {.length = 8192, .log_align_req = 3};
	struct ibv_mr *mr;
	struct ibv_dm *dm;
	struct pair p;
	char text[16];

	pair_open(&p, &(struct options){0});
	dm = ibv_alloc_dm(p.b.ctx, &attr);
	assert_non_null(dm);
	assert_null(ibv_reg_dm_mr(p.b.pd, dm, 0, 8192, ALL_ACCESS));
	assert_null(ibv_reg_dm_mr(p.b.pd, dm, 4096, 4097, access));
	assert_null(ibv_reg_dm_mr(p.b.pd, dm, UINT64_MAX, 2, access));
	assert_null(ibv_reg_dm_mr(p.b.pd, dm, 0, 8, access | IBV_ACCESS_ON_DEMAND));
	assert_int_equal(errno, EINVAL);
	mr = ibv_reg_dm_mr(p.b.pd, dm, 8192, 0, access);
	assert_non_null(mr);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	mr = ibv_reg_dm_mr(p.b.pd, dm, 4096, 4096, access);
	assert_non_null(mr);
	assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0), -1);
	memcpy(p.a.buf, "into the device", 16);
	assert_int_equal(access_remote(&p, IBV_WR_RDMA_WRITE, 8, mr->rkey, 16), IBV_WC_SUCCESS);
	assert_int_equal(ibv_memcpy_from_dm(text, dm, 4096 + 8, 16), 0);
	assert_string_equal(text, "into the device");
	assert_int_equal(ibv_memcpy_to_dm(dm, 4096, "and out of it..", 16), 0);
	assert_int_equal(access_remote(&p, IBV_WR_RDMA_READ, 0, mr->rkey, 16), IBV_WC_SUCCESS);
	assert_string_equal((char *)p.a.buf, "and out of it..");
	assert_int_equal(ibv_memcpy_to_dm(dm, 8192 - 4, text, 8), EFAULT);
	assert_int_equal(ibv_memcpy_to_dm(dm, UINT64_MAX - 3, text, 8), EFAULT);
	assert_int_equal(ibv_memcpy_from_dm(text, dm, 2, 4), EFAULT);
	assert_int_equal(ibv_free_dm(dm), EBUSY);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_free_dm(dm), 0);
	pair_close(&p);
}

/* Posts ibv_wr_flush() of newer headers. Its member follows the members of older headers. */
static enum ibv_wc_status flush(struct side *s, uint64_t va, uint32_t rkey, uint8_t type,
				uint8_t level)
{
	typedef void wr_flush(struct ibv_qp_ex * qp, uint32_t rkey, uint64_t remote_addr,
			      size_t len, uint8_t type, uint8_t level);
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(s->qp);
	wr_flush *call = *(wr_flush **)(void *)((char *)ex + 352);
	struct ibv_wc wc;

	ibv_wr_start(ex);
	ex->wr_id = 3;
	ex->wr_flags = IBV_SEND_SIGNALED;
	call(ex, rkey, va, 64, type, level);
	assert_int_equal(ibv_wr_complete(ex), 0);
	assert_true(wait_wc(s->send_cq, &wc, PATIENCE));
	if (wc.status == IBV_WC_SUCCESS)
		assert_int_equal(wc.opcode, WC_FLUSH);
	return wc.status;
}

static void flush_needs_its_access(void **state)
{
	static const struct {
		int access;
		uint8_t type, level;
		enum ibv_wc_status status;
	} cases[] = {
		{FLUSH_GLOBAL_ACCESS, 1, FLUSH_RANGE, IBV_WC_SUCCESS},
		{FLUSH_GLOBAL_ACCESS, 1, FLUSH_MR, IBV_WC_SUCCESS},
		{FLUSH_PERSISTENT_ACCESS, 2, FLUSH_RANGE, IBV_WC_SUCCESS},
		{FLUSH_GLOBAL_ACCESS | FLUSH_PERSISTENT_ACCESS, 3, FLUSH_RANGE, IBV_WC_SUCCESS},
		{FLUSH_GLOBAL_ACCESS | IBV_ACCESS_ON_DEMAND, 1, FLUSH_RANGE, IBV_WC_SUCCESS},
		{FLUSH_GLOBAL_ACCESS, 2, FLUSH_RANGE, IBV_WC_REM_ACCESS_ERR},
		{FLUSH_PERSISTENT_ACCESS, 1, FLUSH_MR, IBV_WC_REM_ACCESS_ERR},
		{0, 1, FLUSH_RANGE, IBV_WC_REM_ACCESS_ERR},
		{FLUSH_GLOBAL_ACCESS, 0, FLUSH_RANGE, IBV_WC_REM_INV_REQ_ERR},
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ibv_mr *mr;
		struct pair p;

		pair_open(&p, &(struct options){.send_ops = WITH_FLUSH | IBV_QP_EX_WITH_SEND});
		mr = ibv_reg_mr(p.b.pd, p.b.buf, 4096, ALL_ACCESS | cases[i].access);
		assert_non_null(mr);
		assert_int_equal(flush(&p.a, (uintptr_t)p.b.buf + 64, mr->rkey, cases[i].type,
				       cases[i].level),
				 cases[i].status);
		assert_int_equal(ibv_dereg_mr(mr), 0);
		pair_close(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_come_and_go),
		cmocka_unit_test(read_only_pages_are_not_written),
		cmocka_unit_test(implicit_region),
		cmocka_unit_test(advice),
		cmocka_unit_test(device_memory_is_bounded),
		cmocka_unit_test(device_memory_carries_data),
		cmocka_unit_test(flush_needs_its_access),
	};

	page = (size_t)sysconf(_SC_PAGESIZE);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
