/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tests the calls of the nodes IBVERBS_1.15 to 1.18, which it finds by dlvsym() with the versions
 * that programs of a newer rdma-core use. Also tests thread domains and parent domains.
 */
#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness.h"

/* Structures of newer headers, which may not be installed. */
struct dmah_attr {
	uint32_t comp_mask;
	uint32_t cpu_id;
	uint8_t ph;
	uint8_t tph_mem_type;
};

struct mr_attr {
	size_t length;
	int access;
	uint64_t comp_mask;
	uint64_t iova;
	void *addr;
	int fd;
	uint64_t fd_offset;
	void *dmah;
	void *buf;
};

enum { MR_IOVA = 1, MR_ADDR = 2, MR_FD = 4, MR_FD_OFFSET = 8, MR_DMAH = 16, MR_BUF = 32 };

static struct {
	void *(*alloc_dmah)(struct ibv_context *context, struct dmah_attr *attr);
	int (*dealloc_dmah)(void *dmah);
	struct ibv_mr *(*reg_mr_ex)(struct ibv_pd *pd, struct mr_attr *attr);
	int (*dm_export_dmabuf_fd)(struct ibv_dm *dm);
	int (*query_port_speed)(struct ibv_context *context, uint32_t port_num, uint64_t *speed);
	void *(*alloc_buf)(struct ibv_pd *pd, size_t size, void **buf);
	void (*free_buf)(void *buf);
	struct ibv_mr *(*reg_buf_mr)(struct ibv_pd *pd, void *buf, void *addr, size_t length,
				     int access);
	int (*export_buf_dmabuf_fd)(void *buf);
	void *(*create_comp_cntr)(struct ibv_context *context, void *attr);
	int (*query_comp_cntr_caps)(struct ibv_context *context, void *caps, size_t size);
	int (*destroy_comp_cntr)(void *counter);
	int (*inc_comp_cntr)(void *counter, uint64_t amount);
	int (*inc_err_comp_cntr)(void *counter, uint64_t amount);
	int (*qp_attach_comp_cntr)(struct ibv_qp *qp, void *counter, void *attr);
	int (*read_comp_cntr)(void *counter, uint64_t *value);
	int (*read_err_comp_cntr)(void *counter, uint64_t *value);
	int (*set_comp_cntr)(void *counter, uint64_t value);
	int (*set_err_comp_cntr)(void *counter, uint64_t value);
} call;

static const struct {
	const char *name, *node;
	void *where;
} symbols[] = {
	{"ibv_alloc_dmah", "IBVERBS_1.15", &call.alloc_dmah},
	{"ibv_dealloc_dmah", "IBVERBS_1.15", &call.dealloc_dmah},
	{"ibv_reg_mr_ex", "IBVERBS_1.15", &call.reg_mr_ex},
	{"ibv_dm_export_dmabuf_fd", "IBVERBS_1.16", &call.dm_export_dmabuf_fd},
	{"ibv_query_port_speed", "IBVERBS_1.16", &call.query_port_speed},
	{"ibv_alloc_buf", "IBVERBS_1.17", &call.alloc_buf},
	{"ibv_free_buf", "IBVERBS_1.17", &call.free_buf},
	{"ibv_reg_buf_mr", "IBVERBS_1.17", &call.reg_buf_mr},
	{"ibv_export_buf_dmabuf_fd", "IBVERBS_1.18", &call.export_buf_dmabuf_fd},
	{"ibv_create_comp_cntr", "IBVERBS_1.18", &call.create_comp_cntr},
	{"_ibv_query_comp_cntr_caps", "IBVERBS_1.18", &call.query_comp_cntr_caps},
	{"ibv_destroy_comp_cntr", "IBVERBS_1.18", &call.destroy_comp_cntr},
	{"ibv_inc_comp_cntr", "IBVERBS_1.18", &call.inc_comp_cntr},
	{"ibv_inc_err_comp_cntr", "IBVERBS_1.18", &call.inc_err_comp_cntr},
	{"ibv_qp_attach_comp_cntr", "IBVERBS_1.18", &call.qp_attach_comp_cntr},
	{"ibv_read_comp_cntr", "IBVERBS_1.18", &call.read_comp_cntr},
	{"ibv_read_err_comp_cntr", "IBVERBS_1.18", &call.read_err_comp_cntr},
	{"ibv_set_comp_cntr", "IBVERBS_1.18", &call.set_comp_cntr},
	{"ibv_set_err_comp_cntr", "IBVERBS_1.18", &call.set_err_comp_cntr},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Asserts the result and the errno of a failing call. */
#define FAILS(returned, error, what)                                                               \
	do {                                                                                       \
		errno = EXDEV;                                                                     \
		assert_true((what) == (returned));                                                 \
		assert_int_equal(errno, error);                                                    \
	} while (0)

static int setup(void **state)
{
	for (unsigned i = 0; i < COUNT(symbols); i++) {
		void *found = dlvsym(RTLD_DEFAULT, symbols[i].name, symbols[i].node);

		if (!found)
			fail_msg("%s@%s: the library has no such symbol", symbols[i].name,
				 symbols[i].node);
		*(void **)symbols[i].where = found;
	}
	return 0;
}

/* Tests that each call of these nodes is listed, as test_errno.c does for the earlier nodes. */
static void every_newer_call_is_listed(void **state)
{
	FILE *f = fopen(SYMBOLS, "r");
	char line[256], name[128];
	unsigned minor, found = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		unsigned i = 0;

		if (sscanf(line, "T %127[^@]@@IBVERBS_1.%u", name, &minor) != 2 || minor <= 14)
			continue;
		while (i < COUNT(symbols) && strcmp(symbols[i].name, name) != 0)
			i++;
		if (i == COUNT(symbols))
			fail_msg("%s is not in the list of this test", name);
		found++;
	}
	fclose(f);
	assert_int_equal(found, COUNT(symbols));
}

