/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the device shows and refuses as an iWARP adapter (ADVERB_TRANSPORT=iwarp). */
#include <string.h>

#include "harness.h"

static void device_and_port(void **state)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx;
	struct ibv_device_attr_ex attr;
	struct ibv_port_attr port;
	union ibv_gid gid[2];

	assert_int_equal(list[0]->node_type, IBV_NODE_RNIC);
	assert_int_equal(list[0]->transport_type, IBV_TRANSPORT_IWARP);
	ctx = ibv_open_device(list[0]);
	assert_non_null(ctx);
	ibv_free_device_list(list);
	assert_int_equal(ibv_query_device_ex(ctx, NULL, &attr), 0);
	assert_int_equal(attr.orig_attr.atomic_cap, IBV_ATOMIC_NONE);
	assert_int_equal(attr.orig_attr.max_ah, 0);
	assert_int_equal(attr.orig_attr.max_mcast_grp, 0);
	assert_int_equal(attr.odp_caps.general_caps, 0);
	assert_int_equal(
		attr.orig_attr.device_cap_flags & (IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_XRC), 0);
	assert_true(attr.orig_attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B);
	assert_true(attr.orig_attr.max_srq > 0);
	assert_true(attr.orig_attr.max_qp_rd_atom > 0);
	assert_int_equal(ibv_query_port(ctx, 1, &port), 0);
	assert_int_equal(port.gid_tbl_len, 1);
	assert_int_equal(port.port_cap_flags, IBV_PORT_CM_SUP);
	assert_int_equal(port.state, IBV_PORT_ACTIVE);
	assert_int_equal(ibv_query_gid(ctx, 1, 0, &gid[0]), 0);
	memset(&gid[1], 0, sizeof(gid[1]));
	assert_memory_equal(gid[0].raw + 6, gid[1].raw + 6, 10); /* only the MAC address */
	assert_int_equal(ibv_query_gid(ctx, 1, 1, &gid[1]), -1);
	assert_int_equal(ibv_close_device(ctx), 0);
}

static struct ibv_qp *create(struct ibv_pd *pd, struct ibv_cq *cq, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.qp_type = type,
		.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1}};

	return ibv_create_qp(pd, &init);
}

static void refuses_types(void **state)
{
	static const enum ibv_qp_type none[] = {IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_RAW_PACKET};
	struct ibv_context *ctx = open_device();
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_cq *cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	struct ibv_xrcd_init_attr xrcd = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = -1};
	struct ibv_srq_init_attr srq_init = {.attr = {.max_wr = 1, .max_sge = 1}};
	struct ibv_srq *srq = ibv_create_srq(pd, &srq_init);
	uint32_t srq_number;
	struct ibv_ah_attr ah = {.is_global = 1, .port_num = 1};
	struct ibv_qp *qp;
	union ibv_gid group = {.raw = {0xff, 0x12}};

	for (unsigned i = 0; i < sizeof(none) / sizeof(*none); i++) {
		errno = 0;
		assert_null(create(pd, cq, none[i]));
		assert_int_equal(errno, EOPNOTSUPP);
	}
	errno = 0;
	assert_null(ibv_create_ah(pd, &ah));
	assert_int_equal(errno, EOPNOTSUPP);
	errno = 0;
	assert_null(ibv_open_xrcd(ctx, &xrcd));
	assert_int_equal(errno, EOPNOTSUPP);
	errno = 0;
	assert_int_equal(ibv_get_srq_num(srq, &srq_number), EOPNOTSUPP);
	assert_int_equal(errno, EOPNOTSUPP);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	qp = create(pd, cq, IBV_QPT_RC);
	assert_non_null(qp);
	assert_int_not_equal(ibv_attach_mcast(qp, &group, 0), 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	assert_int_equal(ibv_close_device(ctx), 0);
}

/* RESET, INIT, RTR, RTS without the attributes of RoCE. */
static void bring_to_rts(struct ibv_qp *qp)
{
	for (int next = IBV_QPS_INIT; next <= IBV_QPS_RTS; next++) {
		struct ibv_qp_attr a = {.qp_state = next};

		assert_int_equal(ibv_modify_qp(qp, &a, IBV_QP_STATE), 0);
	}
}

static void refuses_requests(void **state)
{
	static const enum ibv_wr_opcode none[] = {IBV_WR_ATOMIC_FETCH_AND_ADD,
						  IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_SEND_WITH_IMM,
						  IBV_WR_RDMA_WRITE_WITH_IMM};
	struct ibv_context *ctx = open_device();
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_cq *cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	struct ibv_qp *qp = create(pd, cq, IBV_QPT_RC);
	struct ibv_qp_attr sqd = {.qp_state = IBV_QPS_SQD};
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND}, *bad;
	struct ibv_wc wc;

	bring_to_rts(qp);
	for (unsigned i = 0; i < sizeof(none) / sizeof(*none); i++) {
		wr.opcode = none[i];
		assert_int_equal(ibv_post_send(qp, &wr, &bad), EINVAL);
		assert_ptr_equal(bad, &wr);
	}
	assert_int_equal(ibv_modify_qp(qp, &sqd, IBV_QP_STATE), EINVAL);
	/* Without a connection a request waits, and ERR flushes it. */
	wr.opcode = IBV_WR_SEND;
	assert_int_equal(ibv_post_send(qp, &wr, &bad), 0);
	assert_int_equal(ibv_poll_cq(cq, 1, &wc), 0);
	sqd.qp_state = IBV_QPS_ERR;
	assert_int_equal(ibv_modify_qp(qp, &sqd, IBV_QP_STATE), 0);
	assert_int_equal(ibv_poll_cq(cq, 1, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	assert_int_equal(ibv_close_device(ctx), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(device_and_port),
		cmocka_unit_test(refuses_types),
		cmocka_unit_test(refuses_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