static void regions_by_attributes(void **state)
{
	struct mr_attr attr = {.length = 4096, .access = ALL_ACCESS, .comp_mask = MR_ADDR};
	struct ibv_sge sge;
	struct ibv_mr *mr;
	struct pair p;

	pair_open(&p, &(struct options){0});
	attr.addr = p.b.buf;
	mr = call.reg_mr_ex(p.b.pd, &attr);
	assert_non_null(mr);
	assert_ptr_equal(mr->addr, p.b.buf);
	assert_int_equal(mr->length, 4096);
	assert_ptr_equal(mr->pd, p.b.pd);
	memcpy(p.a.buf, "by attributes", 14);
	assert_int_equal(post_rdma(&p.a, &p.b, IBV_WR_RDMA_WRITE, 1, 0, 14, 8, mr->rkey), 0);
	expect_wc(p.a.send_cq, 1, IBV_WC_SUCCESS);
	assert_string_equal((char *)p.b.buf + 8, "by attributes");
	assert_int_equal(ibv_dereg_mr(mr), 0);
	attr.comp_mask = MR_ADDR | MR_IOVA;
	attr.iova = 0x77000;
	mr = call.reg_mr_ex(p.b.pd, &attr);
	assert_non_null(mr);
	sge = (struct ibv_sge){.addr = 0x77000 + 100, .length = 8, .lkey = mr->lkey};
	assert_int_equal(
		ibv_post_recv(p.b.qp,
			      &(struct ibv_recv_wr){.wr_id = 2, .sg_list = &sge, .num_sge = 1},
			      &(struct ibv_recv_wr *){NULL}),
		0);
	assert_int_equal(post_send(&p.a, 3, 0, 8, IBV_SEND_SIGNALED), 0);
	expect_wc(p.b.recv_cq, 2, IBV_WC_SUCCESS);
	assert_memory_equal(p.b.buf + 100, "by attri", 8);
	expect_wc(p.a.send_cq, 3, IBV_WC_SUCCESS);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	pair_close(&p);
}

static void regions_that_cannot_be(void **state)
{
	static const struct {
		uint64_t mask;
		int access;
		int error;
	} cases[] = {
		{0, 0, EINVAL},
		{MR_ADDR | MR_FD, 0, EINVAL},
		{MR_FD | MR_FD_OFFSET, 0, EOPNOTSUPP},
		{MR_ADDR | 1ull << 40, 0, EOPNOTSUPP},
		{MR_ADDR, IBV_ACCESS_REMOTE_WRITE, EINVAL},
		{MR_ADDR, 1 << 15, EINVAL},
	};
	struct side s;

	side_open(&s, &(struct options){0});
	for (unsigned i = 0; i < COUNT(cases); i++) {
		struct mr_attr attr = {.length = 64,
				       .access = cases[i].access,
				       .comp_mask = cases[i].mask,
				       .addr = s.buf};

		FAILS(NULL, cases[i].error, call.reg_mr_ex(s.pd, &attr));
	}
	side_close(&s);
}

static void dma_handles(void **state)
{
	struct mr_attr region = {.length = 64, .comp_mask = MR_ADDR | MR_DMAH};
	struct dmah_attr attr = {0};
	struct ibv_mr *mr;
	struct side s;
	void *dmah;

	side_open(&s, &(struct options){0});
	attr = (struct dmah_attr){.comp_mask = 2, .ph = 4};
	FAILS(NULL, EINVAL, call.alloc_dmah(s.ctx, &attr));
	attr = (struct dmah_attr){.comp_mask = 4, .tph_mem_type = 2};
	FAILS(NULL, EINVAL, call.alloc_dmah(s.ctx, &attr));
	attr = (struct dmah_attr){.comp_mask = 1, .cpu_id = UINT32_MAX};
	FAILS(NULL, EINVAL, call.alloc_dmah(s.ctx, &attr));
	attr = (struct dmah_attr){.comp_mask = 1, .cpu_id = CPU_SETSIZE - 1};
	FAILS(NULL, EPERM, call.alloc_dmah(s.ctx, &attr));
	attr = (struct dmah_attr){.comp_mask = 8};
	FAILS(NULL, EOPNOTSUPP, call.alloc_dmah(s.ctx, &attr));
	attr = (struct dmah_attr){
		.comp_mask = 7, .cpu_id = (uint32_t)sched_getcpu(), .ph = 3, .tph_mem_type = 1};
	dmah = call.alloc_dmah(s.ctx, &attr);
	assert_non_null(dmah);
	assert_ptr_equal(*(struct ibv_context **)dmah, s.ctx);
	region.addr = s.buf;
	region.dmah = dmah;
	region.access = IBV_ACCESS_ON_DEMAND;
	FAILS(NULL, EINVAL, call.reg_mr_ex(s.pd, &region));
	region.access = 0;
	mr = call.reg_mr_ex(s.pd, &region);
	assert_non_null(mr);
	FAILS(EBUSY, EBUSY, call.dealloc_dmah(dmah));
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(call.dealloc_dmah(dmah), 0);
	side_close(&s);
}

static void buffers(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct mr_attr attr = {.length = page, .access = ALL_ACCESS};
	struct ibv_pd *other;
	struct ibv_mr *mr;
	struct side s;
	uint8_t *at;
	void *buf;

	side_open(&s, &(struct options){0});
	other = ibv_alloc_pd(s.ctx);
	FAILS(NULL, EINVAL, call.alloc_buf(other, 0, &buf));
	FAILS(NULL, ENOMEM, call.alloc_buf(other, SIZE_MAX / 2, &buf));
	at = call.alloc_buf(other, 2 * page, &buf);
	assert_non_null(at);
	assert_int_equal((uintptr_t)at % page, 0);
	at[2 * page - 1] = 1;
	FAILS(EBUSY, EBUSY, ibv_dealloc_pd(other));
	FAILS(-1, ENODATA, call.export_buf_dmabuf_fd(buf));
	FAILS(NULL, EINVAL, call.reg_buf_mr(s.pd, buf, at, page, 0));
	FAILS(NULL, EINVAL, call.reg_buf_mr(other, buf, at + page, page + 1, 0));
	FAILS(NULL, EINVAL, call.reg_buf_mr(other, buf, at - 1, 1, 0));
	FAILS(NULL, EINVAL, call.reg_buf_mr(other, buf, at, SIZE_MAX, 0));
	mr = call.reg_buf_mr(other, buf, at + page, page, ALL_ACCESS);
	assert_non_null(mr);
	assert_ptr_equal(mr->addr, at + page);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	attr.buf = buf;
	attr.addr = at;
	attr.comp_mask = MR_BUF;
	FAILS(NULL, EINVAL, call.reg_mr_ex(other, &attr));
	attr.comp_mask = MR_BUF | MR_ADDR;
	mr = call.reg_mr_ex(other, &attr);
	assert_non_null(mr);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	call.free_buf(buf);
	assert_int_equal(ibv_dealloc_pd(other), 0);
	side_close(&s);
}

static void port_speed(void **state)
{
	struct ibv_context *ctx = open_device();
	uint64_t speed = 0;

	assert_int_equal(call.query_port_speed(ctx, 1, &speed), 0);
	assert_true(speed >= 10);
	FAILS(EINVAL, EINVAL, call.query_port_speed(ctx, 2, &speed));
	assert_int_equal(ibv_close_device(ctx), 0);
}

/* Tests that unsupported calls fail. */
static void not_supported(void **state)
{
	struct ibv_context *ctx = open_device();
	uint64_t room[4] = {0};

	FAILS(-1, EOPNOTSUPP, call.dm_export_dmabuf_fd(NULL));
	FAILS(NULL, EOPNOTSUPP, call.create_comp_cntr(ctx, room));
	FAILS(EOPNOTSUPP, EOPNOTSUPP, call.query_comp_cntr_caps(ctx, room, sizeof(room)));
	FAILS(EOPNOTSUPP, EOPNOTSUPP, call.destroy_comp_cntr(NULL));
	FAILS(EOPNOTSUPP, EOPNOTSUPP, call.inc_comp_cntr(NULL, 1));
	FAILS(EOPNOTSUPP, EOPNOTSUPP, call.inc_err_comp_cntr(NULL, 1));
	FAILS(EOPNOTSUPP, EOPNOTSUPP, call.qp_attach_comp_cntr(NULL, NULL, room));
	FAILS(EOPNOTSUPP, EOPNOTSUPP, call.read_comp_cntr(NULL, room));
	FAILS(EOPNOTSUPP, EOPNOTSUPP, call.read_err_comp_cntr(NULL, room));
	FAILS(EOPNOTSUPP, EOPNOTSUPP, call.set_comp_cntr(NULL, 1));
	FAILS(EOPNOTSUPP, EOPNOTSUPP, call.set_err_comp_cntr(NULL, 1));
	assert_int_equal(ibv_close_device(ctx), 0);
}

/* ---- domains ---- */

static void *no_alloc(struct ibv_pd *pd, void *context, size_t size, size_t alignment,
		      uint64_t type)
{
	return NULL;
}

static void domains_that_cannot_be(void **state)
{
	struct ibv_parent_domain_init_attr attr = {0};
	struct ibv_td_init_attr td = {.comp_mask = 1};
	struct side s;

	side_open(&s, &(struct options){0});
	FAILS(NULL, EOPNOTSUPP, ibv_alloc_td(s.ctx, &td));
	FAILS(NULL, EINVAL, ibv_alloc_parent_domain(s.ctx, &attr));
	attr.pd = s.pd;
	attr.comp_mask = 1u << 31;
	FAILS(NULL, EOPNOTSUPP, ibv_alloc_parent_domain(s.ctx, &attr));
	attr.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS;
	attr.alloc = no_alloc;
	FAILS(NULL, EINVAL, ibv_alloc_parent_domain(s.ctx, &attr));
	side_close(&s);
}

/* Tests that objects of a parent domain and of its protection domain can be combined, and that they
 * keep both domains alive. */
static void parent_domain(void **state)
{
	struct ibv_parent_domain_init_attr attr = {0};
	struct ibv_cq_init_attr_ex cq_attr = {.cqe = 4, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD};
	struct ibv_td_init_attr td_attr = {0};
	struct ibv_pd *parent, *plain;
	struct ibv_cq_ex *cq;
	struct ibv_mr *mr;
	struct ibv_td *td;
	struct pair p;

	pair_open(&p, &(struct options){0});
	plain = p.b.pd;
	td = ibv_alloc_td(p.b.ctx, &td_attr);
	assert_non_null(td);
	attr.pd = plain;
	attr.td = td;
	parent = ibv_alloc_parent_domain(p.b.ctx, &attr);
	assert_non_null(parent);
	FAILS(EBUSY, EBUSY, ibv_dealloc_td(td));
	mr = ibv_reg_mr(parent, p.b.buf, 4096, ALL_ACCESS);
	assert_non_null(mr);
	assert_ptr_equal(mr->pd, parent);
	FAILS(EBUSY, EBUSY, ibv_dealloc_pd(parent));
	memcpy(p.a.buf, "one domain", 11);
	assert_int_equal(post_rdma(&p.a, &p.b, IBV_WR_RDMA_WRITE, 1, 0, 11, 0, mr->rkey), 0);
	expect_wc(p.a.send_cq, 1, IBV_WC_SUCCESS);
	assert_string_equal((char *)p.b.buf, "one domain");
	/* Moves the region back to the plain domain, which it keeps alive from then on. */
	assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, plain, NULL, 0, 0), 0);
	cq_attr.parent_domain = plain;
	FAILS(NULL, EINVAL, ibv_create_cq_ex(p.b.ctx, &cq_attr));
	cq_attr.parent_domain = parent;
	cq = ibv_create_cq_ex(p.b.ctx, &cq_attr);
	assert_non_null(cq);
	FAILS(EBUSY, EBUSY, ibv_dealloc_pd(parent));
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	assert_int_equal(ibv_dealloc_pd(parent), 0);
	assert_int_equal(ibv_dealloc_td(td), 0);
	FAILS(EBUSY, EBUSY, ibv_dealloc_pd(plain));
	assert_int_equal(ibv_dereg_mr(mr), 0);
	pair_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_newer_call_is_listed),
		cmocka_unit_test(regions_by_attributes),
		cmocka_unit_test(regions_that_cannot_be),
		cmocka_unit_test(dma_handles),
		cmocka_unit_test(buffers),
		cmocka_unit_test(port_speed),
		cmocka_unit_test(not_supported),
		cmocka_unit_test(domains_that_cannot_be),
		cmocka_unit_test(parent_domain),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
